"""The names of a source, by which the same people are recognised under another policy.

A source has several names: how the policy writes it, the paths of its files, and what the system or the
server itself calls them. Two sources that share one name hold the same people. Renaming a file keeps what the
system calls it; moving a folder keeps how the policy writes it; links and patterns lead to the same files.
"""

import hashlib
import posixpath
from collections.abc import Iterable
from pathlib import Path

from discreet.engines.base.files import File

FORMERLY = "formerly "
"""Begins names as earlier versions wrote them. They are looked for, and never written again."""


def names_of_files(
    written: str, base_dir: Path, files: Iterable[Path], tables: Iterable[tuple[str, ...]] = ((),)
) -> frozenset[str]:
    """The names of a source in files; of the tables in them, if they are databases."""
    home = base_dir.resolve()
    places = {f"written {posixpath.normpath(written)}"}
    for file in files:
        places |= _names_of_file(file, home)
    return frozenset(_table_in(place, table) for place in places for table in tables)


def stamps_of(files: Iterable[File]) -> tuple[str, ...]:
    """A digest of the names and times of files, wherever their folder is; then as 0.1 wrote it. No file is
    opened.

    Sizes are no part of it: a size follows from rows, and whoever reads the ledger could find it by trying.
    """
    files = list(files)
    looks = sorted((file.path.name, file.stamp[-1]) for file in files)
    with_sizes = sorted((file.path.name, *file.stamp[1:]) for file in files)
    found = [hashlib.sha256(repr(each).encode()).hexdigest() for each in (looks, with_sizes)]
    return tuple(found) if files else ()


def _names_of_file(file: Path, home: Path) -> set[str]:
    """Its path, also relative to the policy's folder, which may move as a whole; its inode, shared by links.

    The system reuses the inode of a file that is gone, so its time is part of that name. Its size is not: it
    follows from rows, and the name is in the ledger. It was in 0.1.
    """
    path = file.resolve()
    status = path.stat()
    place, size, time = f"{status.st_dev} {status.st_ino}", status.st_size, status.st_mtime_ns
    names = {f"file {path}", f"inode {place} {time}", f"{FORMERLY}inode {place} {size} {time}"}
    if path.is_relative_to(home):
        names.add(f"written {path.relative_to(home).as_posix()}")
    return names


def _table_in(place: str, table: tuple[str, ...]) -> str:
    return "#".join((place, *(part.casefold() for part in table)))
