"""Which engine a policy needs. All sources of a policy are in one engine."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.engines.base.engine import Engine
from discreet.engines.duckdb.draft_types import DraftTypes, guess_types
from discreet.engines.duckdb.engine import DuckDBEngine
from discreet.errors import InvalidInput, PolicyError
from discreet.model.declaration import USUAL_TIME_LIMIT, TableSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = "files"
_ENGINES = {"postgresql": "PostgreSQL", "postgres": "PostgreSQL", "spark": "Spark", "sc": "Spark"}


def open_engine(
    sources: Mapping[str, TableSource],
    base_dir: Path,
    *,
    spark: "SparkSession | None" = None,
    time_limit: float = USUAL_TIME_LIMIT,
    frames: Mapping[str, object] | None = None,
) -> Engine:
    """Open the sources, relative to `base_dir`; those at spark://session are in the session `spark`.

    A question is stopped after `time_limit` seconds. `frames` are tables of pandas, polars or Arrow, which
    are used instead of the sources of these names.
    """
    frames = frames or {}
    unknown = sorted(map(str, frames.keys() - sources.keys()))
    if unknown:
        raise InvalidInput(
            f"The policy has no table “{unknown[0][:60]}”.", remedy=f"It has: {', '.join(sorted(sources))}."
        )
    in_memory = {FILES} if frames else set()
    engines = {engine_of(each.location) for name, each in sources.items() if name not in frames} | in_memory
    if len(engines) > 1:
        raise PolicyError(
            f"The sources of this policy are in {' and in '.join(sorted(engines))}.",
            remedy="Bring all tables to one of them: no data is moved from one to the other.",
        )
    match next(iter(engines), FILES):
        case "PostgreSQL":
            from discreet.engines.postgres.engine import PostgresEngine

            return PostgresEngine(sources, time_limit=time_limit)
        case "Spark":
            from discreet.engines.spark.engine import SparkEngine

            return SparkEngine(sources, base_dir, session=spark, time_limit=time_limit)
    return DuckDBEngine(sources, base_dir, time_limit=time_limit, frames=frames)


def schema_of(location: str, base_dir: Path) -> DraftTypes:
    """The usable columns of a source, for the owner's first draft."""
    match engine_of(location):
        case "PostgreSQL":
            from discreet.engines.postgres import engine as postgres

            return DraftTypes(types=postgres.schema_of(location))
        case "Spark":
            from discreet.engines.spark import engine as spark

            return DraftTypes(types=spark.schema_of(location, base_dir))
    return guess_types(location, base_dir)


def engine_of(location: str) -> str:
    """Where a source is: in PostgreSQL, in Spark, or in files."""
    scheme = re.match(r"([A-Za-z]+):", location)
    return _ENGINES.get(scheme[1].lower(), FILES) if scheme else FILES
