"""How many rows of a public table share what it is joined on. Anybody may know: no charge is needed."""

from discreet.dialects import DIALECTS
from discreet.dialects.parameters import Parameters
from discreet.engines.base.engine import Engine
from discreet.model.expression import Expression, Parameter
from discreet.model.policy import PublicTable
from discreet.sql.relation import fan_out_sql


class FanOuts:
    """Counted when a question first joins a public table on something, and then known as long as it is open.

    A plan rests on the number, and a question that is asked again is known by its plan.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._dialect = DIALECTS[engine.dialect]
        self._known: dict[tuple[str, tuple[Parameter, ...]], int] = {}

    def of(self, table: PublicTable, shared: tuple[Expression, ...]) -> int:
        """The most rows that share one value of all these expressions."""
        parameters = Parameters()
        sql = fan_out_sql(shared, self._engine.relations[table.name], self._dialect.binding(parameters))
        key = (sql, parameters.values)
        if key not in self._known:  # not before it was read: a failure is not remembered
            rows = self._engine.run(sql, parameters=parameters.values).reveal()
            self._known[key] = int(rows["n"][0])
        return self._known[key]
