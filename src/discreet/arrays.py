"""Names for arrays, by what they hold."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[Any]
"""64-bit integers, or Python's own where 64 bits are too few."""
ColumnValues: TypeAlias = NDArray[Any]
"""One column of a result: numbers, dates, texts as objects; masked where NULL."""
Labels: TypeAlias = NDArray[Any]
"""One for each row: what a model predicts, or whose the row is; numbers or texts."""
RowValues: TypeAlias = NDArray[Any]
"""Rows of features, of any shape: floats, or whole numbers for an embedding."""
