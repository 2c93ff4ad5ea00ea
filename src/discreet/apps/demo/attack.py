"""The differencing attack: two harmless counts, whose difference is the diagnosis of one person.

An attacker knows the age of somebody, the ward where they were once, and the day. They count the patients of
that age and ward with the diagnosis, then the same without that day. The difference is 1 or 0. Through
discreet both counts are noisy, and the diagnosis changes each by at most 1. Whatever is done with the two
answers, a guess at even odds is right at most e^ε/(1 + e^ε) of the time, where ε is the price of both.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from discreet.apps.demo.data import Clinic
from discreet.curator import Curator

ExactCounts = Mapping[tuple[str, int], float]
"""A count for each ward and age."""

_LONE_VISITS = """
    SELECT ward, age, day, any_value(diagnosis) FROM visits
    GROUP BY ward, age, day
    HAVING count(*) = 1
       AND any_value(patient_id) IN (SELECT patient_id FROM visits GROUP BY patient_id HAVING count(*) = 1)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What an attacker knows about somebody, and the truth that they are after."""

    ward: str
    age: int
    day: date
    suspected: str
    has_it: bool

    @property
    def group(self) -> tuple[str, int]:
        return self.ward, self.age


def pick_targets(clinic: Clinic, diagnoses: Sequence[str]) -> list[Target]:
    """One patient for each ward, age and diagnosis. A coin decides whether they have the diagnosis.

    Groups without both kinds of patients are left out, so that only the coin decides.
    """
    lone = defaultdict(list)
    for ward, age, day, diagnosis in clinic.exact(_LONE_VISITS):
        if isinstance(ward, str) and isinstance(age, int) and isinstance(day, date):
            lone[ward, age].append((day, str(diagnosis)))
    toss = random.SystemRandom()
    targets = []
    for (ward, age), visits in sorted(lone.items()):
        for suspected in diagnoses:
            kinds = {
                has_it: [day for day, diagnosis in visits if (diagnosis == suspected) is has_it]
                for has_it in (True, False)
            }
            if all(kinds.values()):
                has_it = toss.random() < 0.5
                day = toss.choice(kinds[has_it])
                targets.append(Target(ward=ward, age=age, day=day, suspected=suspected, has_it=has_it))
    return targets


def attack_all(targets: Sequence[Target], ask: Callable[[str], ExactCounts]) -> float:
    """The share of right guesses. One question covers all wards and ages, at the price of one of them."""
    together = defaultdict(list)
    for target in targets:
        together[target.suspected].append(target)
    right = 0
    for group in together.values():
        everyone, others = (ask(question) for question in questions(group))
        right += sum((everyone[one.group] - others[one.group] > 0.5) is one.has_it for one in group)
    return right / len(targets)


def questions(targets: Sequence[Target]) -> tuple[str, str]:
    """How many patients have the diagnosis, by ward and age; and the same without the targets' days."""
    known = ", ".join(f"'{one.ward} {one.age} {one.day}'" for one in targets)
    seen = "ward || ' ' || CAST(age AS VARCHAR) || ' ' || CAST(day AS VARCHAR)"
    asked = "SELECT ward, age, count(DISTINCT patient_id) AS n FROM visits"
    asked += f" WHERE diagnosis = '{targets[0].suspected}'"
    return f"{asked} GROUP BY ward, age", f"{asked} AND {seen} NOT IN ({known}) GROUP BY ward, age"


def exact_counts(clinic: Clinic) -> Callable[[str], ExactCounts]:
    """Ask the data itself."""

    def ask(sql: str) -> ExactCounts:
        counts: defaultdict[tuple[str, int], float] = defaultdict(float)
        counts.update({(str(ward), int(str(age))): float(str(n)) for ward, age, n in clinic.exact(sql)})
        return counts

    return ask


def private_counts(curator: Curator, *, epsilon: float) -> Callable[[str], ExactCounts]:
    """Ask through discreet, at a price for each question."""

    def ask(sql: str) -> ExactCounts:
        released = curator.ask(sql, epsilon=epsilon).released
        rows = zip(*(released.values[name] for name in ("ward", "age", "n")), strict=True)
        return {(str(ward), int(str(age))): float(str(n)) for ward, age, n in rows}

    return ask
