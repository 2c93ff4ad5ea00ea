"""A guided tour on the terminal, in seconds, on data that is made up on the spot."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.panel import Panel

from discreet.accounting.filters import PureFilter
from discreet.errors import BudgetExceeded
from discreet.model.neighbours import Neighbours
from discreet.model.sensitivity import ScoreSensitivity, Sensitivity
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.randomized_response import RandomizedResponse
from discreet.noise.selection import PermuteAndFlip

ADD_REMOVE = Neighbours.ADD_REMOVE
NAMES = 10_000


def run_demo() -> None:
    """Five short scenes; every number is computed while you watch."""
    console = Console(width=88, highlight=False)
    console.print(Panel("[bold]discreet[/]: learn from data about people, not about any one of them"))
    generator = np.random.default_rng()  # makes up the data; the noise has its own generator
    _attack(console, generator)
    names = _made_up_names(generator)
    _histogram(console, names)
    _selection(console, names)
    _survey(console, generator)
    _budget(console)
    console.print("\nCheck every claim on your own machine (about a minute):  [bold]discreet audit[/]")
    console.print("[dim]After make, discreet is in .venv/bin:  . .venv/bin/activate[/]")


def _attack(console: Console, generator: np.random.Generator) -> None:
    _title(console, "1. Two harmless counts, one diagnosis")
    diagnoses = generator.random(1_000) < 0.1
    everyone, others = int(diagnoses.sum()), int(diagnoses[1:].sum())
    console.print(
        f"How many of 1,000 patients have the diagnosis?  {everyone}\n"
        f"And how many outside bed 1?                     {others}\n"
        f"So the patient in bed 1 [red]{'has' if everyone > others else 'does not have'} it[/]."
    )
    epsilon, rounds = 0.5, 20_000
    mechanism = DiscreteLaplace.for_loss(epsilon / 2, Sensitivity.scalar(1, ADD_REMOVE))
    secrets = generator.integers(0, 2, rounds)
    rest = np.full(rounds, others)
    guesses = mechanism.release(rest + secrets) - mechanism.release(rest) >= 1
    right = float((guesses == secrets).mean())
    ceiling = math.exp(epsilon) / (1 + math.exp(epsilon))
    console.print(
        f"With noise of ±{mechanism.interval(0.95).high} on each (95 %), ε = {epsilon} for both, the same"
        f" attack on {rounds:,}\nmade-up patients is right [bold]{right:.1%}[/] of the time. A coin is right"
        f" 50 %; by the mathematics,\nno attack at all exceeds {ceiling:.1%}."
    )


def _made_up_names(generator: np.random.Generator) -> NDArray[np.int64]:
    """How many people have each of 10,000 first names: few names are common, most are rare."""
    ranks = np.arange(1, NAMES + 1)
    return np.asarray(generator.poisson(2_000_000 / ranks / np.log(NAMES)), dtype=np.int64)


def _histogram(console: Console, names: NDArray[np.int64]) -> None:
    _title(console, "2. Ten thousand counts for the price of one")
    sensitivity = Sensitivity.histogram(ADD_REMOVE)
    mechanism = DiscreteLaplace.for_loss(1, sensitivity)
    promised = mechanism.interval(0.95, values=NAMES).high
    noisy = mechanism.release(names)
    console.print(
        f"How many of two million people have each of {NAMES:,} first names, at ε = 1?\n"
        f"Promised before: every count within ±{promised}, at 95 %."
        f"  The worst is off by {np.abs(noisy - names).max()}.\n"
    )
    for rank in (0, 9, 99, 999, 9_999):
        bar = "█" * max(1, round(30 * math.log1p(names[rank]) / math.log1p(names[0])))
        console.print(f"  name {rank + 1:>6,}  {noisy[rank]:>8,} ± {promised}  [blue]{bar}[/]")


def _selection(console: Console, names: NDArray[np.int64]) -> None:
    _title(console, "3. Only which one, and nothing else")
    mechanism = PermuteAndFlip.for_loss(Fraction(1, 100), ScoreSensitivity.counts(ADD_REMOVE))
    pick = mechanism.release(names)
    below = int(-mechanism.interval(0.95, candidates=NAMES).low)
    console.print(
        f"The most common name, at ε = 0.01: [bold]name {pick + 1:,}[/],"
        f" within {below:,} people of the best at 95 %."
    )


def _survey(console: Console, generator: np.random.Generator) -> None:
    _title(console, "4. People who trust nobody")
    people = 10_000
    mechanism = RandomizedResponse(categories=2, keep=Fraction(3, 4))
    truths = (generator.random(people) < 0.2).astype(np.int64)
    said_yes = int(mechanism.release(truths).sum())
    estimate = mechanism.estimate([people - said_yes, said_yes])[1]
    interval = mechanism.interval(said_yes, people, 0.95)
    console.print(
        f"{people:,} people toss a coin before they answer (ε = {float(mechanism.loss().epsilon):.3f} each);"
        f" {said_yes:,} say yes.\nEstimated: {estimate:,.0f} would"
        f" ({int(interval.low):,} to {int(interval.high):,} at 95 %). In truth: {int(truths.sum()):,}."
    )


def _budget(console: Console) -> None:
    _title(console, "5. A budget that cannot be overdrawn")
    mechanism = DiscreteLaplace.for_loss(0.3, Sensitivity.scalar(1, ADD_REMOVE))
    budget = PureFilter(epsilon=Fraction(1))
    for question in range(1, 5):
        try:
            budget = budget.spend(mechanism.loss(Sensitivity.scalar(1, ADD_REMOVE)))
        except BudgetExceeded as refusal:
            console.print(f"  question {question}  [red]refused[/]  {refusal.problem}")
        else:
            spent = float(budget.spent.epsilon)
            bar = "█" * round(30 * spent)
            console.print(f"  question {question}  [blue]{bar:30}[/]  ε = {spent:.1f} of 1 spent")


def _title(console: Console, text: str) -> None:
    console.print()
    console.rule(f"[bold]{text}", align="left", style="dim")
