"""A clinic that does not exist: visits as skewed as real ones, with the policy that its owner would write."""

from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidInput

PEOPLE = 45_000
WARDS = ("cardiology", "emergency", "maternity", "oncology", "orthopaedics", "psychiatry")
DIAGNOSES = ("fracture", "infection", "diabetes", "depression", "cancer", "epilepsy", "HIV", "other")
YOUNGEST, OLDEST = 18, 97
MOST_VISITS = 12
HIGHEST_COST = 2_000
_WARD_SHARES = (0.20, 0.34, 0.09, 0.12, 0.19, 0.06)
_DIAGNOSIS_SHARES = (0.17, 0.21, 0.15, 0.11, 0.08, 0.03, 0.02, 0.23)

POLICY = f"""\
# What analysts may learn from this clinic, and how much. Everything in this file is public.
# All settings: docs/reference/policy.md. Check it with: discreet check

[dataset]
name = "clinic"
neighbours = "add_remove"          # whether somebody was here at all is itself private
budget = {{ epsilon = 2.0, delta = 0 }}

[tables.visits]
source = "visits.parquet"
person = "patient_id"
max_rows = {MOST_VISITS}                      # visits of one patient that count fully: one a month
max_groups = 6                     # groups that a patient counts fully in, where patients are counted

[tables.visits.columns.ward]
keys = [{", ".join(f'"{ward}"' for ward in WARDS)}]

[tables.visits.columns.diagnosis]
keys = [{", ".join(f'"{diagnosis}"' for diagnosis in DIAGNOSES)}]

[tables.visits.columns.age]
bounds = [{YOUNGEST}, {OLDEST}]

[tables.visits.columns.cost]
bounds = [0, {HIGHEST_COST}]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clinic:
    """The folder of a made-up clinic."""

    folder: Path
    rows: int

    @property
    def policy(self) -> Path:
        return self.folder / "discreet.toml"

    @property
    def visits(self) -> Path:
        return self.folder / "visits.parquet"

    def exact(self, sql: str) -> list[tuple[object, ...]]:
        """What only the owner may see: plain SQL over the data itself."""
        with duckdb.connect() as connection:
            connection.read_parquet(str(self.visits)).create_view("visits")
            return connection.execute(sql).fetchall()


def make_clinic(folder: Path) -> Clinic:
    """Write data and policy into a new folder. One that exists is never touched."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise InvalidInput(
            f"“{folder}” exists already, and is left as it is.",
            remedy="Give another folder: discreet demo another-name. Or remove that one first.",
        ) from None
    except OSError:
        raise InvalidInput(f"The folder “{folder}” cannot be made.", remedy="Give another one.") from None
    columns = _visits(np.random.default_rng())  # makes up the data; the noise has its own generator
    clinic = Clinic(folder=folder, rows=len(columns["patient_id"]))
    with duckdb.connect() as connection:
        connection.register("made_up", columns)
        days = "SELECT * EXCLUDE day, DATE '2025-01-01' + day AS day FROM made_up ORDER BY day"
        connection.sql(days).write_parquet(str(clinic.visits))
    clinic.policy.write_text(POLICY, encoding="utf-8")
    return clinic


def _visits(generator: np.random.Generator) -> dict[str, NDArray[np.generic]]:
    """One row a visit: many patients come once, some come every month."""
    often = np.minimum(1 + generator.exponential(4.8, PEOPLE).astype(np.int64), MOST_VISITS)
    people = np.repeat(np.arange(PEOPLE), often)
    visits = len(people)
    ages = np.clip(generator.normal(54, 19, PEOPLE), YOUNGEST, OLDEST).astype(np.int64)
    usual_ward = generator.choice(len(WARDS), PEOPLE, p=_WARD_SHARES)
    usual_diagnosis = generator.choice(len(DIAGNOSES), PEOPLE, p=_DIAGNOSIS_SHARES)
    same = generator.random(visits) < 0.7  # people mostly come back with what they have
    ward = np.where(same, usual_ward[people], generator.choice(len(WARDS), visits, p=_WARD_SHARES))
    ward = np.where((ward == WARDS.index("maternity")) & (ages[people] > 50), 0, ward)
    diagnosis = np.where(
        same, usual_diagnosis[people], generator.choice(len(DIAGNOSES), visits, p=_DIAGNOSIS_SHARES)
    )
    cost = np.minimum(np.exp(generator.normal(5.2, 0.7, visits) + ages[people] / 120), HIGHEST_COST)
    return {
        "patient_id": 100_000 + generator.permutation(PEOPLE)[people],
        "ward": np.array(WARDS)[ward],
        "age": ages[people],
        "diagnosis": np.array(DIAGNOSES)[diagnosis],
        "cost": np.round(cost, 2),
        "day": generator.integers(0, 365, visits, dtype=np.int32),
    }
