"""Attack: the ledger shows a digest of the file that was read. What follows from rows must not be in it."""

import os

from .ask import Clinic


def test_g1_the_size_of_a_file_is_in_no_digest(tmp_path):
    """Two files of other sizes, with the same name and time, look the same in the ledger."""
    stamps = set()
    for name, rows in (("few", 10), ("many", 1000)):
        clinic = Clinic(tmp_path / name, rows=f"SELECT range, 'north', 1.5, 30, '' FROM range({rows})")
        data = clinic.folder / "visits.parquet"
        os.utime(data, (10**9, 10**9))
        with clinic.open() as curator:
            stamps |= {entry.note for entry in curator.entries() if entry.kind.value == "data seen"}
    assert len(stamps) == 1
