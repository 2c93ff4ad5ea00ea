"""Proof that a loss was charged: what the ledger gives before any data is read."""

from dataclasses import dataclass
from datetime import datetime

from discreet.model.privacy import Spend

LARGEST_ANSWER = 2**28
"""In bytes: the most that a ledger stores for one charge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """One entry of the ledger."""

    number: int
    """Its place in the ledger: 1, 2, 3, … without gaps."""
    dataset: str
    version: int
    """The version of the data. The owner announces a new one; a stored answer belongs to one version."""
    analyst: str
    question: str
    """As it was asked."""
    key: str
    """What makes two questions the same: a digest of the resolved question and its price."""
    charged: Spend
    at: datetime
    digest: str
    """The hash that chains this entry to all before it."""
