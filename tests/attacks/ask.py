"""A clinic with a secret in it, to ask as an attacker would. Answers are read here and nowhere else."""

import io
import logging
import math
import os
import traceback
from pathlib import Path

import duckdb

from discreet import DiscreetError, QueryRefused
from discreet.curator.open_policy import open_curator

CANARY = "CANARY-7f3a"
CANARY_ID = 987654321
BAD_LUCK = 14
"""Laplace noise exceeds 14 scales with probability e⁻¹⁴ < 10⁻⁶."""

POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = {{ epsilon = {epsilon}, delta = {delta} }}
{dataset}

[tables.visits]
source = "{source}"
person = "patient"
max_rows = 3
max_groups = 2

[tables.visits.columns.patient]
type = "integer"

[tables.visits.columns.cost]
bounds = [0, 100]
{cost}

[tables.visits.columns.age]
type = "integer"
bounds = [0, 119]

[tables.visits.columns.ward]
keys = ["north", "south", "attic"]
"""
COLUMNS = "patient, ward, cost, age, diagnosis"
ROWS = (
    "SELECT range % 400 AS patient, ['north', 'south'][1 + range % 2] AS ward, (range % 100)::DOUBLE AS cost,"
    " (range % 90)::INTEGER AS age, ['flu', 'cold'][1 + range % 2] AS diagnosis FROM range(1000)"
)
SECRET_ROW = f"SELECT {CANARY_ID}, 'attic', 61.0, 71, '{CANARY}'"
"""The only one in the attic, with a diagnosis of their own."""


# Reading answers.


def cell(answer, name, row=0):
    return float(answer.released.raw[name][row])


def low(answer, name, row=0):
    return float(answer.released.low[name][row])


def high(answer, name, row=0):
    return float(answer.released.high[name][row])


def keys(answer, name):
    return answer.released.values[name].tolist()


def columns(answer):
    return list(answer.released.columns)


def notes(answer):
    return list(answer.released.notes)


def kinds(answer):
    """What each column is made of: part of the answer's shape."""
    return {name: str(answer.released.values[name].dtype) for name in columns(answer)}


def stored_bytes(answer):
    """The answer as it is kept: two that are equal are equal to the byte."""
    return answer.released.encode()


def claimed_influence(answer, name, epsilon):
    """What one person may change at most by the answer's own account: the scale of its noise, times ε.

    For one count or sum at ε with Laplace noise: it is within ln 10⁶ scales at a confidence of 1 − 10⁻⁶, up
    to a step of its grid.
    """
    step = 1.0 if cell(answer, name).is_integer() else 0.0
    return (high(answer, name) - cell(answer, name) + step) * epsilon / math.log(1e6)


# Asking.


class Clinic:
    """A policy, its data and its ledger in a folder; all that an attacker gets to see of it is kept."""

    def __init__(self, folder, *, epsilon=900, delta=0, rows=None, dataset="", cost="", form="parquet"):
        self.folder = Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.policy = self.folder / "clinic.toml"
        self.seen = io.StringIO()
        self._opened = {}
        source = f"visits.{form}"
        self.policy.write_text(
            POLICY.format(epsilon=epsilon, delta=delta, source=source, dataset=dataset, cost=cost)
        )
        rows = f"{ROWS} UNION ALL {SECRET_ROW}" if rows is None else rows
        duckdb.sql(f"COPY (SELECT * FROM ({rows}) AS rows({COLUMNS})) TO '{self.folder / source}'")

    def opened(self, analyst="mallory"):
        """A curator of this analyst that is open already, unless policy, files or process are others."""
        files = [each for each in self.folder.iterdir() if "ledger" not in each.name]
        stamps = frozenset((str(each), each.stat().st_mtime_ns) for each in files)
        now = analyst, self.policy.read_text(), stamps, os.getpid()
        if now not in self._opened:
            self._opened[now] = self.open(analyst)
        return self._opened[now]

    def close(self):
        """Close all curators that were kept open."""
        for curator in self._opened.values():
            curator.close()
        self._opened.clear()

    def open(self, analyst="mallory"):
        return open_curator(self.policy, analyst=analyst)

    def ask(self, sql, *, analyst="mallory", **price):
        """The answer; an error of ours is kept, to the last frame and local, and raised again."""
        try:
            answer = self.opened(analyst).ask(sql, **(price or {"epsilon": 1}))
        except DiscreetError as error:
            self.see_error(error)
            raise
        self.see(answer, columns(answer), kinds(answer), stored_bytes(answer))
        return answer

    def ask_or_be_refused(self, sql, **price):
        """The answer, or None if there is none; any other error is a failure."""
        try:
            return self.ask(sql, **price)
        except QueryRefused:
            return None

    def spent(self):
        return self.opened().budget().spent

    def see(self, *things):
        for thing in things:
            self.seen.write(f"{thing}\n{thing!r}\n")

    def see_error(self, error):
        self.see(error, error.args, getattr(error, "__notes__", ""))
        self.seen.write("".join(traceback.format_exception(error)))
        in_frames = {}  # each thing once, however many frames have it: questions are large trees
        while error is not None:  # also what a traceback would not print, and a crash reporter would
            self.see(error)
            for frame, _ in traceback.walk_tb(error.__traceback__):
                in_frames |= {id(value): value for value in frame.f_locals.values()}
            error = error.__cause__ or error.__context__
        self.seen.writelines(_shown(value) for value in in_frames.values())

    def leaks(self):
        """What an attacker saw, or finds in the ledger's files, and must not."""
        found = [self.seen.getvalue()]
        files = [path for path in self.folder.glob("clinic.ledger*") if path.is_file()]
        found += [path.read_bytes().decode("latin-1") for path in files]
        text = "\n".join(found).casefold()
        return [secret for secret in (CANARY.casefold(), str(CANARY_ID)) if secret in text]


def _shown(value):
    try:
        return f"{value!r}\n"
    except Exception:  # half-made objects, and trees too deep to be shown
        return "\n"


def watch(clinic, capfd):
    """While this generator waits, all log records and all that is printed count as seen."""
    root = logging.getLogger()
    level, handler = root.level, logging.StreamHandler(clinic.seen)
    handler.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield clinic
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    clinic.see(*capfd.readouterr())


def influence(folder, person, sql, *, epsilon=50.0):
    """How far one person moves the answer `n`, and how far the answer itself says that they may.

    `person` is a SELECT of that person's rows. Both are None if the question is refused, which has to be so
    on both sides: a refusal that depends on a row would tell of it.
    """
    answers = []
    for name, rows in (("without", ROWS), ("with", f"{ROWS} UNION ALL {person}")):
        clinic = Clinic(Path(folder) / name, rows=rows, dataset="left_out_share = 0")  # all of ε is for n
        answers.append(clinic.ask_or_be_refused(sql, epsilon=epsilon, confidence=1 - 1e-6))
        assert clinic.leaks() == []
    without, with_person = answers
    assert (without is None) == (with_person is None)
    if without is None or "n" not in without.released.raw:  # no error is stated, so that none is claimed
        return None, None
    claims = [claimed_influence(answer, "n", epsilon) for answer in answers]
    assert claims[0] == claims[1] or abs(claims[0] / claims[1] - 1) < 1e-6
    return abs(cell(with_person, "n") - cell(without, "n")), claims[0]
