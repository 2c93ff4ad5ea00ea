"""The client in JavaScript sends what the one in Python sends, remembers alike, and refuses alike."""

import hashlib
import json
from datetime import date, timedelta
from fractions import Fraction
from itertools import chain, cycle

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.local.batch import read_batch, write_batch
from discreet.local.client import Client, enrol
from discreet.local.mechanisms.hadamard import HadamardResponse
from discreet.local.mechanisms.number import NumberResponse
from discreet.local.mechanisms.projective import ProjectiveResponse, fits
from discreet.local.mechanisms.randomness import RANGE, Draws
from discreet.local.mechanisms.subset import SubsetSelection
from discreet.local.signing import sign
from discreet.local.survey import NumberBetween, OneOf, Survey, definition
from tests.local import node

PRIMES = (2, 3, 5, 7, 11, 13, 29, 101, 499, 1009, 5791)
CONFIGS = 300  # of each mechanism
LEVELS = 3  # of each config
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = KEY.public_key().public_bytes_raw().hex()
TOMORROW = date.today() + timedelta(days=1)


def test_what_browsers_load_is_small_and_made_of_the_source_as_it_is():
    assert node.SMALL.stat().st_size <= 5 * 1024
    made_of = hashlib.sha256(node.SOURCE.read_bytes()).hexdigest()
    assert made_of in node.SMALL.read_text().splitlines()[0], "run src/discreet/local/browser/make-small.sh"


def _epsilon(rng):
    return Fraction(int(10 ** rng.uniform(4, 7)), 10**6)


def _options(rng, most):
    return max(2, int(2 * (most / 2) ** rng.random()))


def _subset(rng):
    return SubsetSelection.for_loss(_epsilon(rng), _options(rng, 256))


def _projective(rng):
    prime = int(rng.choice(PRIMES))
    most = max(t for t in range(2, 26) if fits(prime, t))
    coordinates = int(rng.integers(2, most + 1))
    options = _options(rng, min((prime**coordinates - 1) // (prime - 1), 10**6))
    return ProjectiveResponse.for_loss(_epsilon(rng), options, prime=prime, coordinates=coordinates)


def _hadamard(rng):
    return HadamardResponse.for_loss(_epsilon(rng), _options(rng, 10**6))


def _number(rng):
    return NumberResponse.for_loss(_epsilon(rng), int(rng.choice([1, 2, 3, 7, 100, 4096, 4099, 65536])))


def _question(mechanism):
    """Only what randomising needs."""
    options = {} if isinstance(mechanism, NumberResponse) else {"options": mechanism.answers}
    return {
        "name": "q",
        "mechanism": mechanism.name,
        "lower": 0,
        "upper": 1,
        **options,
        **mechanism.parameters,
    }


def _entropy(mechanism, level, rng):
    """Random integers among ones on, just below and just above every threshold, and ones to draw again."""
    edges = [RANGE, 1, *(value for name, value in mechanism.parameters.items() if name in ("keep", "mix"))]
    if isinstance(mechanism, NumberResponse):
        edges.append(mechanism.low + level * mechanism.rise)
    near = [edge + shift for edge in edges for shift in (-1, 0, 1) if 0 <= edge + shift < RANGE]
    random = [int(drawn) for drawn in rng.integers(0, RANGE, 40)]
    mixed = [int(rng.choice(near)) if rng.random() < 0.4 else drawn for drawn in random]
    if isinstance(mechanism, NumberResponse) and rng.random() < 0.2:
        mixed[:3] = [0, RANGE - 1, level * mechanism.stride]  # outside the window, where that begins
    return [drawn.to_bytes(6, "little").hex() for drawn in [*mixed, random[0]]]


def _draws(entropy):
    stream = cycle(chain.from_iterable(bytes.fromhex(group) for group in entropy))
    return Draws(lambda count: bytes(next(stream) for _ in range(count)))


@pytest.mark.parametrize("module", [node.SMALL, node.SOURCE], ids=["small", "source"])
def test_reports_are_the_same_bytes_as_in_python_on_many_configs_and_entropies(module):
    rng = np.random.default_rng(5)
    cases, expected = [], []
    for make in (_subset, _projective, _hadamard, _number):
        for _ in range(CONFIGS):
            mechanism = make(rng)
            last = mechanism.answers - 1
            for level in (0, last, int(rng.integers(0, last + 1)))[:LEVELS]:
                entropy = _entropy(mechanism, level, rng)
                cases.append(
                    {
                        "call": "randomise",
                        "question": _question(mechanism),
                        "level": level,
                        "entropy": entropy,
                    }
                )
                expected.append(mechanism.randomise(level, _draws(entropy)).hex())
    assert len(cases) >= 1000
    assert node.values(cases, module=module) == expected


def test_answers_become_the_same_levels():
    rng = np.random.default_rng(6)
    cases, expected = [], []
    for _ in range(300):
        lower = float(rng.choice([0, -1, 1e-9, -273.15, 1e300, rng.normal()]))
        upper = lower + abs(lower) * 0.37 + float(rng.choice([1e-6, 0.1, 3, 24]))
        steps = int(rng.choice([1, 3, 10, 4096, 65535]))
        question = NumberBetween.ask("hours", "How many?", lower, upper, epsilon=1, steps=steps)
        halves = lower + (upper - lower) * (int(rng.integers(steps)) + 0.5) / steps
        for answer in (halves, rng.uniform(lower, upper), lower, upper, float("inf"), float("-inf"), 0):
            cases.append({"call": "level", "question": definition(question), "answer": _text(answer)})
            expected.append(question.level(float(answer)))
    assert node.values(cases) == expected


def _text(number):
    return "Infinity" if number == float("inf") else "-Infinity" if number == -float("inf") else str(number)


SMOKES = OneOf.ask("smokes", "Do you smoke?", ["no", "sometimes", "daily"], epsilon=1.1)
MOOD = OneOf.ask("mood", "How are you?", ["well", "so-so", "not well ☂"], epsilon=0.5, refresh="epoch")
TOWN = OneOf.ask("constructor", "Which town?", 10_000, epsilon=2)
STREET = OneOf(
    name="street",
    text="Which street?",
    options=3000,
    epsilon=Fraction(1),
    mechanism=HadamardResponse.for_loss(Fraction(1), 3000),
)
HOURS = NumberBetween.ask("hours", "Hours of sleep?", 0, 24, epsilon=0.7)
ANSWERS = {"smokes": "daily", "mood": "not well ☂", "constructor": 77, "street": 2999, "hours": 7.25}


def _survey(**changes):
    fields = {"name": "health", "epoch": 3, "expires": TOMORROW}
    return Survey(**(fields | {"questions": (SMOKES, MOOD, TOWN, STREET, HOURS)} | changes))


def _signed(text, *, key=KEY):
    """As `sign` does, also for texts that no survey would have."""
    signature = key.sign(b"discreet survey\n" + text.encode())
    return json.dumps({"survey": text, "key": PUBLIC, "signature": signature.hex()})


def _open(file, key=PUBLIC):
    return {"call": "open", "file": file, "key": key}


def _report(store, survey, answers, **more):
    return {
        "call": "report",
        "store": str(store),
        "file": sign(survey, KEY),
        "key": PUBLIC,
        "answers": answers,
        **more,
    }


def _enrol(store, limit):
    return {"call": "enrol", "store": str(store), "limit": limit}


def test_a_survey_is_opened_if_the_pinned_key_signed_it():
    survey = _survey()
    file = sign(survey, KEY)
    other = Ed25519PrivateKey.from_private_bytes(bytes(32))
    altered = json.dumps(json.loads(file) | {"survey": survey.text().replace("daily", "often")})
    assert node.values([_open(file)]) == [survey.digest.hex()]
    wrong = [
        _open(sign(survey, other)),
        _open(file, other.public_key().public_bytes_raw().hex()),
        _open(altered),
        _open(_signed("\ufffd").replace("\\ufffd", "\\ud800")),
    ]
    assert all("not signed by the key" in refusal for refusal in node.refusals(wrong))


def test_a_survey_that_ended_or_has_another_format_is_refused():
    ended = _survey(expires=date.today() - timedelta(days=2))
    future = _survey().text().replace('{"format":1', '{"format":2')
    of_ended, of_future = node.refusals([_open(sign(ended, KEY)), _open(_signed(future))])
    assert "has ended" in of_ended
    assert "unknown format" in of_future


def _changed(question, **changes):
    """A signed survey of one question, with some of its fields replaced."""
    content = json.loads(_survey(questions=(question,)).text())
    content["questions"][0] |= changes
    return _open(_signed(json.dumps(content, ensure_ascii=False, separators=(",", ":"))))


@pytest.mark.parametrize("question", [SMOKES, TOWN, STREET, HOURS], ids=lambda q: q.mechanism.name)
def test_a_survey_that_gives_away_more_than_it_says_is_refused(question):
    keep = question.mechanism.keep
    changes = [
        {"keep": keep + (RANGE - keep) // 100},
        {"keep": round(keep * 1.01)},
        {"keep": 2},
        {"epsilon": "0.45"},
    ]
    refusals = node.refusals([_changed(question, **change) for change in changes])
    assert all("more than its ε" in refusal for refusal in refusals)
    node.values([_changed(question)])


def test_the_ends_of_a_number_are_checked_too():
    mechanism = HOURS.mechanism
    changes = [{"rise": mechanism.rise * 101 // 100}, {"low": mechanism.low * 99 // 100}]
    refusals = node.refusals([_changed(HOURS, **change) for change in changes])
    assert all("more than its ε" in refusal for refusal in refusals)


IMPROPER = [
    (SMOKES, {"mechanism": "constructor"}),
    (SMOKES, {"mechanism": "telepathy"}),
    (SMOKES, {"keep": SMOKES.mechanism.keep - 0.5}),
    (SMOKES, {"keep": str(SMOKES.mechanism.keep)}),
    (SMOKES, {"chosen": 3}),
    (SMOKES, {"options": ["alone"]}),
    (SMOKES, {"options": 2.5}),
    (SMOKES, {"options": 257}),
    (SMOKES, {"epsilon": "17"}),
    (SMOKES, {"epsilon": "1.1000001"}),
    (SMOKES, {"epsilon": "0"}),
    (SMOKES, {"epsilon": "much"}),
    (TOWN, {"prime": 9}),
    (TOWN, {"coordinates": 1}),
    (TOWN, {"coordinates": 30}),
    (TOWN, {"options": 10**7}),
    (STREET, {"options": 2**27}),
    (HOURS, {"low": str(HOURS.mechanism.low)}),
    (HOURS, {"upper": 0}),
    (HOURS, {"steps": 2**17}),
    (HOURS, {"stride": 2**20}),
    (HOURS, {"rise": RANGE // 2}),
]


def test_questions_that_no_owner_could_write_are_refused():
    refusals = node.refusals([_changed(question, **changes) for question, changes in IMPROPER])
    assert [refusal for refusal in refusals if "not a proper one" not in refusal] == []


NO_ANSWERS = [
    {"smokes": "never"},
    {"smokes": 0},
    {"constructor": 10_000},
    {"constructor": -1},
    {"constructor": 1.5},
    {"constructor": "7"},
    {"hours": True},
    {"hours": None},
    {"weight": 70},
    {"toString": 1},
]


def test_what_is_no_answer_is_refused_and_costs_nothing(tmp_path):
    store = tmp_path / "memory"
    node.values([_enrol(store, 9)])
    node.refusals([_report(store, _survey(), answers | {"smokes": "no"} | answers) for answers in NO_ANSWERS])
    assert json.loads(store.read_text()) == {"limit": 9_000_000, "spent": 0, "reports": {}}


class _Kept:
    """A memory of a device in Python."""

    text = None

    def read(self):
        return self.text

    def replace(self, old, new):
        assert self.text == old
        self.text = new
        return True


def test_whole_batches_are_the_same_bytes_given_the_nonce(tmp_path):
    rng = np.random.default_rng(7)
    survey = _survey()
    cases, expected = [], []
    for number in range(20):
        entropy = [rng.bytes(6).hex() for _ in range(50)]
        store = tmp_path / str(number)
        backwards = dict(reversed(ANSWERS.items()))
        cases += [_enrol(store, 20), _report(store, survey, backwards, entropy=entropy)]
        kept = _Kept()
        enrol(kept, limit=20)
        expected.append(Client(kept, draws=_draws(entropy)).report(survey, ANSWERS))
    batches = [bytes.fromhex(batch) for batch in node.values(cases)[1::2]]
    for ours, theirs in zip(expected, batches, strict=True):
        read = read_batch(theirs, survey)
        assert ours[:17] == theirs[:17]
        assert ours[33:] == theirs[33:]
        assert theirs == write_batch(survey, _in(theirs, survey), nonce=read.nonce)
    assert len({batch[17:33] for batch in batches}) == len(batches)


def _in(batch, survey):
    """The reports in a batch, in the order in which they are there."""
    at = 33
    while at < len(batch):
        size = survey.questions[batch[at]].mechanism.size
        yield batch[at], batch[at + 1 : at + 1 + size]
        at += 1 + size


def test_a_report_is_repeated_whatever_the_answer_is_by_then(tmp_path):
    store, survey = tmp_path / "memory", _survey()
    others = ANSWERS | {"smokes": "no", "constructor": 4, "hours": 12, "mood": "well", "street": 0}
    cases = [_enrol(store, 6), _report(store, survey, ANSWERS), *[_report(store, survey, others)] * 5]
    _, *batches = node.values(cases)
    assert len(set(batches)) == 1
    kept = store.read_text()
    assert json.loads(kept)["spent"] == 5_300_000


def test_only_a_question_that_says_so_is_randomised_anew_in_a_new_epoch(tmp_path):
    store = tmp_path / "memory"
    entropies = [["000000000000"], ["ffffffffff7f", "010000000000"]]
    cases = [
        _report(store, _survey(epoch=epoch), {"smokes": "daily", "mood": "well"}, entropy=entropy)
        for epoch, entropy in enumerate(entropies, start=1)
    ]
    _, first, second, again = node.values([_enrol(store, 6), *cases, cases[0]])
    assert first[66:70] == second[66:70]
    assert first[70:] != second[70:]
    assert first == again
    assert first[34:66] != second[34:66], "each epoch counts"
    assert json.loads(store.read_text())["spent"] == 1_100_000 + 2 * 500_000


def test_beyond_its_limit_a_device_gives_away_nothing_more_but_repeats_what_it_said(tmp_path):
    store, survey = tmp_path / "memory", _survey()
    cases = [
        _enrol(store, 1.6),
        _enrol(store, 100),
        _report(store, survey, {"smokes": "no", "mood": "well"}),
        _report(store, survey, {"smokes": "no", "hours": 8}),
        _report(store, survey, {"smokes": "no", "mood": "well"}),
        {"call": "read", "store": str(store)},
    ]
    _, _, first, refused, again, memory = node.run(cases)
    assert "may not give away as much" in refused["refused"]
    assert first["value"] == again["value"]
    assert json.loads(memory["value"])["spent"] == 1_600_000


def test_a_device_without_its_memory_or_with_a_damaged_one_does_not_answer(tmp_path):
    damaged = ["", "{}", '{"limit":5', '{"limit":5,"spent":0}', "null", "7", '{"limit":5,"reports":{}}']
    for number, content in enumerate(damaged):
        (tmp_path / str(number)).write_text(content)
    stores = [tmp_path / str(number) for number in range(len(damaged))]
    cases = [_report(store, _survey(), {"smokes": "no"}) for store in [*stores, tmp_path / "none"]]
    assert all("does not answer" in refusal for refusal in node.refusals(cases))


def test_a_survey_that_ends_while_it_is_open_is_not_answered(tmp_path):
    store = tmp_path / "memory"
    late = _report(store, _survey(), {"smokes": "no"}, days_later=3)
    node.values([_enrol(store, 9)])
    assert "has ended" in node.refusals([late])[0]
    assert json.loads(store.read_text())["reports"] == {}


def test_a_limit_is_a_positive_number(tmp_path):
    cases = [_enrol(tmp_path / "memory", limit) for limit in (0, -1, 1001, "much")]
    assert all("from 0.000001 to 1000" in refusal for refusal in node.refusals(cases))


def test_many_at_once_randomise_once(tmp_path):
    """Two independent sets of 5 reports are the same with probability below 10⁻⁶: here, 20 are."""
    store, survey = tmp_path / "memory", _survey()
    at_once = _report(store, survey, ANSWERS) | {"call": "reports", "times": 20}
    _, batches = node.values([_enrol(store, 20), at_once])
    assert len(batches) == 20
    assert len({batch[66:] for batch in batches}) == 1


def test_while_another_process_holds_the_memory_nothing_is_sent(tmp_path):
    store = tmp_path / "memory"
    node.values([_enrol(store, 9)])
    (tmp_path / "memory.lock").touch()
    assert "Another process" in node.refusals([_report(store, _survey(), {"smokes": "no"})])[0]


def test_where_there_is_no_browser_its_store_refuses():
    case = _report("", _survey(), {"smokes": "no"}) | {"call": "browser"}
    assert "indexedDB" in node.refusals([case])[0]


def test_random_bytes_are_wiped_once_they_are_used():
    [pool] = node.values([{"call": "wiped", "count": 10}])
    assert pool == "00" * 60 + "ff" * (1536 - 60)


def test_without_node_the_tests_say_what_to_install(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(node.shutil, "which", lambda _: None)
    with pytest.raises(pytest.skip.Exception, match=node.INSTALL):
        node.run([])
