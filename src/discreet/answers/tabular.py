"""Data frames of anything that has columns."""

import importlib
import json
from typing import TYPE_CHECKING, Any

from discreet.answers.released import Released
from discreet.errors import MissingExtra

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Tabular:
    """Columns that data frame libraries can read."""

    __slots__ = ()

    released: Released

    def to_pandas(self) -> "pandas.DataFrame":
        """A data frame; each measure NAME is followed by NAME_low and NAME_high. `attrs` has the notes."""
        from discreet.answers.frames import pandas_frame

        return pandas_frame(_library("pandas"), self.released)

    def to_polars(self) -> "polars.DataFrame":
        """A data frame; each measure NAME is followed by NAME_low and NAME_high."""
        frame: polars.DataFrame = _library("polars").DataFrame(self)
        return frame

    def to_arrow(self) -> "pyarrow.Table":
        """A table; each measure NAME is followed by NAME_low and NAME_high. Its schema has the notes."""
        table: pyarrow.Table = _library("pyarrow").table(self)
        return table.replace_schema_metadata({"notes": json.dumps(self.released.notes)})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """For any library that reads Arrow; none has to be installed to write it."""
        from discreet.answers.frames import arrow_stream

        return arrow_stream(self.released, requested_schema)


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtra(f"{name} is not installed.", remedy=f"Run: pip install {name}") from error
