"""How each engine writes what the compiler means."""

from collections.abc import Mapping

from discreet.compile.dialects.dialect import Dialect
from discreet.compile.dialects.duckdb import DUCKDB
from discreet.compile.dialects.postgres import POSTGRES
from discreet.compile.dialects.spark import SPARK

DIALECTS: Mapping[str, Dialect] = {dialect.name: dialect for dialect in (DUCKDB, POSTGRES, SPARK)}
