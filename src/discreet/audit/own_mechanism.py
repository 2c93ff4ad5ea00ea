"""Audit a mechanism of your own: a callable and two neighbouring inputs.

Half of the runs look for the event that tells the two inputs apart best; the other half, which that
choice has not seen, bounds its probabilities. So a bound above the claim is proof, up to one false alarm
in a million, that the claim is wrong. A bound below it proves nothing: no finite number of runs can.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.audit.statistics import epsilon_lower_bound
from discreet.model.exact import Number, positive_epsilon, whole, within

Input = TypeVar("Input")
OutcomeCounts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAudit:
    """What the runs prove: ε is at least this, because of this event."""

    claimed_epsilon: Fraction
    delta: Fraction
    epsilon_at_least: float
    event: str
    runs: int

    @property
    def holds(self) -> bool:
        """False when the claim is disproved."""
        return self.epsilon_at_least <= self.claimed_epsilon


def audit_mechanism(
    mechanism: Callable[[Input], object],
    first: Input,
    second: Input,
    *,
    epsilon: Number,
    delta: Number = 0,
    runs: int = 20_000,
    advance: Callable[[], object] = lambda: None,
) -> OwnAudit:
    """Run the mechanism on two neighbouring inputs and bound its ε from below.

    Outputs may be numbers, or anything that prints differently when it differs. `advance` is called
    after each run, for a progress bar.
    """
    claimed = positive_epsilon(epsilon)
    slack = within(delta, "delta", Fraction(0), Fraction(1))
    half = whole(runs, "runs", 200, 10**9) // 2
    outputs = []
    for data in (first, second):
        for _ in range(2 * half):
            outputs.append(mechanism(data))
            advance()
    labels, codes, ordered = _encode(outputs)
    quarters = codes.reshape(2, 2, half)  # input, half, run
    counts = np.array([[np.bincount(q, minlength=len(labels)) for q in side] for side in quarters])
    best = (0.0, "none that happens often enough")
    for one, other, name in ((0, 1, "first"), (1, 0, "second")):
        words, event = _most_telling(labels, counts[one, 0], counts[other, 0], float(slack), ordered=ordered)
        happened = int(counts[one, 1][event].sum()), int(counts[other, 1][event].sum())
        bound = epsilon_lower_bound(*happened, samples=half, delta=float(slack))
        best = max(best, (bound, f"{words}, likelier on the {name} input"))
    return OwnAudit(
        claimed_epsilon=claimed, delta=slack, epsilon_at_least=best[0], event=best[1], runs=2 * half
    )


def _encode(outputs: Sequence[object]) -> tuple[list[str], NDArray[np.int64], bool]:
    """Distinct outputs as 0, 1, 2, …, in order if they are numbers, else by what they print as."""
    ordered = all(isinstance(x, int | float | np.number) and x == x for x in outputs)  # no NaN
    if ordered:
        exact = [_number(x) for x in outputs]
        values = sorted(set(exact))
        place = {value: i for i, value in enumerate(values)}
        labels = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in values]
        return labels, np.array([place[x] for x in exact]), True
    texts, codes = np.unique(np.array([_text(x) for x in outputs]), return_inverse=True)
    return [str(text) for text in texts], codes, False


def _number(output: object) -> int | float:
    """As exact as it came: two outputs that differ must not become one."""
    exact: int | float = output.item() if isinstance(output, np.number) else output  # type: ignore[assignment]
    return exact


def _text(output: object) -> str:
    """What it prints as, in full: the repr of a long array is cut short."""
    return repr(output.tolist() if isinstance(output, np.ndarray) else output)


def _most_telling(
    labels: list[str], one: OutcomeCounts, other: OutcomeCounts, delta: float, *, ordered: bool
) -> tuple[str, NDArray[np.bool_]]:
    """The output, or the range of outputs, with about the largest bound on the runs for choosing."""
    positions = np.arange(len(labels))
    families = [("=", one, other)]
    if ordered:
        families.append(("≤", one.cumsum(), other.cumsum()))
        families.append(("≥", one[::-1].cumsum()[::-1], other[::-1].cumsum()[::-1]))
    _, sign, place = max(
        (float(guess.max()), sign, int(guess.argmax()))
        for sign, here, there in families
        for guess in [_rough_bound(here, there, int(one.sum()), delta)]
    )
    event = {"=": positions == place, "≤": positions <= place, "≥": positions >= place}[sign]
    return f"output {sign} {labels[place]}", event


def _rough_bound(first: OutcomeCounts, second: OutcomeCounts, runs: int, delta: float) -> NDArray[np.float64]:
    """About what `epsilon_lower_bound` would give, for many events at once."""
    low = first - 5 * np.sqrt(first) - delta * runs
    high = second + 5 * np.sqrt(second) + 15
    return np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), -np.inf)
