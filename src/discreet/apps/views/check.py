"""Checks a policy against its sources, and shows what can be asked. No row is read."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from fractions import Fraction
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as View

from discreet.answers.wording import number_text
from discreet.apps.views.escape import shown
from discreet.curator.charging import ChargedData
from discreet.curator.ledgers import LedgerPlace, open_ledger, place_of
from discreet.curator.profiles import Profiles
from discreet.engines.base.engine import Engine
from discreet.engines.open_engine import open_engine
from discreet.errors import DiscreetError
from discreet.model.declaration import complete_with_schema
from discreet.model.exact import short
from discreet.model.neighbours import Neighbours
from discreet.model.policy import Column, Dataset, PersonColumn, PrivateTable, Table, ValueType
from discreet.policy.reader import read_policy
from discreet.profile.findings import odd_values, people_found
from discreet.profile.limits import forecast
from discreet.profile.table_profile import TableProfile
from discreet.question.expressions.grouping import MOST_INTEGER_KEYS

_DELTA_TO_WARN_ABOVE = Fraction(1, 10**5)


def check_policy(path: Path) -> None:
    """Raises a PolicyError at the first mistake; else shows tables, columns and warnings."""
    policy = read_policy(path)
    engine = open_engine(policy.sources, path.parent)
    dataset = complete_with_schema(policy, {name: engine.schema(name) for name in policy.dataset.tables})
    left_out = {name: engine.unsupported(name) for name in dataset.tables}
    profiles = _profiles(place_of(path, policy.ledger), dataset, engine)
    engine.close()
    console = Console(highlight=False)
    _show_dataset(console, dataset)
    for table in dataset.tables.values():
        console.print(f"\n{_title(table)}")
        console.print(_view(table, private_keys=dataset.delta > 0))
        if left_out[table.name]:
            console.print(
                f"  Left out, as their types are of no use here: {shown(', '.join(left_out[table.name]))}"
            )
    for finding in _found(dataset, profiles or {}):
        console.print(shown(finding))
    for warning in (*warnings(dataset), *_unknown(dataset, profiles)):
        console.print(f"[yellow]![/] {shown(warning)}")
    console.print(f"[green]✓[/] {shown(path.name)} fits its sources. No row was read and nothing was spent.")


def _profiles(place: LedgerPlace, dataset: Dataset, engine: Engine) -> dict[str, TableProfile] | None:
    """What profiles found that were paid for; None if the ledger cannot be read, which is no mistake here."""
    try:
        with closing(open_ledger(place)) as ledger:
            data = ChargedData(dataset=dataset, engine=engine, ledger=ledger, analyst="")
            profiles = Profiles(data=data)
            if ledger.exists():
                profiles.load()
            return profiles.found
    except DiscreetError:
        return None


def _found(dataset: Dataset, profiles: Mapping[str, TableProfile]) -> Iterator[str]:
    """What the limits leave out, by the profiles."""
    for table in _with_limits(dataset):
        if table.name not in profiles:
            continue
        found = profiles[table.name]
        rows = forecast(found.rows, table.max_rows)
        yield (
            f"By its profile, “{table.name}” is about {number_text(*people_found(found))} people. About"
            f" {rows.share:.1%} of all rows are beyond max_rows = {table.max_rows:,}."
        )
        for name, bins in found.keys.items():
            share = forecast(bins, table.max_groups).share
            yield f"  Of people by {name}, about {share:.1%} are beyond max_groups = {table.max_groups:,}."
        for name, odd, share, reach in odd_values(found):
            yield f"  {share:.0%} ± {reach:.0%} of people have a {name} that is {odd}."


def _unknown(dataset: Dataset, profiles: Mapping[str, TableProfile] | None) -> Iterator[str]:
    if profiles is None:
        yield "The ledger cannot be read now, so that what profiles found is not shown."
        return
    for table in _with_limits(dataset):
        if table.name not in profiles:
            yield (
                f"There is no profile of “{table.name}”: nobody knows what max_rows = {table.max_rows:,} and"
                f" max_groups = {table.max_groups:,} leave out. To find out, for a small price: discreet"
                f" profile {table.name} --epsilon 0.1"
            )


def _with_limits(dataset: Dataset) -> list[PrivateTable]:
    """The tables of which limits may leave something out."""
    private = [table for table in dataset.tables.values() if isinstance(table, PrivateTable)]
    return [table for table in private if not (table.one_row_a_person or table.limits_are_facts)]


def warnings(dataset: Dataset) -> Iterator[str]:
    """What is allowed, but may not be intended."""
    if dataset.delta:
        rule = "δ must be far below one over the number of people, which only you know"
        weak = (
            " and above 1e-5 it is for small surveys at most" if dataset.delta > _DELTA_TO_WARN_ABOVE else ""
        )
        yield f"δ = {short(dataset.delta)}: {rule}{weak}."
    private = [table for table in dataset.tables.values() if isinstance(table, PrivateTable)]
    for table in private:
        missing = [column.name for column in table.columns.values() if _wants_bounds(table, column)]
        if missing:
            yield f"No bounds in “{table.name}”, so SUM and AVG will be refused: {', '.join(missing)}."
        yield from _low_limits(table)
        if table.unique:
            yield f"That no person has two rows in “{table.name}” is your word: privacy rests on it."
        if table.well_formed:
            yield f"That the file of “{table.name}” is well-formed is your word: privacy rests on it."
    sources = [table.source for table in private]
    for source in sorted({source for source in sources if sources.count(source) > 1}):
        yield f"The source “{source}” is given twice: a person's rows count in both tables."
    yield "The budget is this policy's alone. In another policy the same people have another: both add up."


def _low_limits(table: PrivateTable) -> Iterator[str]:
    """A limit of 1 is rarely meant where a person can have more: what it leaves out shows in no answer."""
    if table.one_row_a_person:
        return
    if table.max_rows == 1:
        yield (
            f"max_rows = 1 in “{table.name}”: all rows of a person together count as one. If many people have"
            " several, counts and sums are far too low. Declare more, or unique = true if none can have two."
        )
    elif table.max_groups == 1:
        yield (
            f"max_groups = 1 in “{table.name}”: a person in several groups counts less in each of them. If"
            " many are, people by group are far too few."
        )


def _wants_bounds(table: PrivateTable, column: Column) -> bool:
    return column.type.numeric and column.bounds is None and not _is_person(table, column)


def _is_person(table: Table, column: Column) -> bool:
    return isinstance(table, PrivateTable) and table.person == PersonColumn(name=column.name)


def _show_dataset(console: Console, dataset: Dataset) -> None:
    relation = (
        "one person more or less"
        if dataset.neighbours is Neighbours.ADD_REMOVE
        else "one person replaced by another"
    )
    console.print(
        f"[bold]{shown(dataset.name)}[/]: ε = {short(dataset.epsilon)}, δ = {short(dataset.delta)} for ever,"
    )
    console.print(f"  by {relation}; at most ε = {short(dataset.analyst_epsilon)} an analyst,", end=" ")
    console.print(f"ε = {short(dataset.question_epsilon)} a question.")


def _view(table: Table, *, private_keys: bool) -> View:
    view = View(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("column", "type", "declared", "can be asked"):
        view.add_column(heading, overflow="fold")
    for column in table.columns.values():
        view.add_row(
            shown(column.name),
            column.type.value,
            shown(_declared(column)),
            _asked(table, column, private_keys),
        )
    return view


def _title(table: Table) -> str:
    name = f"[bold]{shown(table.name)}[/] from {shown(table.source)}"
    if not isinstance(table, PrivateTable):
        return f"{name}: public"
    if not isinstance(table.person, PersonColumn):
        return f"{name}: every row is a person"
    rows = "one row each" if table.unique else f"max_rows {table.max_rows}, max_groups {table.max_groups}"
    through = table.through
    way = "" if through is None else f" of {shown(through.table)} with the same {shown(through.other)}"
    return f"{name}: a person is {shown(table.person.name)}{way}, {rows}"


def _declared(column: Column) -> str:
    parts = []
    if column.bounds is not None:
        parts.append(f"{short(column.bounds.low)} to {short(column.bounds.high)}")
    if column.days is not None:
        parts.append(f"{column.days.low} to {column.days.high}")
    if column.keys is not None:
        parts.append(f"{len(column.keys)} key{'s' * (len(column.keys) != 1)}")
    if column.unit is not None:
        parts.append(f"unit {short(column.unit)}")
    if column.format is not None:
        parts.append(column.format)
    if column.per_person:
        parts.append("one a person")
    if column.complete:
        parts.append("no gaps")
    return ", ".join(parts)


def _asked(table: Table, column: Column, private_keys: bool) -> str:
    if not isinstance(table, PrivateTable):
        return "join, filter, group"
    if _is_person(table, column):
        return "count people"
    asked = ["count", "filter"]
    if _has_public_keys(column):
        asked.append("group")
    elif column.days is not None:
        asked.append("group by day, month, year")
    elif private_keys and column.type is not ValueType.NUMBER:
        asked.append("group (private keys)")
    if column.bounds is not None:
        asked.append("sum, avg, quantiles")
    return ", ".join(asked)


def _has_public_keys(column: Column) -> bool:
    """Declared, yes or no, or whole numbers within bounds: as `question.grouping` takes them."""
    if column.keys is not None or column.type is ValueType.BOOLEAN:
        return True
    if column.days is not None and column.type is ValueType.DATE:
        return (column.days.high - column.days.low).days < MOST_INTEGER_KEYS
    if column.type is not ValueType.INTEGER or column.bounds is None:
        return False
    return column.bounds.high - column.bounds.low < MOST_INTEGER_KEYS
