"""The tutorial that trains models: what it says to type is typed, in order.

What does not depend on noise comes out as shown. Numbers with a stated error are within ten errors of those
shown: each error is about two standard deviations, so that a difference is beyond this with probability below
10⁻²⁰. The scores on a synthetic table, the prediction and the probability have no stated error; what is
allowed is more than ten of the standard deviations that they had in 8 runs (0.009, $0.10 and 0.2 %): below
10⁻²⁰ for anything like a normal law.
"""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/tutorial/train-a-model.md"
BLOCKS = re.findall(r"^```(python|toml|text)\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
NUMBER = r"[−-]?[\d,]+(?:\.\d+)?(?:e[+−-]?\d+)?"
ERROR = re.compile(rf" ± {NUMBER}| \({NUMBER} … {NUMBER}\)")
MEASURED = re.compile(rf"({NUMBER}) (?:± ({NUMBER})|\(({NUMBER}) … ({NUMBER})\))")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, value in {"COLUMNS": "88", "LOGNAME": "ann", "USER": "ann"}.items():
        monkeypatch.setenv(name, value)
    return tmp_path


def test_the_tutorial_runs_as_shown(folder, capsys):
    names, comparisons = {}, iter(COMPARISONS)
    for kind, text in BLOCKS:
        if kind == "toml":
            (folder / "discreet.toml").write_text(text)
        elif kind == "python":
            capsys.readouterr()
            exec(text, names)  # noqa: S102
        else:
            found = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
            next(comparisons)(found, text.splitlines())
    assert next(comparisons, None) is None
    assert (folder / "curve.svg").read_text().startswith("<svg ")
    again = names["curator"].fit(names["LogisticRegression"](), names["well_paid"], epsilon=1)
    assert again.repeated
    assert (again[-1].coef_ == names["model"][-1].coef_).all()


def alike(found, shown):
    assert found == shown


def curves(found, shown):
    """Where noise is small, the score; elsewhere that there is one."""
    assert len(found) == len(shown)
    assert found[0] == shown[0]
    for mine, other in zip(found[1:7], shown[1:7], strict=True):
        (epsilon, score, worst, best), (same, expected, *_) = numbers(mine), numbers(other)
        assert epsilon == same
        assert worst <= score <= best
        assert abs(score - expected) < 0.1 or epsilon < 0.3
    assert numbers(found[7])[0] == pytest.approx(numbers(shown[7])[0], abs=0.1)
    assert found[8] == shown[8]
    assert without_numbers(found[9]) == without_numbers(shown[9])


def coefficients(found, shown):
    assert (found[0], found[-1]) == (shown[0], shown[-1])
    assert found[1].startswith("intercept")
    assert found[-2] == shown[-2]
    within_errors(found[2:-2], shown[2:-2])


def within_errors(found, shown):
    """Names are as shown; each number with an error is within ten errors."""
    for mine, other in zip(found, shown, strict=True):
        assert without_numbers(ERROR.sub("", mine)).split() == without_numbers(ERROR.sub("", other)).split()
        pairs, same = with_errors(mine), with_errors(other)
        assert pairs
        for (value, error), (expected, stated) in zip(pairs, same, strict=True):
            assert stated / 2.5 <= error <= 2.5 * stated
            assert abs(value - expected) <= 10 * max(error, stated)


def side_by_side(found, shown):
    assert found[0] == shown[0]
    within_errors(found[1:], shown[1:])
    assert [line.split()[-1] for line in found] == [line.split()[-1] for line in shown]


def dollars(found, shown):
    assert numbers(found[0])[0] == pytest.approx(numbers(shown[0])[0], abs=1.5)


def answer(found, shown):
    assert found[0].split() == shown[0].split()
    within_errors(found[1:2], shown[1:2])
    assert found[2] == shown[2]
    assert [*map(without_numbers, found[3:])] == [*map(without_numbers, shown[3:])]


def answer_and_chance(found, shown):
    answer(found[:-1], shown[:-1])
    assert without_numbers(found[-1]) == without_numbers(shown[-1])
    assert numbers(found[-1])[0] == pytest.approx(numbers(shown[-1])[0], abs=3)


COMPARISONS = [alike, curves, coefficients, dollars, side_by_side, answer, answer_and_chance]


def numbers(line):
    return [plain(number) for number in re.findall(NUMBER, line)]


def with_errors(line):
    """Each number and its error: the longer side of an interval that is not written with ±."""
    return [
        (plain(value), plain(error) if error else max(plain(value) - plain(low), plain(high) - plain(value)))
        for value, error, low, high in MEASURED.findall(line)
    ]


def plain(number):
    return float(number.replace(",", "").replace("−", "-"))


def without_numbers(line):
    return re.sub(NUMBER, "#", line)
