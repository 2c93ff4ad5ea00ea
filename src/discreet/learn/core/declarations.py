"""What the owner of the data declares about features and targets, and how values are scaled by it.

Bounds are never taken from the data. Values beyond them are clamped.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Labels
from discreet.errors import InvalidInput
from discreet.learn.core.encoding import between

BoundPair: TypeAlias = Sequence[float] | Floats
"""The least and the largest value."""
DeclaredBounds: TypeAlias = BoundPair | Sequence[BoundPair] | Mapping[str, BoundPair]
"""One pair for all features, a pair for each, or pairs by name."""
DeclaredClasses: TypeAlias = Sequence[bool | int | float | str] | Labels

_SMALLEST, _LARGEST = 1e-200, 1e200
"""Within these, the middle and the half of bounds are ordinary doubles, and no row adds 0/0 to a sum."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scaling:
    """(value − shift)/size lies between −1 and 1 for values within the bounds.

    Features with the bounds 0 and 1 are taken to be marks: whether a row has something.
    """

    shift: Floats
    size: Floats
    marks: NDArray[np.bool_]

    @classmethod
    def within(cls, low: Floats, high: Floats) -> "Scaling":
        """If 0 is within the bounds, it stays 0. So rows of marks and counts that are mostly 0 stay short."""
        holds_zero = (low <= 0) & (high >= 0)
        shift = np.where(holds_zero, 0.0, (low + high) / 2)
        size = np.maximum(np.abs(low - shift), np.abs(high - shift))
        return cls(shift=shift, size=size, marks=(low == 0) & (high == 1))

    def apply(self, values: Floats) -> Floats:
        with np.errstate(over="ignore"):  # values that overflow are clamped; a warning would reveal them
            out = values - self.shift
            out /= self.size
        return between(out, 1.0)


def feature_scaling(bounds: object, width: int, names: Sequence[str] | None) -> Scaling:
    """From one pair for all features, a pair for each, or pairs by name."""
    if bounds is None:
        raise InvalidInput(
            "The bounds of the features are not declared.",
            remedy="Give them from what you know, not from the data: bounds=(0, 100) for all features, or by"
            ' name, bounds={"age": (18, 97)}.',
        )
    if isinstance(bounds, Mapping):
        if names is None or set(bounds) != set(names):
            raise InvalidInput(
                "The bounds by name do not name the columns.",
                remedy="Give a table with named columns, and bounds for each of them.",
            )
        pairs = _pairs([bounds[name] for name in names])
    else:
        pairs = _pairs(bounds)
        pairs = np.broadcast_to(pairs, (width, 2)) if pairs.shape in ((2,), (1, 2)) else pairs
    if pairs.shape != (width, 2):
        raise InvalidInput(
            f"The bounds are not for the {width} features that there are.",
            remedy="Give one pair (low, high) for all features, or one for each.",
        )
    return Scaling.within(pairs[:, 0].copy(), pairs[:, 1].copy())


def target_range(bounds: object, *, least: float | None = None) -> tuple[float, float]:
    if bounds is None:
        raise InvalidInput(
            "The bounds of the target are not declared.",
            remedy="Give them from what you know, not from the data: target_bounds=(low, high).",
        )
    pairs = _pairs(bounds)
    if pairs.shape != (2,):
        raise InvalidInput("A target has one pair of bounds.", remedy="Give target_bounds=(low, high).")
    if least is not None and pairs[0] != least:
        raise InvalidInput(f"Counts start at {least:g}.", remedy=f"Give target_bounds=({least:g}, high).")
    return float(pairs[0]), float(pairs[1])


def declared_classes(classes: object) -> Labels:
    """Sorted, at least two, all different."""
    if classes is None or isinstance(classes, str):
        raise InvalidInput("The classes are not declared.", remedy="Give them all: classes=(0, 1).")
    given: Labels = np.asarray(classes)
    if given.dtype == object and all(isinstance(each, str) for each in given.flat):
        given = given.astype(str)
    if (
        given.ndim != 1
        or given.dtype.kind not in "biufU"
        or len(np.unique(given)) != len(given)
        or len(given) < 2
    ):
        raise InvalidInput(
            "The classes must be at least two different numbers or texts.", remedy="Such as classes=(0, 1)."
        )
    return np.unique(given)


def places(labels: Labels, classes: Labels) -> tuple[Floats, NDArray[np.bool_]]:
    """The position of each label among the classes, and whether it is one. Other rows count for nothing."""
    if labels.dtype == object:
        labels = labels.astype(str)
    if (labels.dtype.kind == "U") != (classes.dtype.kind == "U"):
        raise InvalidInput(
            "The labels are of another kind than the declared classes.",
            remedy="Give both as numbers or as texts.",
        )
    place = np.searchsorted(classes, labels).clip(0, len(classes) - 1)
    return place.astype(np.float64), classes[place] == labels


def _pairs(bounds: object) -> Floats:
    try:
        pairs = np.asarray(bounds, dtype=np.float64)
    except (TypeError, ValueError):
        pairs = np.empty(0)
    if (
        pairs.size < 2
        or pairs.shape[-1] != 2
        or not np.isfinite(pairs).all()
        or not (pairs[..., 0] < pairs[..., 1]).all()
    ):
        raise InvalidInput(
            "Bounds are pairs of finite numbers, the lower one first.", remedy="Such as bounds=(0, 100)."
        )
    if np.abs(pairs).max() > _LARGEST or (pairs[..., 1] - pairs[..., 0]).min() < _SMALLEST:
        raise InvalidInput(
            "Bounds are too large, or too close to each other, to compute with.", remedy="Choose other units."
        )
    return pairs


def truth(value: object, name: str) -> bool:
    """The value, which must be exactly True or False: numbers are multiplied with it."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput(f"{name} is neither True nor False.", remedy=f"Give {name}=True or {name}=False.")
    return bool(value)
