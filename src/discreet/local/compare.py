"""What local privacy costs, before anyone chooses it.

The same ε, three kinds of trust: in nobody (local), in someone who only mixes the reports (shuffled), in a
curator who sees the answers (central). In all three one person's answer is replaced by another.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, comb, floor, inf, sqrt
from statistics import NormalDist
from typing import Literal, TypeAlias

from discreet.local.mechanisms import classic, subset
from discreet.local.mechanisms.choice import best_for_options, geometries
from discreet.local.mechanisms.classic import DirectResponse, LocalHashing, UnaryEncoding
from discreet.local.mechanisms.hadamard import HadamardResponse
from discreet.local.mechanisms.mechanism import Categorical
from discreet.local.mechanisms.randomness import RANGE
from discreet.local.mechanisms.subset import SubsetSelection
from discreet.local.mechanisms.thresholds import epsilon_in_range, keep_threshold, weight_of
from discreet.local.shuffle import local_for_shuffled
from discreet.model.exact import Number, positive_count, positive_delta
from discreet.model.neighbours import Neighbours
from discreet.model.sensitivity import Sensitivity
from discreet.noise.laplace import DiscreteLaplace

Trust: TypeAlias = Literal["local", "shuffled", "central"]

CONFIDENCE = Fraction(95, 100)
DAYS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareError:
    """How far the estimated share of one option may be off, with 95 % confidence; 0.01 is one point."""

    trust: Trust
    epsilon: Fraction
    """What each device spends; for central trust, what the curator does."""
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """A local mechanism for these options at this ε."""

    name: str
    size: int
    """Bytes a report."""
    variance: float
    """n times the mean squared error of a share, on average over the options."""
    chosen: bool
    """Whether a survey would take this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """The chance that an attacker, undecided at first, guesses a yes or no right after so many daily reports.

    This is also how sure the attacker is, on average, of the better guess.
    """

    day: int
    fresh: float
    """Each day's answer is randomised anew."""
    remembered: float
    """The first report is repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustComparison:
    people: int
    options: int
    epsilon: Fraction
    delta: Fraction
    """For shuffling only; local and central trust have none."""
    errors: tuple[ShareError, ...]
    rivals: tuple[Rival, ...]
    beliefs: tuple[Belief, ...]

    def error_of(self, trust: Trust) -> float:
        return next(row.error for row in self.errors if row.trust == trust)

    @property
    def people_for_central_error(self) -> float:
        """How many people a local survey needs for the error that a curator has with these."""
        central = self.error_of("central")
        return self.people * (self.error_of("local") / central) ** 2 if central else inf


def compare(*, people: int, options: int, epsilon: Number, delta: Number | None = None) -> TrustComparison:
    """δ is 1/(10 · people) by default."""
    count, exact = positive_count(people, "people"), epsilon_in_range(epsilon)
    tolerated = positive_delta(Fraction(1, 10 * count) if delta is None else delta)
    best = best_for_options(exact, options)
    mixed = local_for_shuffled(exact, people=count, delta=tolerated)
    errors = (
        ShareError(trust="local", epsilon=exact, error=_local_error(best, count)),
        ShareError(
            trust="shuffled", epsilon=mixed, error=_local_error(best_for_options(mixed, options), count)
        ),
        ShareError(trust="central", epsilon=exact, error=_central_error(exact, options, count)),
    )
    return TrustComparison(
        people=count,
        options=options,
        epsilon=exact,
        delta=tolerated,
        errors=errors,
        rivals=tuple(rivals(exact, options)),
        beliefs=tuple(beliefs(exact)),
    )


def _local_error(mechanism: Categorical, people: int) -> float:
    deviations = NormalDist().inv_cdf(0.5 + float(CONFIDENCE) / 2)
    return deviations * sqrt(mechanism.mean_variance / people)


def _central_error(epsilon: Fraction, options: int, people: int) -> float:
    """Discrete Laplace noise on the counts. For yes and no, one is enough: the number of people is public."""
    replaced = Neighbours.REPLACE_ONE
    moved = Sensitivity.scalar(1, replaced) if options == 2 else Sensitivity.histogram(replaced)
    return float(DiscreteLaplace.for_loss(epsilon, moved).interval(CONFIDENCE).high) / people


def rivals(epsilon: Fraction, options: int) -> Iterator[Rival]:
    """Every mechanism that can do it, the least error first, then the shortest report."""
    best = best_for_options(epsilon, options)
    mechanisms: list[Categorical] = [HadamardResponse.for_loss(epsilon, options)]
    mechanisms += sorted(geometries(epsilon, options), key=lambda m: (m.mean_variance, m.cells))[:1]
    if options <= classic.MOST_OPTIONS:
        kinds = (DirectResponse, UnaryEncoding, LocalHashing)
        mechanisms += [kind.for_loss(epsilon, options) for kind in kinds]
    found = [_subset(epsilon, options, chosen=isinstance(best, SubsetSelection))]
    found += [
        Rival(name=m.name, size=m.size, variance=m.mean_variance, chosen=m.name == best.name)
        for m in mechanisms
    ]
    yield from sorted(found, key=lambda rival: (rival.variance, rival.size))


def _subset(epsilon: Fraction, options: int, *, chosen: bool) -> Rival:
    """Subset selection; also for more options than its bitmap serves: what its error would be."""
    if options <= subset.MOST_OPTIONS:
        own = SubsetSelection.for_loss(epsilon, options)
        return Rival(name=own.name, size=own.size, variance=own.mean_variance, chosen=chosen)
    weight = float(weight_of(epsilon))
    held = max(1, floor(options / (weight + 1)))
    inside = held * weight / (held * weight + options - held)
    outside = (held - inside) / (options - 1)
    spread = inside * (1 - inside) / options + outside * (1 - outside) * (1 - 1 / options)
    variance = spread / (inside - outside) ** 2
    return Rival(name=SubsetSelection.name, size=ceil(options / 8), variance=variance, chosen=False)


def beliefs(epsilon: Fraction, days: int = DAYS) -> Iterator[Belief]:
    """The attacker guesses by the majority of the reports about a yes or no; a tie is a coin toss."""
    keep = Fraction(keep_threshold(epsilon, 1, 1), RANGE)
    for day in range(1, days + 1):
        yield Belief(day=day, fresh=float(_majority(keep, day)), remembered=float(keep))


def _majority(keep: Fraction, reports: int) -> Fraction:
    """The chance that more than half of the reports are true, plus half the chance of a tie."""
    chances = [
        comb(reports, true) * keep**true * (1 - keep) ** (reports - true)
        for true in range((reports + 1) // 2, reports + 1)
    ]
    tie = chances[0] if reports % 2 == 0 else Fraction(0)
    return sum(chances, Fraction(0)) - tie / 2
