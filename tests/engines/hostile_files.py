"""Files with cells that their writers should not have written, made byte by byte where no library helps."""

import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ENCODINGS = ["dictionary", "PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"]
NOT_UTF8 = [
    b"\xff",
    b"b\xffc",
    b"\xe4",
    b"\xb8\x80",
    b"\xed\xa0\x80",
    b"\xf5\x80\x80\x80",
    b"\xc0\x80",
    b"a\xc3",
    b"\x80" * 300,
    b"ok\x00\xff\x00",
]


def texts(cells):
    """Bytes as a column of text, unchecked."""
    return pa.Array.from_buffers(pa.string(), len(cells), pa.array(cells, pa.binary()).buffers())


def write_parquet(path, *, encoding="dictionary", row_group_size=None, **columns):
    written = {name: pa.array(cells) if isinstance(cells, list) else cells for name, cells in columns.items()}
    named = {} if encoding == "dictionary" else {"use_dictionary": False}
    if encoding not in ("dictionary", "PLAIN"):
        named["column_encoding"] = {
            name: encoding if column.type == pa.string() else "PLAIN" for name, column in written.items()
        }
    pq.write_table(pa.table(written), path, row_group_size=row_group_size, version="2.6", **named)


def write_patched(path, array, old, new, **options):
    """A column of which some bytes are replaced after it was written, without notes about its cells."""
    pq.write_table(
        pa.table({"x": array}),
        path,
        use_dictionary=False,
        compression="none",
        write_statistics=False,
        **options,
    )
    content = Path(path).read_bytes()
    assert content.count(old) == 1
    Path(path).write_bytes(content.replace(old, new))


def int96(day, nanoseconds):
    return struct.pack("<QI", nanoseconds, day)
