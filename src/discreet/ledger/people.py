"""The people of each account: those behind its sources, which are known by digests.

An account remembers everyone that it ever paid for, even if a table was taken out of its policy since. The
same people never have a second account.
"""

from collections.abc import Iterable, Iterator

from discreet.ledger.database import Transaction

MOST_IN_ONE_ENTRY = 1000
_MOST_IN_ONE_STATEMENT = 500


class PeopleTable:
    """The table of people, inside one transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def of(self, dataset: str) -> frozenset[str]:
        rows = self._transaction.rows("SELECT person FROM people WHERE dataset = :dataset", dataset=dataset)
        return frozenset(str(row["person"]) for row in rows)

    def dataset_with(self, people: Iterable[str]) -> str | None:
        """A dataset that has an account for one of these."""
        for some, places in _in_pages(people):
            found = self._transaction.rows(
                f"SELECT dataset FROM people WHERE person IN ({', '.join(places)}) ORDER BY dataset LIMIT 1",  # noqa: S608
                **some,
            )
            if found:
                return str(found[0]["dataset"])
        return None

    def add(self, people: Iterable[str], dataset: str) -> None:
        for some, places in _in_pages(people):
            rows = ", ".join(f"({place}, :dataset)" for place in places)
            self._transaction.change(f"INSERT INTO people VALUES {rows}", dataset=dataset, **some)  # noqa: S608

    def all(self) -> dict[str, str]:
        """The dataset of each."""
        rows = self._transaction.rows("SELECT person, dataset FROM people")
        return {str(row["person"]): str(row["dataset"]) for row in rows}


def pages(people: Iterable[str], most: int) -> Iterator[list[str]]:
    """All of them in order, at most so many at once."""
    ordered = sorted(people)
    yield from (ordered[start : start + most] for start in range(0, len(ordered), most))


def _in_pages(people: Iterable[str]) -> Iterator[tuple[dict[str, str], list[str]]]:
    """Values by name, and the places for them in a statement."""
    for page in pages(people, _MOST_IN_ONE_STATEMENT):
        values = {f"p{number}": person for number, person in enumerate(page)}
        yield values, [f":{name}" for name in values]
