"""What happens to a charge: it is made, used, perhaps found unused, and answered. One charge, one draw.

See `discreet.ledger.interface` for why.
"""

import hashlib
from collections.abc import Sequence

from discreet.answers.wording import charge_text, epsilon_within, rounded_down
from discreet.errors import BudgetExceeded, InvalidInput, LedgerClosed
from discreet.ledger.interface import Answered, Balance, Cap, Entry, EntryKind
from discreet.ledger.tables import Books
from discreet.ledger.units import Units, charge_units, filter_of
from discreet.model.privacy import Loss, Spend, amount_of
from discreet.model.receipt import Receipt


def charge_or_find(
    books: Books,
    dataset: str,
    *,
    analyst: str,
    question: str,
    key: str,
    loss: Loss,
    caps: Sequence[Cap] = (),
    note: str = "",
) -> Receipt | Answered:
    """A receipt for one draw, or what was drawn before."""
    balance = books.balance(dataset, analysts=those_who_count(analyst, caps))
    cost = charge_units(loss, balance.account.budget_units.currency)
    last = books.last_of(dataset, balance.version, key)
    earlier = None if last is None else books.charge_behind(last)
    if earlier is not None and earlier.taken != cost:
        raise InvalidInput("This key was charged at another price.", remedy="The price is part of the key.")
    if last is not None and last.kind is EntryKind.ANSWERED:
        return books.answered(last)
    if earlier is not None and last is not None and last.kind is EntryKind.UNUSED:
        _follow_up(books, EntryKind.RESUMED, earlier, balance.spent_units)
        return earlier.receipt()
    spent = admitted(balance, analyst, cost, caps)
    books.spend_as(analyst, dataset, cost)
    return books.append(
        EntryKind.CHARGED,
        dataset=dataset,
        version=balance.version,
        spent=spent,
        taken=cost,
        analyst=analyst,
        question=question,
        key=key,
        note=note,
    ).receipt()


def mark_unused(books: Books, receipt: Receipt) -> bool:
    """Whether the same question may use the charge again: only once, and not if it was charged anew since.

    The timing of each try can be observed. If a charge could be used until the database no longer fails,
    whoever can make it fail would have any number of looks for one price.
    """
    charge, last = _charge_of(books, receipt)
    if last.kind is EntryKind.UNUSED:  # a try whose outcome nobody knows was done: the next one is free
        return books.charge_behind(last) == charge
    if last != charge:
        return False
    _follow_up(books, EntryKind.UNUSED, charge, books.balance(charge.dataset, analysts=()).spent_units)
    return True


def store(books: Books, receipt: Receipt, answer: bytes) -> bytes:
    """What is stored for the key of a receipt: this answer, or one that was there before."""
    charge, last = _charge_of(books, receipt)
    if last.kind is EntryKind.ANSWERED:
        return books.answered(last).answer
    if receipt.number < books.last(receipt.dataset, EntryKind.WRITTEN_OFF):
        raise LedgerClosed(
            "This receipt is from before the ledger was re-based; its answer may have been given.",
            remedy="Ask again, at the price of a new question.",
        )
    books.keep_answer(charge.number, answer)
    spent = books.balance(charge.dataset, analysts=()).spent_units
    _follow_up(books, EntryKind.ANSWERED, charge, spent, hashlib.sha256(answer).hexdigest())
    return answer


def those_who_count(analyst: str, caps: Sequence[Cap]) -> list[str]:
    """The analysts whose spending decides about a charge."""
    return sorted({analyst}.union(*(cap.analysts for cap in caps)))


def admitted(balance: Balance, analyst: str, cost: Units, caps: Sequence[Cap] = ()) -> Units:
    """What is spent after this charge; BudgetExceeded if it does not fit the budget or a cap."""
    budget = balance.account.budget
    try:
        filter_of(budget, balance.spent).spend(cost.loss)
    except BudgetExceeded as refused:
        raise in_epsilon(refused, cost.loss, filter_of(budget, balance.spent).left, budget) from None
    for cap in (balance.cap_of(analyst), *caps):
        _check_cap(balance, cap, cost)
    return balance.spent_units.plus(cost)


def _check_cap(balance: Balance, cap: Cap, cost: Units) -> None:
    spent = balance.spent_by(cap.analysts)
    if not spent.within(cap.units):
        raise BudgetExceeded(
            f"More is spent already than {cap.name} may spend.", remedy="Ask the owner of the data for more."
        )
    try:
        filter_of(cap.units.loss, spent.loss).spend(cost.loss)
    except BudgetExceeded as exceeded:
        refused = in_epsilon(exceeded, cost.loss, balance.left_of(cap), balance.account.budget)
        raise BudgetExceeded(
            f"{refused.problem} That is of what {cap.name} may spend.", remedy=refused.remedy
        ) from None


def in_epsilon(refused: BudgetExceeded, cost: Spend, left: Spend, budget: Spend) -> BudgetExceeded:
    """The same refusal in ε and in shares of the budget, if the budget is one of ρ and that is too little."""
    asked, free = epsilon_within(cost, budget), epsilon_within(left, budget)
    if asked is None or free is None or amount_of(cost) <= amount_of(left):
        return refused
    costs, rest = charge_text(cost, budget, of=" of the budget"), charge_text(left, budget)
    problem = f"This costs {costs}, and {rest} is left."
    most = rounded_down(free)
    if not most:
        return BudgetExceeded(problem, remedy=refused.remedy)
    return BudgetExceeded(
        problem, remedy=f"Ask for less accuracy, at epsilon={most:g} or below, or fewer things at once."
    )


def _charge_of(books: Books, receipt: Receipt) -> tuple[Entry, Entry]:
    """The charge of a receipt, and what happened last to its key."""
    if not isinstance(receipt, Receipt):
        raise InvalidInput("A receipt is expected.", remedy="Give the one that charge returned.")
    charge = books.entry(receipt.number)
    if charge is None or charge.kind is not EntryKind.CHARGED or charge.receipt() != receipt:
        raise InvalidInput("This ledger gave no such receipt.", remedy="Charge the question first.")
    return charge, books.last_of(charge.dataset, charge.version, charge.key) or charge


def _follow_up(books: Books, kind: EntryKind, charge: Entry, spent: Units, *words: str) -> None:
    """An entry about a charge."""
    books.append(
        kind,
        dataset=charge.dataset,
        version=charge.version,
        spent=spent,
        key=charge.key,
        note=" ".join([*words, str(charge.number)]),
    )
