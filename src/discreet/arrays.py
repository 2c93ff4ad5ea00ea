"""What arrays hold, by name."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[Any]
"""Of 64 bits, or Python's own where those are too few."""
ColumnValues: TypeAlias = NDArray[Any]
"""One column of a result: numbers, dates, texts as objects; masked where NULL."""
