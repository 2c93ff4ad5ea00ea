"""How an account is opened, and found again for the same people, and for people who are added.

A policy changes: tables come and go, folders move, files are replaced. The account stays as long as one of
its sources does, and takes on whatever is new. It never shares people with another account: two budgets for
the same people would add up.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from discreet.answers.wording import full_charge_text
from discreet.errors import LedgerClosed
from discreet.ledger.chain import added, declaration
from discreet.ledger.interface import Account, Balance, EntryKind
from discreet.ledger.people import MOST_IN_ONE_ENTRY, pages
from discreet.ledger.tables import Books


def is_open(books: Books, account: Account) -> bool:
    """Whether there is nothing to do: the account is as declared, and knows all these people."""
    found = books.find_balance(account.dataset, analysts=())
    return (
        found is not None and found.account == account and account.people <= books.people.of(account.dataset)
    )


def open_or_find(books: Books, account: Account) -> Balance:
    """The account, with all that its policy declares now; LedgerClosed if it was declared otherwise."""
    found = books.find_balance(account.dataset, analysts=())
    if found is None:
        return _opened(books, account)
    known = books.people.of(account.dataset)
    _check_declared_alike(found.account, account, known)
    if found.account != account or not account.people <= known:
        _check_nobody_is_elsewhere(books, account, (account.people | account.formerly) - known)
        books.set_fingerprint(account)
        _add(books, account, found, [*pages(account.people - known, MOST_IN_ONE_ENTRY)] or [[]])
    return books.balance(account.dataset, analysts=())


def _opened(books: Books, account: Account) -> Balance:
    if books.last(account.dataset, EntryKind.LOST):
        raise LedgerClosed(
            "This account was lost with a restored backup, and with it what it had spent.",
            remedy="Declare another dataset, with a budget that leaves out what was spent before.",
        )
    _check_nobody_is_elsewhere(books, account, account.people | account.formerly)
    balance = books.open(account)
    first, *rest = pages(account.people, MOST_IN_ONE_ENTRY)
    books.people.add(first, account.dataset)
    books.append(
        EntryKind.OPENED,
        dataset=account.dataset,
        version=balance.version,
        spent=account.budget_units.none,
        note=declaration(account, "", first),
    )
    _add(books, account, balance, rest)
    return balance


def _add(books: Books, account: Account, balance: Balance, people: Iterable[Sequence[str]]) -> None:
    """One entry for each page of people."""
    for some in people:
        books.people.add(some, account.dataset)
        books.append(
            EntryKind.SOURCES_ADDED,
            dataset=account.dataset,
            version=balance.version,
            spent=balance.spent_units,
            note=added(account, some),
        )


def _check_nobody_is_elsewhere(books: Books, account: Account, people: frozenset[str]) -> None:
    other = books.people.dataset_with(people)
    if other is not None:
        raise LedgerClosed(
            f"The same people have an account already, as dataset {other!r}.",
            remedy="Ask about them as that dataset: two budgets for the same people would add up. If they are"
            f" other people, keep {account.dataset!r} in a ledger of its own: set “ledger” in its policy.",
        )


def _check_declared_alike(found: Account, asked: Account, known: frozenset[str]) -> None:
    """Refuse a second policy, or one that was changed without the ledger.

    In accounts from before people were recorded, the fingerprint stands for all of them.
    """
    if not known & (asked.people | asked.formerly):
        raise LedgerClosed(
            "The ledger keeps this dataset's budget for other people: another source or person column.",
            remedy="Bring back one table that the account has had, beside the new ones; or, if they are other"
            " people, give this dataset another name.",
        )
    if found.fingerprint != asked.fingerprint and found.fingerprint not in asked.people:
        raise LedgerClosed(
            "The ledger keeps this dataset's budget under another relation of neighbours.",
            remedy="Change “neighbours” in the policy back: what was spent counts under one of them only.",
        )
    if replace(found, fingerprint=asked.fingerprint) != asked:
        raise LedgerClosed(
            f"The policy declares {_budget_text(asked)}, and the ledger has {_budget_text(found)}.",
            remedy="Change the policy back, or the ledger: discreet budget change"
            " (in Python, change_budget).",
        )


def _budget_text(account: Account) -> str:
    budget, cap = (full_charge_text(loss) for loss in (account.budget, account.analyst_cap))
    return f"a budget of {budget}" + ("" if cap == budget else f" with {cap} for an analyst")
