"""The constants that go to the database beside a statement, each under a number: $1 is the first.

So no text of a question or of a policy is part of the SQL, and nothing in it can be taken for SQL.
"""

from discreet.errors import QueryRefused
from discreet.model.expression import Parameter

MOST_PARAMETERS = 65_535
"""PostgreSQL counts them in 16 bits. A question has room for fewer texts, and a list is one parameter."""


class Parameters:
    """Those of one question, in the order of their first use; each once, however often it is used."""

    def __init__(self) -> None:
        self._numbers: dict[Parameter, int] = {}

    def number(self, value: Parameter) -> int:
        found = self._numbers.setdefault(value, len(self._numbers) + 1)
        if found > MOST_PARAMETERS:
            raise QueryRefused(
                f"The question has more than {MOST_PARAMETERS:,} texts and dates.",
                remedy="Ask with fewer; a list after IN counts once.",
            )
        return found

    @property
    def values(self) -> tuple[Parameter, ...]:
        return tuple(self._numbers)
