"""discreet: learn from data about people without learning about any one of them."""

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.accounting.filters import ConcentratedFilter, PureFilter
from discreet.answers.answer import Answer
from discreet.answers.report.report import Report
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
    NeedsApproval,
    NotAllowed,
    NotComposable,
    NotSignedIn,
    NotThere,
    PolicyError,
    QueryRefused,
    SelfTestFailed,
    ServiceUnreachable,
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
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from discreet.client.remote_curator import RemoteCurator
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
    "NeedsApproval",
    "Neighbours",
    "NoisyTree",
    "NotAllowed",
    "NotComposable",
    "NotSignedIn",
    "NotThere",
    "OwnAudit",
    "PermuteAndFlip",
    "PolicyError",
    "PureFilter",
    "PureLoss",
    "QuantileTree",
    "QueryRefused",
    "RandomizedResponse",
    "Report",
    "ScoreSensitivity",
    "SelfTestFailed",
    "Sensitivity",
    "ServiceUnreachable",
    "StabilityThreshold",
    "TookTooLong",
    "audit_mechanism",
    "connect",
    "open",
]


def open(  # noqa: A001
    policy: "str | Path",
    *,
    analyst: str | None = None,
    purpose: str = "",
    spark: "SparkSession | None" = None,
    progress: bool = False,
    tables: "Mapping[str, object] | None" = None,
) -> "Curator":
    """The curator of a policy file, for an analyst.

    policy: the path of the policy.
    analyst: who asks; the user of the system if not given.
    purpose: what the questions are for. The ledger keeps it with each, and a policy may require it.
    spark: the session of sources at spark://session.
    progress: whether a notebook or terminal shows how much of a long question is done. That is for the owner
    only: running times may reveal data.
    tables: frames of pandas, polars or Arrow, by table, instead of the sources of the policy.

    >>> curator = discreet.open("clinic.toml", analyst="ann")  # doctest: +SKIP
    """
    from discreet.curator.open_policy import open_curator

    return open_curator(
        policy, analyst=analyst, purpose=purpose, spark=spark, progress=progress, tables=tables
    )


def connect(
    url: str,
    token: str,
    *,
    dataset: str | None = None,
    insecure: bool = False,
    timeout: float = 600.0,
    certificates: "str | Path | None" = None,
) -> "RemoteCurator":
    """Ask a service (`discreet serve`) instead of data on this machine: the same questions and answers.

    The token says who you are. `dataset` may be left out if you may use only one. A question may take up to
    `timeout` seconds: a service can hold answers back, so that their time tells nothing. https is required
    unless the service is on this machine, or `insecure` is set: then others on the way can read the token.
    `certificates` is a PEM file of the authorities to trust; without it, those of the system.
    """
    from discreet.client.remote_curator import connect_to_service

    return connect_to_service(
        url, token, dataset=dataset, insecure=insecure, timeout=timeout, certificates=certificates
    )
