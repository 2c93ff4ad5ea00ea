"""Example rows and example questions, from the policy alone. No row of the data is behind them."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from discreet.aggregates.registry import AGGREGATES
from discreet.functions.registry import FUNCTIONS
from discreet.model.policy import Table
from discreet.policy.dummy import dummy_rows

ROWS = 4
_CLAUSES = ("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "DESC", "JOIN", "ON", "AS")
_WORDS = (
    "AND",
    "OR",
    "NOT",
    "IN",
    "BETWEEN",
    "DISTINCT",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "NULL",
    "LIKE",
)
_NOT_WRITTEN = ("cast_", "is_", "negate", "add_days")
"""Functions that SQL writes in another way."""

PolicyFacts: TypeAlias = Mapping[str, Any]
"""Of a table or a column, as `dataset_facts` gives them."""


def made_up_rows(table: Table) -> list[list[str]]:
    """Some rows that a table could have, the same each time: the first ones of `discreet dummy`."""
    rows = dummy_rows(table, ROWS)[:ROWS]
    return [[str(row[name]) for name in table.columns] for row in rows]


def example_questions(facts: PolicyFacts) -> list[dict[str, str]]:
    """Questions that this policy can answer."""
    private = next((table for table in facts["tables"] if not table["public"]), None)
    if private is None:
        return []
    name, columns = quoted(private["name"]), private["columns"]
    keyed = [column["name"] for column in columns if column["keys"] and len(column["keys"]) <= 50]
    bounded = [
        column["name"] for column in columns if column["bounds"] and not isinstance(column["bounds"][0], str)
    ]
    found = [("How many rows", f"SELECT count(*) AS n\nFROM {name}")]
    if private["person"] != "row":
        person = quoted(private["person"])
        found.append(("How many people", f"SELECT count(DISTINCT {person}) AS people\nFROM {name}"))
    for key in keyed[:1]:
        key = quoted(key)
        sql = f"SELECT {key}, count(*) AS n\nFROM {name}\nGROUP BY {key}\nORDER BY n DESC"
        found.append((f"How many by {key}", sql))
        if bounded:
            value = quoted(bounded[-1])
            sql = f"SELECT {key}, avg({value}) AS average\nFROM {name}\nGROUP BY {key}"
            found.append((f"Average {value} by {key}", sql))
    if bounded:
        value = quoted(bounded[0])
        found.append((f"Median {value}", f"SELECT median({value}) AS median\nFROM {name}"))
    return [{"title": title, "sql": sql} for title, sql in found]


def completion_words(facts: PolicyFacts) -> list[dict[str, str]]:
    """What can be completed: tables, columns, functions and words of SQL, each with what it is."""
    found = {}
    for table in facts["tables"]:
        found[quoted(table["name"])] = "table"
        for column in table["columns"]:
            found[quoted(column["name"])] = f"{column['type']} of {table['name']}"
    for aggregate in AGGREGATES.values():
        found |= {name: "aggregate" for name in aggregate.offered if name.isidentifier()}
    names = (name for name in FUNCTIONS if name.isidentifier() and not name.startswith(_NOT_WRITTEN))
    found |= dict.fromkeys((*_CLAUSES, *_WORDS), "")
    found |= {name: "function" for name in names if name not in found and name.upper() not in found}
    return [{"word": word, "kind": kind} for word, kind in found.items()]


def quoted(name: str) -> str:
    """A name as SQL reads it."""
    plain = name.isascii() and name.isidentifier() and name.lower() == name
    return name if plain else '"' + name.replace('"', '""') + '"'


def limits_text(table: PolicyFacts) -> str:
    """How much of one person counts, in a sentence."""
    if table["public"]:
        return "A public table. Everybody may know its rows."
    if table["person"] == "row":
        return "Each row is one person."
    if table["unique"]:
        return f"One row for each {table['person']}."
    return (
        f"A person is one {table['person']}. Up to {table['max_rows']:,} rows of a person count fully,"
        f" in up to {table['max_groups']:,} groups."
    )


def range_text(column: PolicyFacts) -> str:
    """What is known of the values of a column."""
    if column["keys"] is not None:
        keys = [str(key) for key in column["keys"]]
        more = f" … ({len(keys):,} in all)" if len(keys) > 8 else ""
        return ", ".join(keys[:8]) + more
    if column["bounds"] is not None:
        low, high = column["bounds"]
        return f"{low} … {high}" if isinstance(low, str) else f"{low:,.10g} … {high:,.10g}"
    return ""
