"""What an owner or an auditor may see and manage: what belongs to their own datasets, and nothing else."""

from collections.abc import Iterator, Sequence

from discreet.errors import InvalidInput, NotThere
from discreet.service.accounts import Accounts
from discreet.service.approvals import Approval
from discreet.service.service import CuratorService
from discreet.service.storage.event_log import LogEvent
from discreet.service.user_account import Project, Role, UserAccount


def check_datasets(owner: UserAccount, datasets: Sequence[str]) -> None:
    """An owner gives away access to their own datasets only."""
    owner.check_role(Role.OWNER)
    for name in datasets:
        owner.check_dataset(name)


def managed_accounts(accounts: Accounts, owner: UserAccount) -> list[UserAccount]:
    """The accounts that have no dataset but the owner's."""
    owner.check_role(Role.OWNER)
    return [each for each in accounts.all() if set(each.datasets) <= set(owner.datasets)]


def managed_account(accounts: Accounts, owner: UserAccount, name: str) -> UserAccount:
    """One of them; an account of others does not exist for this owner."""
    owner.check_role(Role.OWNER)
    found = accounts.find(name)
    if found is None or not set(found.datasets) <= set(owner.datasets):
        raise NotThere(f"There is no account “{name}” of yours.", remedy="See the list of accounts.")
    return found


def check_others(owner: UserAccount, name: str) -> None:
    """Owners do not lock themselves out."""
    if name == owner.name:
        raise InvalidInput("This is your own account.", remedy="Another owner can do this.")


def check_project(accounts: Accounts, owner: UserAccount, name: str) -> None:
    """NotThere if somebody is or was in a project whom the owner does not manage: it is not theirs alone."""
    owner.check_role(Role.OWNER)
    mine = {each.name for each in managed_accounts(accounts, owner)}
    if not mine.issuperset(accounts.members(name)):
        raise NotThere(
            f"There is no project “{name}” of yours alone.",
            remedy="Choose another name, or ask an owner of all datasets of its members.",
        )


def visible_projects(accounts: Accounts, account: UserAccount) -> dict[Project, list[str]]:
    """Who is in each project: those who share a dataset with this account. Not those of others alone."""
    account.check_role(Role.OWNER, Role.AUDITOR)
    seen = [each for each in accounts.all() if set(each.datasets) & set(account.datasets)]
    found = {}
    for project in accounts.projects():
        ever = accounts.members(project.name)
        now = [each.name for each in seen if each.project == project.name]
        if not ever or any(each.name in ever for each in seen):
            found[project] = now
    return found


def visible_approvals(service: CuratorService, account: UserAccount) -> list[Approval]:
    """Newest first: their own, and for an owner or auditor those of their datasets."""
    if account.role is Role.ANALYST:
        return service.approvals.all(account=account.name)
    return [each for each in service.approvals.all() if each.dataset in account.datasets]


def visible_events(service: CuratorService, account: UserAccount, *, after: int = 0) -> Iterator[LogEvent]:
    """Oldest first: their own, and for an owner or auditor those of their datasets.

    What concerns no dataset, such as accounts, is for those who have all datasets of the service.
    """
    if account.role is Role.ANALYST:
        return service.log.events(who=account.name, after=after)
    has_all = set(service.datasets) <= set(account.datasets)
    own = set(account.datasets) | ({""} if has_all else set())
    events = service.log.events(after=after)
    return (event for event in events if event.dataset in own or event.who == account.name)
