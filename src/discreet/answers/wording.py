"""How numbers, keys and prices are written for people: with no more digits than the error justifies."""

import math
from datetime import date, datetime
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction

from discreet.answers.columns import Cell, KeyEnds
from discreet.model.exact import short
from discreet.model.privacy import ConcentratedLoss, PureLoss, Spend, amount_of
from discreet.model.receipt import Receipt

MISSING = "–"
NULL = "∅"
_PLAIN_BELOW = 1e15


def number_text(value: float, error: float) -> str:
    """Rounded to the place at which the error begins, before the point or after it."""
    if not math.isfinite(value):
        return MISSING if math.isnan(value) else "∞" if value > 0 else "−∞"
    if not 1e-300 < error < math.inf or abs(value) >= _PLAIN_BELOW:
        return _without_error(value)
    places = math.ceil(-math.log10(error / 2))
    if places <= 0:  # before the point, two digits of the error are kept
        places = min(0, 1 - math.floor(math.log10(error)))
    if places > 12:
        return _without_error(value)
    if isinstance(value, int):
        places = min(places, 0)
    rounded = round(float(value), places) + 0.0  # + 0.0 turns −0 into 0
    return f"{rounded:,.{max(places, 0)}f}".replace("-", "−")


def one_case_in(chance: Fraction) -> str:
    """How rare something is: one case in so many, rounded towards more often."""
    cases = max(1, int(1 / chance))
    rounded = cases // 10 ** max(0, len(str(cases)) - 2) * 10 ** max(0, len(str(cases)) - 2)
    return f"one case in {rounded:,}" if rounded > 1 else "any case"


def counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def _without_error(value: float) -> str:
    text = f"{value:,}" if isinstance(value, int) and abs(value) < _PLAIN_BELOW else f"{value:,.6g}"
    return text.replace("-", "−")


def measure_text(value: Cell, low: float, high: float) -> tuple[str, str]:
    """A measured number and its error: ± if the number is in the middle, else (from … to)."""
    number = value if isinstance(value, int | float) else math.nan
    ends = [end for end in (low, high) if math.isfinite(end)]
    if math.isnan(low) or math.isnan(high) or low == high:
        return number_text(number, 0.0), ""
    if not ends:
        return number_text(number, 0.0), "(−∞ … ∞)"
    half = (high - low) / 2 if len(ends) == 2 else abs(ends[0] - (0 if math.isnan(number) else number))
    shown = number_text(number, half)
    if len(ends) == 2 and abs(high - number - (number - low)) <= half / 10:
        return shown, f"± {number_text(half, half)}"
    first = "−∞" if not math.isfinite(low) else number_text(low, half)
    last = "∞" if not math.isfinite(high) else number_text(high, half)
    return shown, f"({first} … {last})"


def cut_text(text: str, most: int) -> str:
    """At most `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def key_text(value: Cell) -> str:
    """A key as it can be shown anywhere: on one line, and without characters that a terminal would obey."""
    match value:
        case None:
            return NULL
        case bool():
            return "true" if value else "false"
        case str():
            return visible_text(value) or '""'
        case float():
            return f"{value:.15g}"
        case datetime():
            return value.isoformat(" ")
    return str(value)


def group_text(value: Cell, ends: KeyEnds) -> str:
    """A key that may stand for all values below it, or above it, too."""
    low, high = map(end_text, ends)
    if value is None or end_text(value) not in (low, high):
        return key_text(value)
    return f"{'≤' if end_text(value) == low else '≥'} {key_text(value)}"


def end_text(end: Cell) -> Cell:
    """A date as JSON has it, a text."""
    return end.isoformat() if isinstance(end, date) else end


def visible_text(text: str) -> str:
    """On one line, and without characters that a terminal would obey."""
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def charge_text(loss: Spend, budget: Spend | None = None, of: str = "") -> str:
    """In its currency. A ρ whose budget is given is told as ε first, and as a share of the budget."""
    if isinstance(loss, PureLoss):
        return f"ε = {float(loss.epsilon):.4g}"
    epsilon = epsilon_within(loss, budget)
    if epsilon is None:
        return f"ρ = {float(loss.rho):.4g}"
    return f"ε = {epsilon:.4g} ({percent(loss, budget)}{of}, ρ = {float(loss.rho):.4g})"


def epsilon_within(loss: Spend, budget: Spend | None) -> float | None:
    """A ρ as ε, at the δ of its budget: as much δ turns ε into ρ as is kept for private keys. Else None."""
    if not isinstance(loss, ConcentratedLoss) or not isinstance(budget, ConcentratedLoss) or not budget.delta:
        return None
    return float(ConcentratedLoss(rho=loss.rho, delta=Fraction(0)).epsilon_at(budget.delta))


def rounded_down(amount: float, digits: int = 3) -> float:
    """With so many digits, and no more than it is: what is suggested can be paid."""
    if amount <= 0:
        return 0.0
    places = digits - 1 - math.floor(math.log10(amount))
    return float(Decimal(repr(amount)).quantize(Decimal(1).scaleb(-places), rounding=ROUND_FLOOR))


def percent(loss: Spend, budget: Spend | None) -> str:
    """Of the budget, in whole and tenths of per cent."""
    whole = amount_of(budget) if budget is not None else Fraction(0)
    share = 100 * float(amount_of(loss) / whole) if whole else 100.0
    return f"{share:.1f}%" if share >= 0.05 or not share else f"{share:.1g}%"


def full_charge_text(loss: Spend) -> str:
    """With its δ, and with more digits."""
    if isinstance(loss, PureLoss):
        return f"ε = {short(loss.epsilon)}"
    return f"ρ = {short(loss.rho)}, δ = {short(loss.delta)}"


def full_loss_text(loss: Spend) -> str:
    """In its own currency, with its δ if it has any."""
    delta = getattr(loss, "delta", 0)
    return charge_text(loss) + (f" and δ = {float(delta):.2g}" if delta else "")


def epsilon_beside(loss: Spend, epsilon: float, *, digits: int = 4) -> str:
    """The ε of a ρ, in brackets, to stand after it; empty for a pure ε."""
    return "" if isinstance(loss, PureLoss) else f" (ε = {epsilon:.{digits}g})"


def price_text(
    charged: Spend,
    left: Spend,
    receipt: Receipt,
    *,
    free: str = "",
    budget: Spend | None = None,
    questions: int = 1,
) -> str:
    """What something cost and what is left, in a sentence; `free` says why it cost nothing."""
    rest = f"{charge_text(left, budget)} left."
    if free:
        return f"{free}; {rest}"
    together = f" for {questions} questions together" if questions > 1 else ""
    price = charge_text(charged, budget, of=" of the budget")
    return f"Cost {price}{together}; {rest} Receipt {receipt.number}."


def standing_text(spent: Spend, left: Spend, budget: Spend) -> str:
    """How much of a budget is spent and left: in ε, and in per cent."""
    whole = epsilon_within(budget, budget)
    if whole is None:
        return (
            f"{charge_text(spent)} of {charge_text(budget)} spent ({percent(spent, budget)}),"
            f" {charge_text(left)} left"
        )
    return (
        f"{percent(spent, budget)} of ε = {whole:.4g} spent"
        f" (ρ = {float(amount_of(spent)):.4g} of {float(amount_of(budget)):.4g}),"
        f" {charge_text(left, budget)} left"
    )


def confidence_text(confidence: float) -> str:
    return f"{(Decimal(repr(confidence)) * 100).normalize():f} %"
