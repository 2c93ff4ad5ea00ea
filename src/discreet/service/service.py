"""A service: some datasets, and the people who may ask about them."""

from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

from discreet.curator.ledgers import place_of
from discreet.curator.open_policy import open_curator
from discreet.errors import InvalidInput, NotThere
from discreet.policy.reader import read_policy
from discreet.postgres.address import is_postgres
from discreet.service.accounts import Accounts
from discreet.service.approvals import Approvals
from discreet.service.history import History
from discreet.service.served_dataset import ServedDataset
from discreet.service.sign_in_states import SignInStates
from discreet.service.storage.database import ServiceDatabase, open_database
from discreet.service.storage.event_log import Action, EventLog
from discreet.service.user_account import UserAccount

THE_SERVICE = "the service"
"""Who did it, in the log, if no person did."""
USUAL_ANSWER_TIMES = (1.0, 4.0, 15.0, 60.0, 240.0)
"""When answers leave, if the policy does not say it."""


class CuratorService:
    """Opened once for a process. All methods may be called by several threads."""

    def __init__(self, database: ServiceDatabase) -> None:
        self._database = database
        self.accounts = Accounts(database)
        self.approvals = Approvals(database)
        self.history = History(database)
        self.log = EventLog(database)
        self.sign_ins = SignInStates(database)
        self.datasets: dict[str, ServedDataset] = {}

    def dataset(self, name: str, account: UserAccount) -> ServedDataset:
        """A dataset that this account may use; those of others do not exist for it."""
        account.check_dataset(name)
        if name not in self.datasets:
            raise NotThere(
                f"There is no dataset “{name}” for this account.",
                remedy=f"It may use: {', '.join(self.visible(account)) or 'none'}.",
            )
        return self.datasets[name]

    def visible(self, account: UserAccount) -> list[str]:
        return [name for name in self.datasets if name in account.datasets]

    def erase_older_than(self, days: int) -> int:
        """Erase what old events, questions and requests say: they may hold personal data.

        That they happened, when and by whom stays, and so do answers.
        """
        before = (datetime.now(UTC) - timedelta(days=days)).isoformat()
        with self._database.transaction() as changes:
            for table in ("questions", "approvals"):
                changes.change(
                    f"UPDATE {table} SET question = '(erased)' WHERE asked < :before",  # noqa: S608
                    before=before,
                )
            changes.change("UPDATE approvals SET purpose = '(erased)' WHERE asked < :before", before=before)
        return self.log.erase_before(datetime.fromisoformat(before))

    def note(self, action: Action) -> None:
        """Record that the service started, or stopped."""
        self.log.record(action, who=THE_SERVICE, details={"datasets": list(self.datasets)})

    def check_ledgers(self) -> None:
        """LedgerClosed if the ledger of a dataset cannot be read."""
        for dataset in self.datasets.values():
            dataset.check_ledger()

    def close(self) -> None:
        for dataset in self.datasets.values():
            dataset.close()
        self._database.close()


def place_of_service(policy: Path) -> str:
    """Beside the ledger: clinic.toml has clinic.service, and a ledger in PostgreSQL a schema beside it."""
    declared = read_policy(policy).ledger
    if declared is not None and is_postgres(declared):
        return declared
    return str(Path(place_of(policy, declared).location).with_suffix(".service"))


def open_people(policy: Path) -> CuratorService:
    """Accounts, approvals and the log of a service. Its data is not opened."""
    return CuratorService(open_database(place_of_service(policy)))


def open_service(
    policies: Sequence[Path], *, answer_times: Sequence[float] | None = None, announce: bool = True
) -> CuratorService:
    """All datasets, and the people of the first policy's service.

    The log says that it started, unless this is one of several processes of it.
    """
    if not policies:
        raise InvalidInput("A service needs a policy.", remedy="Give --policy FILE.")
    service = open_people(policies[0])
    with ExitStack() as opened:
        opened.callback(service.close)
        for policy in policies:
            curator = open_curator(
                policy, analyst=THE_SERVICE, answer_times=answer_times or USUAL_ANSWER_TIMES
            )
            dataset = ServedDataset(
                curator, service.accounts, service.approvals, service.history, service.log
            )
            if dataset.name in service.datasets:
                dataset.close()
                raise InvalidInput(
                    f"Two policies are called “{dataset.name}”.",
                    remedy="Give each dataset a name of its own.",
                )
            service.datasets[dataset.name] = dataset
            if announce:
                dataset.note_policy()
        if announce:
            service.note(Action.STARTED)
        opened.pop_all()
    return service
