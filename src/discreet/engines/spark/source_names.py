"""The names of a source in Spark. Files of this machine have the same names as on other engines."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from discreet.engines.base.execution import silently
from discreet.engines.base.source_names import names_of_files
from discreet.engines.spark.session import Session
from discreet.engines.spark.sources import Home, SparkSource

_PARTS_OF_A_NAME = 3
"""Catalogue, schema, table."""


def names_of(
    session: Session, relation: str, source: SparkSource, location: str, base_dir: Path
) -> frozenset[str]:
    """The names of a source, and those of its files if Spark knows them. No row is read."""
    written = location.partition("#")[2]
    if source.local is not None:
        return names_of_files(written, base_dir, [file.path for file in source.local.files])
    here = source.server or source.home.value
    names = {f"spark {here} {path}" for path in source.paths}
    if source.table:
        names.add(f"spark {here} {_whole(session, source.table)}")
    files = silently(lambda: session.frames.sql(f"SELECT * FROM {relation}").inputFiles())  # noqa: S608
    for address in files or ():
        names |= _names_of_address(address, source)
    return frozenset(names)


def _whole(session: Session, table: tuple[str, ...]) -> str:
    """The whole name: with Spark's current catalogue and schema, if it names none."""
    catalog = session.frames.catalog
    current = silently(lambda: (catalog.currentCatalog(), catalog.currentDatabase())) or ()
    return ".".join((*current, *table)[-_PARTS_OF_A_NAME:]).casefold()


def _names_of_address(address: str, source: SparkSource) -> frozenset[str]:
    parts = urlsplit(address)
    if parts.scheme not in ("", "file"):
        return frozenset({f"address {address}"})
    if source.home is Home.SERVER:  # a file of that machine
        return frozenset({f"spark {source.server} {parts.path}"})
    path = Path(unquote(parts.path))
    return silently(lambda: names_of_files(str(path), path, [path])) or frozenset()
