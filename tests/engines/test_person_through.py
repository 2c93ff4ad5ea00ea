"""Whose a row is, if another table says so: answers are those of plain SQL, on every engine.

customers ← orders ← items, as in TPC-H; and notes about items, three steps away.
"""

import duckdb
import pytest

import discreet
from discreet.errors import PolicyError, QueryRefused
from discreet.policy.reader import read_policy
from tests.engines.databases import execute

ENGINES = [
    "duckdb",
    pytest.param("postgres", marks=pytest.mark.xdist_group("postgres")),
    pytest.param("spark", marks=pytest.mark.xdist_group("spark")),
]
PRICE = 960
"""Of all questions together."""
ROWS = {
    "customers": "SELECT range AS c_custkey, ['up', 'down'][1 + range % 2] AS segment FROM range(200)",
    "orders": "SELECT range AS o_orderkey, range // 3 AS o_custkey, 2020 + range % 3 AS year FROM range(540)",
    "items": "SELECT range AS i_key, range // 2 AS i_orderkey, range % 7 AS amount FROM range(1080)",
    "notes": "SELECT range AS n_item, ['late', 'lost'][1 + range % 2] AS what FROM range(0, 1200, 5)",
}
COLUMNS = {
    "customers": "c_custkey bigint, segment text",
    "orders": "o_orderkey bigint, o_custkey bigint, year bigint",
    "items": "i_key bigint, i_orderkey bigint, amount bigint",
    "notes": "n_item bigint, what text",
}
POLICY = """
[dataset]
name = "shop"
neighbours = "add_remove"
budget = {{ epsilon = 1000, delta = 0 }}
[tables.customers]
source = "{customers}"
person = "c_custkey"
unique = true
columns.segment = {{ keys = ["up", "down"] }}
[tables.orders]
source = "{orders}"
person = {{ through = "customers", on = {{ o_custkey = "c_custkey" }} }}
max_rows = 5
columns.year = {{ keys = [2020, 2021, 2022] }}
[tables.items]
source = "{items}"
person = {{ through = "orders", on = {{ i_orderkey = "o_orderkey" }} }}
max_rows = 10
columns.amount = {{ bounds = [0, 10] }}
[tables.notes]
source = "{notes}"
person = {{ through = "items", on = {{ n_item = "i_key" }} }}
max_rows = 10
columns.what = {{ keys = ["late", "lost"] }}
"""
QUESTIONS = [
    "SELECT count(*) AS n FROM items WHERE i_orderkey < 540",
    "SELECT count(DISTINCT o_custkey) AS n FROM orders",
    "SELECT year, count(*) AS n FROM orders GROUP BY year",
    "SELECT year, sum(amount) AS n FROM orders JOIN items ON o_orderkey = i_orderkey GROUP BY year",
    "SELECT year, sum(amount) AS n FROM orders, items WHERE o_orderkey = i_orderkey GROUP BY year",
    "SELECT segment, count(*) AS n FROM customers JOIN orders ON c_custkey = o_custkey"
    " JOIN items ON o_orderkey = i_orderkey GROUP BY segment",
    "SELECT segment, year, count(*) AS n FROM items JOIN orders ON o_orderkey = i_orderkey"
    " JOIN customers ON o_custkey = c_custkey AND c_custkey < o_orderkey GROUP BY segment, year",
    "SELECT what, count(*) AS n FROM notes JOIN items ON n_item = i_key GROUP BY what",
    "SELECT what, year, sum(amount) AS n FROM notes JOIN items ON n_item = i_key"
    " JOIN (SELECT o_orderkey, year FROM orders WHERE o_orderkey > 30) AS o ON i_orderkey = o.o_orderkey"
    " GROUP BY what, year",
    "SELECT count(DISTINCT c_custkey) AS n FROM customers WHERE c_custkey IN"
    " (SELECT o_custkey FROM orders WHERE year = 2021)",
    "SELECT year, count(*) AS n FROM orders WHERE EXISTS (SELECT 1 FROM items WHERE i_orderkey = o_orderkey"
    " AND amount > 3) GROUP BY year",
    "SELECT count(*) AS n FROM orders WHERE o_orderkey IN"
    " (SELECT i_orderkey FROM items GROUP BY i_orderkey HAVING sum(amount) > 6)",
    "SELECT count(*) AS n FROM items AS a WHERE EXISTS (SELECT 1 FROM items AS b WHERE b.i_orderkey ="
    " a.i_orderkey AND b.amount > a.amount)",
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("through")
    for table, rows in ROWS.items():
        duckdb.sql(f"COPY ({rows}) TO '{folder / table}.parquet'")
    return folder


@pytest.fixture
def shop(request, files, tmp_path):
    def opened(engine):
        places = {table: str(files / f"{table}.parquet") for table in ROWS}
        if engine == "spark":
            request.getfixturevalue("spark")
            places = {table: f"spark://local#{file}" for table, file in places.items()}
        if engine == "postgres":
            url = request.getfixturevalue("postgres_server").url
            execute(url, "DROP SCHEMA IF EXISTS through CASCADE", "CREATE SCHEMA through")
            for table, file in places.items():
                execute(url, f"CREATE TABLE through.{table} ({COLUMNS[table]})")
                rows = duckdb.sql(f"SELECT * FROM '{file}'").fetchall()
                execute(url, f"INSERT INTO through.{table} VALUES {', '.join(map(str, rows))}")
            places = {table: f"{url}#through.{table}" for table in ROWS}
        policy = tmp_path / "discreet.toml"
        policy.write_text(POLICY.format(**places))
        return discreet.open(policy, analyst="new")

    return opened


@pytest.mark.parametrize("engine", ENGINES)
def test_questions_over_keys_are_answered_as_plain_sql_does(engine, shop, files):
    """Joined, a person has up to 10 rows with amounts up to 10. At a price of 70, less what is paid for what
    limits leave out, the noise of a sum has a scale of 5 at most: it exceeds 150 once in e³⁰ times.
    """
    with shop(engine) as curator:
        for sql in QUESTIONS:
            answer = curator.ask(sql, epsilon=PRICE / len(QUESTIONS))
            plain = sql
            for table in ROWS:
                plain = plain.replace(f"FROM {table}", f"FROM '{files / table}.parquet' AS {table}")
                plain = plain.replace(f"JOIN {table}", f"JOIN '{files / table}.parquet' AS {table}")
                plain = plain.replace(f"parquet' AS {table} AS", "parquet' AS")
                plain = plain.replace(f", {table} ", f", '{files / table}.parquet' AS {table} ")
            exact = sorted(duckdb.sql(plain).fetchall())
            found = sorted(tuple(row.values()) for row in answer.rows())
            assert [row[:-1] for row in found] == [row[:-1] for row in exact], sql
            for ours, theirs in zip(found, exact, strict=True):
                assert ours[-1] == pytest.approx(theirs[-1], abs=150), sql


def test_rows_of_nobody_are_left_out(shop):
    """Of 240 notes, 24 are about items that there are not. Another number has a probability of e⁻¹⁰."""
    with shop("duckdb") as curator:
        assert curator.ask("SELECT count(*) AS n FROM notes", epsilon=100)["n"][0] == 216


def test_an_order_that_is_listed_twice_has_its_lines_once(tmp_path):
    """A person's lines count once for them, and for everybody whom the key leads to."""
    duckdb.sql(f"COPY (SELECT * FROM (VALUES (1, 7), (1, 7), (1, 8)) AS o(k, who)) TO '{tmp_path}/o.parquet'")
    duckdb.sql(f"COPY (SELECT 1 AS k FROM range(3)) TO '{tmp_path}/i.parquet'")
    (tmp_path / "discreet.toml").write_text(
        '[dataset]\nname = "x"\nneighbours = "add_remove"\nbudget = { epsilon = 1000, delta = 0 }\n'
        '[tables.o]\nsource = "o.parquet"\nperson = "who"\nmax_rows = 5\n'
        '[tables.i]\nsource = "i.parquet"\nperson = { through = "o", on = "k" }\nmax_rows = 9\n'
    )
    with discreet.open(tmp_path / "discreet.toml") as curator:
        assert curator.ask("SELECT count(*) AS n FROM i", epsilon=900)["n"].tolist() == [6]


def test_what_is_not_joined_on_the_person_or_a_key_is_refused(shop):
    with shop("duckdb") as curator, pytest.raises(QueryRefused, match="only on the person"):
        curator.explain("SELECT count(*) FROM orders JOIN items ON year = amount", epsilon=1)


def test_the_way_is_part_of_a_question(shop, tmp_path):
    """Another key leads to other people."""
    with shop("duckdb") as curator:
        curator.ask("SELECT count(*) AS n FROM items", epsilon=1)
        assert curator.ask("SELECT count(*) AS n FROM items", epsilon=1).repeated
    policy = tmp_path / "discreet.toml"
    policy.write_text(policy.read_text().replace('i_orderkey = "o_orderkey"', 'i_key = "o_orderkey"'))
    with discreet.open(policy, analyst="new") as curator:
        assert not curator.ask("SELECT count(*) AS n FROM items", epsilon=1).repeated


BROKEN = {
    'through = "order"': ('through = "orders"', "no table “order”"),
    'through = "items", on = "o_orderkey"': (
        'through = "customers", on = {{ o_custkey = "c_custkey" }}',
        "in a circle",
    ),
    "on = {{ i_orderkey = 7 }}": ('on = {{ i_orderkey = "o_orderkey" }}', "one column"),
    "on = {{ i_orderkey = 'x', i_key = 'y' }}": ('on = {{ i_orderkey = "o_orderkey" }}', "one column"),
    'on = "i_orderkey"': ('on = {{ i_orderkey = "o_orderkey" }}', "“orders” has no usable column"),
    "on = {{ nothing = 'o_orderkey' }}": ('on = {{ i_orderkey = "o_orderkey" }}', "the source has no usable"),
    "on = {{ n_item = 'i_key' }} }}\nunique = true": ('on = {{ n_item = "i_key" }} }}', "several people"),
    "on = {{ what = 'i_key' }}": ('on = {{ n_item = "i_key" }}', "not both integers"),
    'through = "orders", by = 3': ('through = "orders"', "no setting “by”"),
}


@pytest.mark.parametrize("wrong", BROKEN)
def test_a_way_that_leads_nowhere_is_refused_with_its_line(wrong, files, tmp_path):
    right, problem = BROKEN[wrong]
    text = POLICY.replace(right, wrong, 1)
    assert text != POLICY
    policy = tmp_path / "discreet.toml"
    policy.write_text(text.format(**{table: files / f"{table}.parquet" for table in ROWS}))
    with pytest.raises(PolicyError, match=problem) as refusal:
        discreet.open(policy)
    assert "discreet.toml, line" in str(refusal.value)
    assert refusal.value.remedy


def test_made_up_tables_have_the_same_way(files, tmp_path):
    from click.testing import CliRunner

    from discreet.apps.commands.main import main

    policy = tmp_path / "discreet.toml"
    policy.write_text(POLICY.format(**{table: files / f"{table}.parquet" for table in ROWS}))
    done = CliRunner().invoke(main, ["dummy", str(tmp_path / "made-up"), "--policy", str(policy)])
    assert done.exit_code == 0, done.output
    made = read_policy(tmp_path / "made-up" / "discreet.toml")
    assert made.dataset.tables["notes"].through.further.further is not None
    with discreet.open(tmp_path / "made-up" / "discreet.toml") as curator:
        assert len(curator.ask(QUESTIONS[3], epsilon=100)) == 3
