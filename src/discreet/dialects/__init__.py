"""How each engine writes what the compiler means."""

from collections.abc import Mapping

from discreet.dialects.dialect import Dialect
from discreet.dialects.duckdb import DUCKDB
from discreet.dialects.postgres import POSTGRES
from discreet.dialects.spark import SPARK

DIALECTS: Mapping[str, Dialect] = {dialect.name: dialect for dialect in (DUCKDB, POSTGRES, SPARK)}
