"""discreet: learn from data about people without learning about any one of them."""

from discreet.accounting.filters import ConcentratedFilter, PureFilter
from discreet.audit.own import OwnAudit, audit_mechanism
from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    InvalidInput,
    MissingExtra,
    NotComposable,
    SelfTestFailed,
)
from discreet.model.interval import Interval
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ApproximateLoss, ConcentratedLoss, PureLoss
from discreet.model.sensitivity import ScoreSensitivity, Sensitivity
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.quantile import NoisyTree, QuantileTree
from discreet.noise.randomized_response import RandomizedResponse
from discreet.noise.selection import ExponentialMechanism, PermuteAndFlip
from discreet.noise.threshold import StabilityThreshold

__version__ = "0.1.0"

__all__ = [
    "ApproximateLoss",
    "BudgetExceeded",
    "ConcentratedFilter",
    "ConcentratedLoss",
    "DiscreetError",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "ExponentialMechanism",
    "Interval",
    "InvalidInput",
    "MissingExtra",
    "Neighbours",
    "NoisyTree",
    "NotComposable",
    "OwnAudit",
    "PermuteAndFlip",
    "PureFilter",
    "PureLoss",
    "QuantileTree",
    "RandomizedResponse",
    "ScoreSensitivity",
    "SelfTestFailed",
    "Sensitivity",
    "StabilityThreshold",
    "audit_mechanism",
]
