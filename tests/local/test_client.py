"""A device: one report a question, remembered before it leaves; a limit for ever; no memory, no answer."""

import json
import multiprocessing
from datetime import date
from fractions import Fraction

import pytest

from discreet.errors import BudgetExceeded, InvalidInput
from discreet.local.batch import HEADER, OtherSurvey, read_batch, write_batch
from discreet.local.client import Client, enrol
from discreet.local.device_store import FileStore
from discreet.local.survey import NumberBetween, OneOf, Survey

TODAY = date(2029, 12, 31)


def survey(epoch=1, epsilon=1):
    return Survey(
        name="health",
        epoch=epoch,
        expires=date(2030, 1, 1),
        questions=(
            OneOf.ask("town", "Where do you live?", 10_000, epsilon=epsilon),
            OneOf.ask("mood", "How are you?", 10_000, epsilon=0.5, refresh="epoch"),
            NumberBetween.ask("sleep", "How long do you sleep?", 0, 24, epsilon=2),
        ),
    )


@pytest.fixture
def store(tmp_path):
    kept = FileStore(tmp_path / "memory.json")
    enrol(kept, limit=10)
    return kept


def report(store, asked, **answers):
    return Client(store).report(asked, answers, today=TODAY)


def test_the_first_report_stands_whatever_the_answer_is_by_then(store):
    """Two of 29,524 points would be the same by chance once in as many times, and numbers more rarely."""
    first = report(store, survey(), town=17, sleep=7)
    assert all(report(store, survey(), town=town, sleep=23) == first for town in range(5))
    assert Client(store).spent == 3


def test_what_changes_is_asked_anew_each_epoch_and_paid_for(store):
    """False alarm: two independent reports of 29,524 points are the same, 5e-5 at most; all three, 1e-13."""
    moods = [report(store, survey(epoch), mood=5)[HEADER:] for epoch in range(1, 5)]
    towns = {report(store, survey(epoch), town=5)[HEADER:] for epoch in range(1, 5)}
    assert len(set(moods)) > 1
    assert len(towns) == 1
    assert Client(store).spent == Fraction(4, 2) + 1


def test_another_threshold_makes_another_question(store):
    report(store, survey(), town=1)
    report(store, survey(epsilon=1.5), town=1)
    assert Client(store).spent == Fraction(5, 2)


def test_beyond_its_limit_nothing_leaves_and_nothing_is_kept(tmp_path):
    store = FileStore(tmp_path / "memory.json")
    enrol(store, limit=2.5)
    first = report(store, survey(), sleep=3)
    before = store.read()
    with pytest.raises(BudgetExceeded, match=r"may give away 0\.5 more"):
        report(store, survey(), town=1)
    assert store.read() == before
    assert report(store, survey(), sleep=4) == first
    report(store, survey(), mood=1)
    assert Client(store).spent == Fraction(5, 2)


def test_enrolling_again_changes_nothing(store):
    report(store, survey(), town=1)
    before = store.read()
    enrol(store, limit=1000)
    assert store.read() == before


@pytest.mark.parametrize(
    "memory",
    [None, "", "{}", "null", '{"limit":1', '{"limit":1,"spent":"0","reports":{}}', '{"limit":5,"spent":0}'],
)
def test_without_a_sound_memory_a_device_does_not_answer(tmp_path, memory):
    store = FileStore(tmp_path / "memory.json")
    if memory is not None:
        (tmp_path / "memory.json").write_text(memory)
    with pytest.raises(InvalidInput, match="does not answer"):
        report(store, survey(), town=1)


def test_no_answer_is_kept(store):
    report(store, survey(), town=4321, sleep=7.25)
    memory = json.loads(store.read())
    assert set(memory) == {"limit", "spent", "reports"}
    assert "4321" not in str(list(memory["reports"].values()))
    assert "7.25" not in store.read()


def test_the_memory_is_written_before_the_report_leaves():
    class Full:
        text = '{"limit":9000000,"spent":0,"reports":{}}'

        def read(self):
            return self.text

        def replace(self, _old, _new):
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        report(Full(), survey(), town=1)


def test_bad_answers_leave_no_trace(store):
    before = store.read()
    for answers in ({"town": 1, "nothing": 2}, {"town": 10_000}, {"town": 1, "sleep": "long"}):
        with pytest.raises(InvalidInput):
            report(store, survey(), **answers)
    assert store.read() == before


def test_after_its_last_day_a_survey_is_not_answered(store):
    assert Client(store).report(survey(), {"town": 1}, today=date(2030, 1, 1))
    with pytest.raises(InvalidInput, match="has ended"):
        Client(store).report(survey(), {"town": 1}, today=date(2030, 1, 2))


def _answer_in_a_process(path, start, results):
    start.wait()
    results.put(report(FileStore(path), survey(), town=1, mood=2, sleep=3))


def test_processes_of_one_device_agree_on_one_report(tmp_path):
    """Eight that start at once. Independent reports would agree with probability below 1e-9."""
    path = tmp_path / "memory.json"
    enrol(FileStore(path), limit=10)
    context = multiprocessing.get_context("spawn")
    start, results = context.Event(), context.Queue()
    workers = [context.Process(target=_answer_in_a_process, args=(path, start, results)) for _ in range(8)]
    for worker in workers:
        worker.start()
    start.set()
    found = {results.get(timeout=60) for _ in workers}
    for worker in workers:
        worker.join()
    assert len(found) == 1
    assert Client(FileStore(path)).spent == Fraction(7, 2)


def test_a_batch_is_what_was_written():
    asked = survey()
    reports = [(0, b"\x01\x02"), (2, b"\x00\x00\x00"), (0, b"\x03\x04")]
    batch = read_batch(write_batch(asked, reports, nonce=bytes(16)), asked)
    assert batch.nonce == bytes(16)
    assert {place: found.tolist() for place, found in batch.reports.items()} == {
        0: [[1, 2], [3, 4]],
        2: [[0, 0, 0]],
    }


def test_batches_of_another_survey_or_cut_short_are_refused():
    asked = survey()
    batch = write_batch(asked, [(0, b"\x01\x02")])
    with pytest.raises(OtherSurvey):
        read_batch(batch, survey(epoch=2))
    for wrong in (b"", batch[:-1], batch + b"\x07", batch + b"\x03\x00", b"\x02" + batch[1:], batch[:20]):
        with pytest.raises(InvalidInput):
            read_batch(wrong, asked)
