"""What every database must do for the curator."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from numpy.typing import NDArray

from discreet.engines.base.execution import Watch
from discreet.model.deadline import Deadline
from discreet.model.expression import Parameter
from discreet.model.policy import ValueType
from discreet.model.secret import Secret

ResultColumns: TypeAlias = dict[str, NDArray[Any]]
"""Exact results by column, all of one length.

Integers are int64, or Python ints in an object array if their SQL type is wider; text is str in an object
array; dates are datetime64[D], timestamps datetime64[us]. A column in which NULL occurs is a masked array.
"""


class Engine(Protocol):
    """A locked database over the sources of one policy. It can be shared by threads."""

    @property
    def dialect(self) -> str: ...

    @property
    def time_limit(self) -> float:
        """How many seconds a question may take. A statement without a deadline has them for itself."""
        ...

    @property
    def relations(self) -> Mapping[str, str]:
        """What stands after FROM for each table of the policy, in this database's SQL."""
        ...

    def schema(self, table: str) -> dict[str, ValueType]:
        """The columns that can be used, as the table's relation delivers them."""
        ...

    def unsupported(self, table: str) -> tuple[str, ...]:
        """Columns of the source that are left out, as their type is not supported."""
        ...

    def names(self, table: str) -> frozenset[str]:
        """All names of the source. Two sources that share a name hold the same people.

        Names as earlier versions wrote them begin with `source_names.FORMERLY`.
        """
        ...

    def stamps(self) -> tuple[str, ...]:
        """A digest of names and times of the files; then as earlier versions made it. New files have another.

        None without files.
        """
        ...

    def prepare(self, sql: str, *, parameters: Sequence[Parameter] = ()) -> None:
        """Make sure that the database accepts the statement. No row is read; QueryRefused if it does not.

        `parameters` are what $1, $2, … in it stand for: none unless the dialect binds them.
        """
        ...

    def run(
        self,
        sql: str,
        watch: Watch | None = None,
        *,
        parameters: Sequence[Parameter] = (),
        deadline: Deadline | None = None,
    ) -> Secret[ResultColumns]:
        """Read the data, until the deadline. Any failure is an EngineFailed without details of it."""
        ...

    def run_each(
        self,
        sqls: Sequence[str],
        watch: Watch | None = None,
        *,
        parameters: Sequence[Parameter] = (),
        deadline: Deadline | None = None,
    ) -> list[Secret[ResultColumns]]:
        """Several statements, on the data of one moment; at once where the database can.

        They have the same parameters, and one deadline.
        """
        ...

    def close(self) -> None: ...
