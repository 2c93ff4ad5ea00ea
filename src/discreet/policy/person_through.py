"""person = { through = "orders", on = "order_id" }: whose a row is, if another table says so."""

from collections.abc import Mapping
from dataclasses import replace

from discreet.model.declaration import nearest
from discreet.model.policy import EachRow, PersonColumn, PrivateTable, Table, Through
from discreet.policy.toml_file import Section

THROUGH_SETTINGS = ("through", "on")
EXAMPLE = 'person = { through = "orders", on = "order_id" }'
_OTHERWISE = 'on = { item_order = "order_id" } if the key is called otherwise there'


def read_through(section: Section) -> Through:
    """What a table says of the table that knows its people. `with_people` finds out who they are."""
    person = section.section("person")
    person.allow_only(THROUGH_SETTINGS)
    if section.flag("unique"):
        section.refuse(
            "unique", "a key may lead to several people, so nobody vouches for one row.", "Drop unique."
        )
    on = person.required("on", f'on = "order_id", or {_OTHERWISE}')
    pairs = {on: on} if isinstance(on, str) else on if isinstance(on, dict) else {}
    if len(pairs) != 1 or not all(isinstance(each, str) and each.strip() for each in pairs.values()):
        person.refuse("on", "this must be one column.", f'Write on = "order_id", or {_OTHERWISE}.')
    ((key, other),) = pairs.items()
    return Through(table=person.text("through", 'through = "orders"'), key=key, other=other)


def with_people(tables: Mapping[str, Table], sections: Mapping[str, Section]) -> dict[str, Table]:
    """The tables, each with the column of the person whom another table says that a row belongs to."""
    return {name: _with_person(table, tables, sections) for name, table in tables.items()}


def _with_person(table: Table, tables: Mapping[str, Table], sections: Mapping[str, Section]) -> Table:
    if not isinstance(table, PrivateTable) or table.through is None:
        return table
    through, person = _followed(table.through, table.name, tables, sections, (table.name,))
    return replace(table, person=person, through=through)


def _followed(
    through: Through,
    name: str,
    tables: Mapping[str, Table],
    sections: Mapping[str, Section],
    met: tuple[str, ...],
) -> tuple[Through, PersonColumn]:
    """The way to the table that has the person column, step by step."""
    place = sections[name].section("person")
    owner = tables.get(through.table)
    if owner is None:
        place.refuse("through", f"there is no table “{through.table}”.", nearest(through.table, tables))
    if not isinstance(owner, PrivateTable) or isinstance(owner.person, EachRow):
        place.refuse(
            "through", f"“{through.table}” has no person column.", "Name a table that says whose a row is."
        )
    if owner.name in met:
        place.refuse(
            "through", "the tables name each other in a circle.", 'Write person = "COLUMN" in one of them.'
        )
    if owner.through is None:
        person = owner.person
        return replace(through, source=owner.source, person=person.name), person
    further, person = _followed(owner.through, owner.name, tables, sections, (*met, owner.name))
    return replace(through, source=owner.source, person=person.name, further=further), person
