"""discreet: learn from data about people without learning about any one of them."""

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.accounting.filters import ConcentratedFilter, PureFilter
from discreet.answers.answer import Answer
from discreet.audit.own_mechanism import OwnAudit, audit_mechanism
from discreet.errors import (
    BudgetExceeded,
    CollectorClosed,
    DiscreetError,
    EngineFailed,
    InvalidInput,
    LedgerBusy,
    LedgerClosed,
    MissingExtra,
    NotComposable,
    PolicyError,
    QueryRefused,
    SelfTestFailed,
    TookTooLong,
)
from discreet.model.interval import Interval
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ApproximateLoss, ConcentratedLoss, PureLoss
from discreet.model.sensitivity import ScoreSensitivity, Sensitivity
from discreet.noise.above_threshold import AboveThreshold
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.quantile import NoisyTree, QuantileTree
from discreet.noise.randomized_response import RandomizedResponse
from discreet.noise.selection import ExponentialMechanism, PermuteAndFlip
from discreet.noise.threshold import StabilityThreshold

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from discreet.curator import Curator

__version__ = "0.1.0"

__all__ = [
    "AboveThreshold",
    "Answer",
    "ApproximateLoss",
    "BudgetExceeded",
    "CollectorClosed",
    "ConcentratedFilter",
    "ConcentratedLoss",
    "DiscreetError",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "EngineFailed",
    "ExponentialMechanism",
    "Interval",
    "InvalidInput",
    "LedgerBusy",
    "LedgerClosed",
    "MissingExtra",
    "Neighbours",
    "NoisyTree",
    "NotComposable",
    "OwnAudit",
    "PermuteAndFlip",
    "PolicyError",
    "PureFilter",
    "PureLoss",
    "QuantileTree",
    "QueryRefused",
    "RandomizedResponse",
    "ScoreSensitivity",
    "SelfTestFailed",
    "Sensitivity",
    "StabilityThreshold",
    "TookTooLong",
    "audit_mechanism",
    "open",
]


def open(  # noqa: A001
    policy: "str | Path",
    *,
    analyst: str | None = None,
    spark: "SparkSession | None" = None,
    progress: bool = False,
) -> "Curator":
    """The curator of a policy file, for an analyst. Without a name, this is the user of the system.

    `spark` is the session of sources at spark://session. With `progress`, a notebook or terminal shows how
    much of a long question is done. That is for the owner only: running times may reveal data.
    """
    from discreet.curator.open_policy import open_curator

    return open_curator(policy, analyst=analyst, spark=spark, progress=progress)
