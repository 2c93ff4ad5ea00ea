"""Rows and targets, as arrays of the kinds that a network takes."""

import numpy as np
import torch

from discreet.arrays import Labels, RowValues
from discreet.errors import InvalidInput
from discreet.learn.core.declarations import declared_classes, places

NOWHERE = -1
"""The place of a class that is not declared: such a row counts for nothing."""


def inputs(x: object) -> RowValues:
    """Tensors of whole numbers stay as they are (for an embedding); everything else becomes floats."""
    found = _numbers(x)
    if found.ndim == 0:
        raise InvalidInput("There are no rows in x.", remedy="Give one row for each person or event.")
    return found


def targets(y: object, classes: object, width: int) -> tuple[Labels, Labels | None]:
    """Targets, as positions among the classes, and the classes; or numbers, and None.

    `width` is how many numbers the network gives for a row. Whole numbers beside several outputs are classes,
    as they are for torch, whether or not they are declared.
    """
    labels = y.detach().cpu().numpy() if isinstance(y, torch.Tensor) else np.asarray(y)
    if classes is None and labels.ndim == 1 and labels.dtype.kind in "iu" and width > 1:
        classes = range(width)
    if classes is None:
        return _numbers(y), None
    known = declared_classes(classes)
    if labels.ndim != 1 or len(known) != max(width, 2):
        raise InvalidInput(
            "The classes do not match the network's outputs.",
            remedy="Give one label for each row, and an output for each class (one is enough for two).",
        )
    place, declared = places(labels, known)
    return np.where(declared, place, NOWHERE).astype(np.int64 if width > 1 else np.float32), known


def _numbers(values: object) -> RowValues:
    if isinstance(values, torch.Tensor):
        found = values.detach().cpu()
        if found.dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
            return np.array(found.numpy(), dtype=np.int64)
    else:
        try:
            found = torch.tensor(np.array(values, dtype=np.float64, order="C"))
        except (TypeError, ValueError):
            raise InvalidInput(
                "Some values are not numbers.", remedy="Encode texts as numbers first."
            ) from None
    if found.is_complex():
        raise InvalidInput("Some values are complex numbers.", remedy="Give real ones.")
    kept: RowValues = found.to(found.dtype if found.dtype is torch.float64 else torch.float32).numpy()
    return kept
