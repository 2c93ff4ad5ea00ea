"""The clinic of `tests.question.clinic` with the same rows in files, in PostgreSQL and in Spark."""

import duckdb
import numpy as np

from discreet.dialects import DIALECTS
from discreet.engines.open_engine import open_engine
from discreet.learn.plan.statements import Summed
from discreet.model.declaration import TableSource
from discreet.sql.emit import emit_sql
from tests.question.clinic import PUBLIC

TABLES = {
    "visits": "patient BIGINT, ward VARCHAR, cost DOUBLE, age BIGINT, note VARCHAR, born DATE",
    "labs": "patient BIGINT, test VARCHAR, level BIGINT",
    "wards": "ward VARCHAR, region VARCHAR, beds BIGINT",
}
_VISITS = """
SELECT CASE WHEN h % 97 = 0 THEN NULL WHEN h % 89 = 0 THEN 7 WHEN h % 83 = 0 THEN -9223372036854775808
            ELSE (h // 13) % {people} END::BIGINT AS patient,
       CASE h % 11 WHEN 0 THEN NULL WHEN 1 THEN 'south' WHEN 2 THEN 'Süd 👩‍🔬'
            WHEN 3 THEN 'NORTH' ELSE 'north' END AS ward,
       CASE h % 23 WHEN 0 THEN NULL WHEN 1 THEN 'nan'::DOUBLE WHEN 2 THEN 'inf'::DOUBLE
            WHEN 3 THEN '-inf'::DOUBLE WHEN 4 THEN 1e308 WHEN 5 THEN -1e308 WHEN 6 THEN 5e-324
            WHEN 7 THEN -0.0
            ELSE ((h // 7) % 60000) / 10000 - 2 END AS cost,
       CASE h % 29 WHEN 0 THEN NULL WHEN 1 THEN 9223372036854775807 WHEN 2 THEN -9223372036854775808
            ELSE (h // 3) % 120 END::BIGINT AS age,
       CASE h % 7 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'it''s' ELSE 'n' || (h // 5) % 40 END AS note,
       CASE h % 31 WHEN 0 THEN NULL WHEN 1 THEN DATE '0001-01-01' WHEN 2 THEN DATE '9999-12-31'
            ELSE DATE '1950-01-01' + ((h // 11) % 20000)::INTEGER END AS born
FROM (SELECT (hash(range) % 1000000007)::BIGINT AS h FROM range({rows}))
"""
_LABS = """
SELECT CASE WHEN h % 97 = 0 THEN NULL ELSE (h // 13) % {people} END::BIGINT AS patient,
       CASE h % 5 WHEN 0 THEN NULL WHEN 1 THEN 'x' ELSE 'y' || (h // 17) % 3 END AS test,
       CASE h % 9 WHEN 0 THEN NULL ELSE (h // 19) % 14 - 2 END::BIGINT AS level
FROM (SELECT (hash(range + 5) % 1000000007)::BIGINT AS h FROM range({rows}))
"""
"""NULL ids and values, one person with many rows, NaN, ±∞, extreme integers and dates, Unicode keys."""


def write_files(folder, *, rows, people):
    with duckdb.connect() as connection:
        for name, columns in TABLES.items():
            connection.execute(f"CREATE TABLE {name} ({columns})")
        connection.execute("INSERT INTO visits " + _VISITS.format(rows=rows, people=people))
        connection.execute("INSERT INTO labs " + _LABS.format(rows=rows // 3, people=people))
        connection.executemany("INSERT INTO wards VALUES (?, ?, ?)", PUBLIC)
        for name in TABLES:
            connection.execute(f"COPY {name} TO '{folder}/{name}.parquet' (ROW_GROUP_SIZE 20480)")


def fill_postgres(url, schema, folder):
    import psycopg

    with psycopg.connect(url) as connection, duckdb.connect() as files:
        connection.execute(f"CREATE SCHEMA {schema}")
        for name, columns in TABLES.items():
            declared = columns.replace("VARCHAR", "text").replace("DOUBLE", "double precision")
            connection.execute(f"CREATE TABLE {schema}.{name} ({declared})")
            found = files.execute(f"SELECT * FROM '{folder}/{name}.parquet'").fetchall()
            with connection.cursor().copy(f"COPY {schema}.{name} FROM STDIN") as copy:
                for row in found:
                    copy.write_row(row)


def sources(place):
    persons = {"visits": "patient", "labs": "patient", "wards": None}
    return {
        name: TableSource(
            location=place(name), public=person is None, person=person, types={}, implied_types={}
        )
        for name, person in persons.items()
    }


def open_files(folder):
    return open_engine(sources(lambda name: f"{name}.parquet"), folder)


def open_postgres(url, schema):
    return open_engine(sources(lambda name: f"{url}#{schema}.{name}"), None)


def open_spark(session, folder):
    for name in TABLES:
        session.read.parquet(f"{folder}/{name}.parquet").createOrReplaceTempView(f"{folder.name}_{name}")
    return open_engine(sources(lambda name: f"spark://session#{folder.name}_{name}"), folder, spark=session)


def exact(engine, plan):
    """The integers of each part, by grouping set and keys, however many statements an engine takes."""
    found = {}
    for statement in emit_sql(plan, engine.relations, DIALECTS[engine.dialect]):
        for sql in statement.runs:
            engine.prepare(sql, parameters=statement.parameters)
        found_at_once = engine.run(statement.sql, parameters=statement.parameters)
        keys = plan.bounded.query.keys
        rows = _by_part(statement, keys, found_at_once.reveal())
        if statement.slices:
            cut = engine.run_each(statement.slices, parameters=statement.parameters)
            slices = [_by_part(statement, keys, each.reveal()) for each in cut]
            assert _added_up(slices) == rows
        for part, integers in rows.items():
            assert not found.get(part, {}).keys() & integers.keys()
            found.setdefault(part, {}).update(integers)
    return found


def learnt_from(engine, plan):
    """What a model is made from: sums by place, or rows with whose they are, whatever their order."""
    (statement,) = plan.statements(engine.relations, DIALECTS[engine.dialect])
    for sql in statement.runs:
        engine.prepare(sql, parameters=statement.parameters)
    whole = engine.run(statement.sql, parameters=statement.parameters).reveal()
    if isinstance(plan.data, Summed):
        sums = plan.data.sums([(statement, whole)])
        if statement.slices:
            cut = engine.run_each(statement.slices, parameters=statement.parameters)
            sliced = plan.data.sums([(statement, each.reveal()) for each in cut])
            assert (sliced.by_place == sums.by_place).all()
        return sums.by_place.tolist()
    x, y, people = plan.data.rows([(statement, whole)])
    return sorted(map(tuple, np.column_stack([x, y, people.weights]).tolist()))


def _by_part(statement, keys, table):
    """NULL is the sum of no rows. Bins of what is left out are those that somebody is in."""
    columns = {name: np.ma.asarray(column).tolist() for name, column in table.items()}
    for i, position in enumerate(statement.keys):
        if position in statement.coded:
            values = keys[position].values
            columns[f"k{i}"] = [None if code is None else values[code] for code in columns[f"k{i}"]]
    count = len(next(iter(columns.values())))
    bins = columns.get("bin", [None] * count)
    names = [f"k{i}" for i in range(len(statement.keys))]
    names += ["leaf"] if statement.by_leaf and statement.parts else []
    found = {part: {} for part in statement.parts}
    for part in statement.parts:
        for row in range(count):
            if bins[row] is None:
                key = (statement.grouping_set, *(columns[name][row] for name in names))
                assert key not in found[part]
                found[part][key] = _whole(columns[f"s{part}"][row])
    if statement.left_out is not None:
        people = [_whole(each) for each in columns[f"s{statement.left_out}"]]
        found[statement.left_out] = {
            place: people[row] for row, place in enumerate(bins) if place is not None and people[row]
        }
    return found


def _whole(value):
    assert type(value) is int or value is None
    return value or 0


def _added_up(slices):
    found = {}
    for some in slices:
        for part, integers in some.items():
            known = found.setdefault(part, {})
            for key, value in integers.items():
                known[key] = known.get(key, 0) + value
    return found


def size_of(found):
    """How much there is to compare: sums that are not zero."""
    return sum(bool(value) for integers in found.values() for value in integers.values())
