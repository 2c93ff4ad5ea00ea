"""What an ε means for a person, and which ε to choose: on the terminal, as JSON, and as a drawing."""

import math
import sys
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from pathlib import Path

from rich.console import Console

from discreet.accounting.meaning import (
    amount,
    attack_ceiling,
    epsilon_for_posterior,
    epsilon_for_reward,
    extra_harm,
    posterior_ceiling,
    posterior_floor,
    probability,
)
from discreet.accounting.odds import odds_limit, rare_chance
from discreet.answers.wording import one_case_in
from discreet.apps.views.escape import write_json
from discreet.apps.views.plot import PlottedCurve, braille, svg
from discreet.errors import InvalidInput
from discreet.model.exact import decimal_context, ln_bounds, positive_count, positive_delta, short, within
from discreet.model.privacy import ApproximateLoss, PureLoss

_LARGEST = Fraction(1000)
_SHOWN_DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked for; one of epsilon, posterior and reward is given."""

    epsilon: float | None
    posterior: float | None
    reward: float | None
    harm: float | None
    prior: float
    household: int
    delta: float | None
    people: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """All that an ε promises to one person, or to a household together."""

    epsilon: Fraction
    delta: Fraction
    prior: Fraction
    household: int
    together: PureLoss | ApproximateLoss
    """The loss of the household."""
    rises_to: Fraction
    falls_to: Fraction
    chance: Fraction
    """With at most this probability a suspicion rises, or falls, further; 0 without a δ."""
    value_rises_to: Fraction
    """What their rows say, where neighbours add or remove a person: to replace is to remove and add."""
    value_chance: Fraction
    attack: Fraction
    harm: Fraction | None
    extra_harm: Fraction | None
    people: int | None


def choose(wish: Wish, *, plot: Path | None, output: str) -> None:
    """Show the ε of a wish and what it means, and write the drawing if one is asked for."""
    found = meaning(wish)
    if plot is not None:
        _write(plot, svg(_curves(found), title=_title(found), across="suspicion before", up="at most after"))
    if output == "json":
        write_json(_as_json(found))
        return
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 100)
    _show(console, wish, found)
    if plot is not None:
        console.print(f"\nWrote {plot}.", markup=False)


def meaning(wish: Wish) -> Meaning:
    """The ε that was given or follows from the wish, and all that it promises."""
    household = positive_count(wish.household, "household")
    epsilon = within(_epsilon(wish), "epsilon", Fraction(1, 10**12), _LARGEST)
    delta = Fraction(0) if wish.delta is None else positive_delta(wish.delta)
    prior = probability(wish.prior, "prior")
    together = _loss(epsilon, delta).for_group(household)
    if together.epsilon > _LARGEST:
        raise InvalidInput(
            f"For {household:,} people together that is ε = {short(together.epsilon)}: it promises nothing.",
            remedy="Choose a smaller ε or household.",
        )
    harm = None if wish.harm is None else amount(wish.harm, "harm")
    replaced = together.for_group(2)
    rises_to, falls_to = _belief(together, prior)
    return Meaning(
        epsilon=epsilon,
        delta=delta,
        prior=prior,
        household=household,
        together=together,
        rises_to=rises_to,
        falls_to=falls_to,
        chance=rare_chance(together.delta),
        value_rises_to=_belief(replaced, prior)[0],
        value_chance=rare_chance(replaced.delta),
        attack=attack_ceiling(together.epsilon, _below_one(together.delta)),
        harm=harm,
        extra_harm=None if harm is None else extra_harm(together.epsilon, harm),
        people=None if wish.people is None else positive_count(wish.people, "people"),
    )


def _loss(epsilon: Fraction, delta: Fraction) -> PureLoss | ApproximateLoss:
    return ApproximateLoss(epsilon=epsilon, delta=delta) if delta else PureLoss(epsilon=epsilon)


def _belief(loss: PureLoss | ApproximateLoss, prior: Fraction) -> tuple[Fraction, Fraction]:
    """The most that a suspicion rises to, and the least that it falls to, but for rare cases."""
    limit = odds_limit(loss, rare_chance(loss.delta))
    if limit is None:
        return Fraction(1), Fraction(0)
    return posterior_ceiling(limit, prior), posterior_floor(limit, prior)


def _epsilon(wish: Wish) -> Fraction:
    """The ε given, or the largest that fulfils the wish, rounded down to the digits that are shown."""
    if wish.epsilon is not None:
        return within(wish.epsilon, "epsilon", Fraction(1, 10**12), _LARGEST)
    if wish.posterior is not None:
        exact = epsilon_for_posterior(wish.posterior, wish.prior, household=wish.household)
        exact -= _for_delta(wish, exact)
    elif wish.reward is not None and wish.harm is not None:
        exact = epsilon_for_reward(wish.reward, wish.harm, household=wish.household)
    else:
        raise InvalidInput(
            "There is nothing to choose from.",
            remedy="Give --epsilon, or --posterior, or --reward with --harm.",
        )
    context = decimal_context(_SHOWN_DIGITS, ROUND_FLOOR)
    return Fraction(context.divide(Decimal(exact.numerator), Decimal(exact.denominator)))


def _for_delta(wish: Wish, epsilon: Fraction) -> Fraction:
    """What a δ takes off the ε that keeps a suspicion where it should be, but for rare cases."""
    if wish.delta is None:
        return Fraction(0)
    household = positive_count(wish.household, "household")
    delta = ApproximateLoss(epsilon=epsilon, delta=positive_delta(wish.delta)).for_group(household).delta
    taken = Fraction(1) if delta >= 1 else -ln_bounds(1 - delta / rare_chance(delta), 30)[0] / household
    if taken >= epsilon:
        raise InvalidInput(
            "With this δ no ε keeps a suspicion so low.", remedy="Choose a smaller δ, or let it rise more."
        )
    return taken


def _below_one(delta: Fraction) -> Fraction:
    return min(delta, 1 - Fraction(1, 10**15))


def _show(console: Console, wish: Wish, found: Meaning) -> None:
    if wish.epsilon is None:
        console.print(f"Choose [bold]{_title(found)}[/] or less.\n")
    else:
        console.print(f"What [bold]{_title(found)}[/] means\n")
    for line in _promises(found):
        console.print(f"  {line}")
    if found.delta or found.people:
        console.print()
        for line in _about_delta(found):
            console.print(f"  {line}")
    console.print()
    _draw(console, found)


def _promises(found: Meaning) -> list[str]:
    one = found.household == 1
    whom = "a person is" if one else f"a household of {found.household} is"
    top, bottom, value = _up_to(found.rises_to), _down_to(found.falls_to), _up_to(found.value_rises_to)
    lines = []
    if not one:
        together = _up(found.together.epsilon)
        lines.append(
            f"For {found.household} together: ε = {found.household} × {short(found.epsilon)} = {together}."
        )
    lines += [
        f"A suspicion of {_up_to(found.prior)} that {whom} in the data",
        f"  can rise to [bold]{top}[/] at most, and fall to {bottom} at least: by all that is",
        "  ever released at this ε, whatever else is known, with any computer"
        + (", but for rare cases." if found.delta else "."),
        f"A suspicion about what {'their' if one else 'its'} rows say can rise to",
        f'  {top} where the policy has neighbours = "replace_one", and {value} where "add_remove".',
    ]
    if found.harm is not None and found.extra_harm is not None:
        extra = _up(found.extra_harm)
        lines.append(f"Who expects a harm of {short(found.harm)} anyway expects at most {extra} more")
        worst = f", and {_up(found.together.delta)} (δ) of the worst that can happen" if found.delta else ""
        lines.append(f"  by taking part{worst}.")
    return lines


def _about_delta(found: Meaning) -> list[str]:
    lines = []
    if found.delta:
        household = f" ({_up(found.together.delta)} for the household)" if found.household > 1 else ""
        lines += [
            f"δ = {short(found.delta)}{household} lets a suspicion move further in rare cases:",
            f'  in {one_case_in(found.chance)} at most; what rows say, under "add_remove", in'
            f" {one_case_in(found.value_chance)}.",
            f"  An attack at even odds is right at most {_up_to(found.attack)} of the time, δ included.",
        ]
    if found.people is None:
        lines.append("  δ must be far below one over the number of people: say how many with --people.")
        return lines
    people, better = found.people, _round_delta(found.people)
    limit = f"1/{people:,} = {_down(Fraction(1, people))}"
    if found.delta * people >= 1:
        exposed = _up(found.delta * people)
        lines += [
            f"[bold red]δ is too large[/] for {people:,} people: publishing {exposed} of them in full",
            f"  would keep it. Choose δ below {limit}; better {better} or less.",
        ]
    elif found.delta:
        enough = found.delta * people * 100 <= 1
        lines.append(
            f"  It is below {limit}, as it must be"
            + ("." if enough else f"; {better} or less would be better.")
        )
    else:
        lines.append(f"Pure ε never fails. If you need a δ, with {people:,} people choose {better} or less.")
    return lines


def _round_delta(people: int) -> str:
    """A power of ten at least a hundred times below one over the number of people."""
    return f"1e-{len(str(people - 1)) + 2 if people > 1 else 2}"


def _draw(console: Console, found: Meaning) -> None:
    console.print("  at most after")
    lines = braille(_curves(found))
    for i, line in enumerate(lines):
        label = {0: "100 %", len(lines) // 2: " 50 %", len(lines) - 1: "  0 %"}.get(i, "")
        console.print(f"  {label:>5} [cyan]{line}[/]")
    console.print(f"        0 %{'suspicion before'.center(33)}100 %")
    for curve in _curves(found)[::-1]:
        console.print(f"        solid: {curve.name}")
    console.print("        dotted: nothing is learnt")


def _curves(found: Meaning) -> list[PlottedCurve]:
    one = _loss(found.epsilon, found.delta)
    curves = [_curve(one, f"one person, ε = {short(found.epsilon)}")]
    if found.household > 1:
        name = f"{found.household} together, ε = {short(found.together.epsilon)}"
        curves.append(_curve(found.together, name))
    return curves


def _curve(loss: PureLoss | ApproximateLoss, name: str) -> PlottedCurve:
    limit = odds_limit(loss, rare_chance(loss.delta))
    shrunk = 0.0 if limit is None else math.exp(-float(limit))

    def at(prior: float) -> float:
        return prior / (prior + (1 - prior) * shrunk) if prior else 0.0

    return PlottedCurve(name=name, at=at)


def _title(found: Meaning) -> str:
    return f"ε = {short(found.epsilon)}" + (f", δ = {short(found.delta)}" if found.delta else "")


def _as_json(found: Meaning) -> dict[str, object]:
    return {
        "epsilon": float(found.epsilon),
        "delta": float(found.delta),
        "prior": float(found.prior),
        "household": found.household,
        "epsilon_together": float(found.together.epsilon),
        "delta_together": float(found.together.delta),
        "rises_to": float(found.rises_to),
        "falls_to": float(found.falls_to),
        "but_for_a_chance_of": float(found.chance),
        "value_rises_to": float(found.value_rises_to),
        "value_but_for_a_chance_of": float(found.value_chance),
        "attack_right_at_most": float(found.attack),
        "harm": None if found.harm is None else float(found.harm),
        "extra_harm": None if found.extra_harm is None else float(found.extra_harm),
        "share_of_worst_harm": float(found.together.delta),
        "people": found.people,
        "delta_fits": None if found.people is None else found.delta * found.people < 1,
    }


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError:
        raise InvalidInput(f"“{path}” cannot be written.", remedy="Check the folder of --plot.") from None


def _up_to(share: Fraction) -> str:
    return _percent(share, ROUND_CEILING)


def _down_to(share: Fraction) -> str:
    return _percent(share, ROUND_FLOOR)


def _percent(share: Fraction, rounding: str) -> str:
    """One decimal, or as many as a small share needs, rounded as asked for."""
    hundredths = share * 100
    digits = 1 if hundredths >= 1 else 4
    step = Decimal(1).scaleb(-digits)
    exact = decimal_context(60, rounding).divide(
        Decimal(hundredths.numerator), Decimal(hundredths.denominator)
    )
    return f"{exact.quantize(step, rounding=rounding).normalize():f} %"


def _up(value: Fraction) -> str:
    return _shortened(value, ROUND_CEILING)


def _down(value: Fraction) -> str:
    return _shortened(value, ROUND_FLOOR)


def _shortened(value: Fraction, rounding: str) -> str:
    context = decimal_context(_SHOWN_DIGITS, rounding)
    return short(Fraction(context.divide(Decimal(value.numerator), Decimal(value.denominator))))
