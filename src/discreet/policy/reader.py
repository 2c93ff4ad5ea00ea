"""The one reader of policies. Every mistake is a PolicyError: where it is, and what to write instead."""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from discreet.errors import PolicyError
from discreet.model.declaration import USUAL_TIME_LIMIT, Policy, nearest
from discreet.model.neighbours import Neighbours
from discreet.model.policy import (
    MOST_MATCHES,
    USUAL_LEAST_PRICE,
    USUAL_LEFT_OUT_SHARE,
    Dataset,
    EachRow,
    Person,
    PersonColumn,
    PrivateTable,
    PublicTable,
    Table,
    budget_delta,
    least_price,
    left_out_share,
)
from discreet.policy.columns import COLUMN_SETTINGS, check_names, read_columns
from discreet.policy.house_rules import house_rules
from discreet.policy.person_through import EXAMPLE, THROUGH_SETTINGS, read_through, with_people
from discreet.policy.toml_file import FileKind, Section, read_toml
from discreet.postgres.address import is_postgres, read_ledger_address

SETTINGS = {
    "": ("dataset", "tables"),
    "dataset": (
        "name",
        "neighbours",
        "budget",
        "per_analyst",
        "per_question",
        "least_price",
        "left_out_share",
        "default_price",
        "min_people",
        "purpose",
        "time_limit",
        "answer_times",
        "ledger",
    ),
    "budget": ("epsilon", "delta"),
    "per_analyst": ("epsilon",),
    "per_question": ("epsilon",),
    "person": THROUGH_SETTINGS,
    "table": (
        "source",
        "person",
        "unique",
        "max_rows",
        "max_groups",
        "limits",
        "well_formed",
        "max_matches",
        "public",
        "answers",
        "cached_columns",
        "columns",
    ),
    "column": COLUMN_SETTINGS,
}
"""Every setting there is, by kind of section."""

_LONGEST_TIME_LIMIT = 24 * 3600
_PRIVATE_ONLY = (
    "person",
    "unique",
    "max_rows",
    "max_groups",
    "limits",
    "answers",
    "cached_columns",
    "well_formed",
)
_POLICY = FileKind(
    name="policy",
    error=PolicyError,
    if_missing="Write one with “discreet init”, or point to it with --policy.",
    if_too_large="Put long key lists into a public table.",
)


def read_policy(path: str | Path) -> Policy:
    """Read a policy. The sources that it names are not opened."""
    root = read_toml(Path(path), _POLICY)
    root.allow_only(SETTINGS[""])
    sections = {name: root.section("tables").section(name) for name in root.section("tables").values}
    check_names(root.section("tables"))
    tables = with_people({name: _table(name, section) for name, section in sections.items()}, sections)
    return Policy(
        dataset=_dataset(root.section("dataset"), tables),
        columns={name: read_columns(section, tables[name]) for name, section in sections.items()},
        places={name: section.place() for name, section in sections.items()},
        ledger=_ledger(root.section("dataset")),
        time_limit=_time_limit(root.section("dataset")),
        answer_times=_answer_times(root.section("dataset")),
    )


def _dataset(section: Section, tables: Mapping[str, Table]) -> Dataset:
    section.allow_only(SETTINGS["dataset"])
    budget = section.section("budget")
    budget.allow_only(SETTINGS["budget"])
    epsilon = budget.epsilon()
    delta = budget.required("delta", "delta = 1e-6, or delta = 0 to spend pure ε only")
    exact_delta = budget.checked("delta", lambda: budget_delta(delta))
    return section.checked(
        "",
        lambda: Dataset(
            name=section.text("name", 'name = "clinic"'),
            neighbours=_neighbours(section),
            epsilon=epsilon,
            delta=exact_delta,
            analyst_epsilon=_cap(section, "per_analyst", epsilon),
            question_epsilon=_cap(section, "per_question", epsilon),
            least_price=_least_price(section),
            left_out_share=_left_out_share(section),
            tables=tables,
            **house_rules(section),
        ),
    )


def _neighbours(section: Section) -> Neighbours:
    known = [relation.value for relation in Neighbours]
    value = section.text("neighbours", 'neighbours = "add_remove" or "replace_one"')
    if value not in known:
        section.refuse("neighbours", f"“{value}” is not a relation of neighbours.", nearest(value, known))
    return Neighbours(value)


def _ledger(section: Section) -> str | None:
    """Where the ledger is, if the policy says so. Analysts may read the policy, so a password is refused."""
    if "ledger" not in section.values:
        return None
    example = 'ledger = "postgresql://HOST/DATABASE#SCHEMA", or the path of a file'
    location = section.text("ledger", example)
    if not is_postgres(location):
        if "://" in location:
            section.refuse("ledger", "no ledger can be kept there.", f"Write {example}.")
        return location
    if section.checked("ledger", lambda: read_ledger_address(location)).database.has_password:
        section.refuse(
            "ledger",
            "everybody who reads the policy would read the password in it.",
            "Keep it in the file that PGPASSFILE names, in the one of PGSERVICEFILE, or as PGPASSWORD.",
        )
    return location


def _time_limit(section: Section) -> int:
    if "time_limit" not in section.values:
        return USUAL_TIME_LIMIT
    seconds = section.count("time_limit")
    if seconds > _LONGEST_TIME_LIMIT:
        section.refuse("time_limit", "this is more than a day.", f"Write {_LONGEST_TIME_LIMIT} or less.")
    return seconds


def _answer_times(section: Section) -> tuple[float, ...] | None:
    """When answers leave, in seconds after the charge; the last one within the time limit. [] for at once."""
    if "answer_times" not in section.values:
        return None
    example = "answer_times = [2, 10, 60], or [] to let answers out at once"
    given = section.values["answer_times"]
    if given == []:
        return ()
    times = given if isinstance(given, list) else []
    if not all(type(each) in (int, Decimal) and 0 < float(each) < _LONGEST_TIME_LIMIT for each in times):
        times = []
    if not times or any(later <= earlier for earlier, later in pairwise(times)):
        section.refuse("answer_times", "these must be seconds, in ascending order.", f"Write {example}.")
    if times[-1] > _time_limit(section):
        section.refuse(
            "answer_times", "the last one is after the time limit.", "Raise time_limit, or drop it."
        )
    return tuple(float(each) for each in times)


def _least_price(section: Section) -> Fraction:
    """The least price of a question, as a share of the budget."""
    if "least_price" not in section.values:
        return USUAL_LEAST_PRICE
    value = section.values["least_price"]
    return section.checked("least_price", lambda: least_price(value))


def _left_out_share(section: Section) -> Fraction:
    """Of the price of a question."""
    if "left_out_share" not in section.values:
        return USUAL_LEFT_OUT_SHARE
    value = section.values["left_out_share"]
    return section.checked("left_out_share", lambda: left_out_share(value))


def _cap(section: Section, name: str, budget: Fraction) -> Fraction:
    if name not in section.values:
        return budget
    cap = section.section(name)
    cap.allow_only(SETTINGS[name])
    epsilon = cap.epsilon()
    if epsilon > budget:
        cap.refuse("epsilon", "this is more than the whole budget.", "Lower it, or leave the cap out.")
    return epsilon


def _table(name: str, section: Section) -> Table:
    section.allow_only(SETTINGS["table"])
    source = section.text("source", 'source = "visits.parquet"')
    if section.flag("public"):
        for setting in _PRIVATE_ONLY:
            if setting in section.values:
                section.refuse(
                    setting, "a public table has no people in it.", f"Drop {setting}, or drop public = true."
                )
        return _public_table(name, source, section)
    if "max_matches" in section.values:
        section.refuse("max_matches", "this is for public tables.", "Drop it, or write public = true.")
    through = read_through(section) if isinstance(section.values.get("person"), dict) else None
    person = _person(section) if through is None else PersonColumn(name="")
    unique = section.flag("unique")
    if unique or isinstance(person, EachRow):
        for setting in ("max_rows", "max_groups"):
            if setting in section.values:
                section.refuse(setting, "here every person has one row.", f"Drop {setting}, it is 1.")
        max_rows = max_groups = 1
    else:
        max_rows = section.count("max_rows")
        max_groups = section.count("max_groups") if "max_groups" in section.values else max_rows
    return PrivateTable(
        name=name,
        source=source,
        person=person,
        unique=unique,
        max_rows=max_rows,
        max_groups=max_groups,
        limits_are_facts=_limits_are_facts(section),
        columns={},
        cached=_cached(section),
        well_formed=section.flag("well_formed"),
        through=through,
    )


def _limits_are_facts(section: Section) -> bool:
    """Whether limits are facts of the data, or a choice that leaves something out."""
    value = section.text("limits", 'limits = "facts"') if "limits" in section.values else "choices"
    if value not in ("facts", "choices"):
        section.refuse("limits", f"“{value}” is neither.", 'Write limits = "facts" or limits = "choices".')
    return value == "facts"


def _public_table(name: str, source: str, section: Section) -> PublicTable:
    matches = section.count("max_matches") if "max_matches" in section.values else MOST_MATCHES
    if matches > MOST_MATCHES:
        section.refuse("max_matches", f"this is more than {MOST_MATCHES}.", f"Write {MOST_MATCHES} or less.")
    return PublicTable(name=name, source=source, columns={}, max_matches=matches)


def _cached(section: Section) -> tuple[str, ...]:
    """The columns whose counting questions share what they paid for."""
    example = 'answers = "cached" and cached_columns = ["ward", "age"]'
    value = section.text("answers", example) if "answers" in section.values else "direct"
    if value not in ("direct", "cached"):
        section.refuse("answers", f"“{value}” is no way to answer.", 'Write answers = "direct" or "cached".')
    given = section.values.get("cached_columns", [])
    columns = [column for column in given if isinstance(column, str)] if isinstance(given, list) else []
    if columns != given or len(set(columns)) != len(columns) or bool(columns) != (value == "cached"):
        section.refuse("cached_columns", "these must be columns, each once.", f"Write {example}.")
    return tuple(columns)


def _person(section: Section) -> Person:
    example = (
        'person = "COLUMN", person = "row" if every row is another person,'
        f" {EXAMPLE} if another table says so, or public = true"
    )
    value = section.text("person", example)
    return EachRow() if value == "row" else PersonColumn(name=value)
