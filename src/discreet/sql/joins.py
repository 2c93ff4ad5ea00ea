"""Joins on the person of three sides or more, as SQL. Only people who are in all of them are joined.

Otherwise two sides would be joined for everybody if the third has one row, and for nobody if it has none.
"""

from dataclasses import dataclass, field

from discreet.model.query import Filter, Lookup, PersonJoin, Relation


@dataclass(slots=True)
class JoinTree:
    """The sides of a tree of joins, collected while it is written. Each keeps only the people who are in all
    required sides.
    """

    required: set[int]
    """The identities of sides that a person must be in."""
    _sides: list[tuple[str, str, bool]] = field(default_factory=list)

    def side(self, side: Relation, rows: str, number: int) -> str:
        self._sides.append((f"all{number}", rows, id(side) in self.required))
        return f"SELECT * FROM met_all{number}"

    def definitions(self, kept: str) -> list[str]:
        """The definitions in WITH. A side that is the only required one keeps all of its people, also those
        without an id.
        """
        needed = [name for name, _, required in self._sides if required]
        people = " INTERSECT ".join(f"SELECT p FROM {name}" for name in needed)
        whole = [f"{name} AS {kept}({rows})" for name, rows, _ in self._sides]
        met = [
            f"met_{name} AS {kept}(SELECT * FROM {name}"
            + ("" if needed == [name] else " WHERE p IN (SELECT p FROM everywhere)")
            + ")"
            for name, _, _ in self._sides
        ]
        return [*whole, f"everywhere AS {kept}({people})", *met]


def sides(relation: Relation) -> list[Relation]:
    """The sides of all joins on the person that make the rows of a relation, each with its own conditions."""
    join = _join_of(relation)
    return [relation] if join is None else [*sides(join.left), *sides(join.right)]


def required(relation: Relation) -> set[int]:
    """The identities of the sides that a person must have a row in."""
    join = _join_of(relation)
    if join is None:
        return {id(relation)}
    return required(join.left) | (set() if join.keep_unmatched else required(join.right))


def joins_people(relation: Relation) -> bool:
    """Whether its rows are made by a join on the person, and not grouped since."""
    return _join_of(relation) is not None


def _join_of(relation: Relation) -> PersonJoin | None:
    while isinstance(relation, Filter | Lookup):
        relation = relation.source
    return relation if isinstance(relation, PersonJoin) else None
