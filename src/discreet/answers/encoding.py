"""Columns as bytes, and back, exactly: the same columns always give the same bytes.

The format: a magic word, the length of the header, a header in JSON, then one buffer after the other, each at
a multiple of eight bytes. Numbers are 64 bits, little-endian; truth values and masks are bits. Keys repeat,
so text is stored in three buffers: the index of each cell among the distinct strings, the lengths of those in
characters (both in 32 bits), and the distinct strings in UTF-8. Nothing in it is executable. Malformed bytes
are refused before any array is made of them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.answers.columns import DTYPES, kind_of
from discreet.arrays import ColumnValues
from discreet.errors import InvalidInput

_MAGIC = b"discreet answer\x01"
_ALIGNED = 8
_PLACE_BYTES = 4
_HEADER_AT = len(_MAGIC) + _ALIGNED


def encode_columns(facts: Mapping[str, object], columns: Sequence[ColumnValues]) -> bytes:
    """The columns, and further facts about them, which must be fit for JSON."""
    buffers: list[bytes] = []
    described = []
    for column in columns:
        kind, missing = kind_of(column), isinstance(column, np.ma.MaskedArray)
        parts = list(_buffers(column, kind))
        described.append(
            {"kind": kind, "length": len(column), "missing": missing, "bytes": [len(part) for part in parts]}
        )
        buffers += parts
    header = json.dumps({"facts": facts, "columns": described}, sort_keys=True).encode("ascii")
    size = len(header).to_bytes(_ALIGNED, "little")
    return b"".join([_MAGIC, size, *(_padded(part) for part in (header, *buffers))])


def decode_columns(data: bytes) -> tuple[dict[str, Any], list[ColumnValues]]:
    """What `encode_columns` was given."""
    try:
        return _decoded(data)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInput(
            "A stored answer cannot be read: it is damaged, or was written by another version of discreet.",
            remedy="Restore it from a backup, or read it with the version that wrote it.",
        ) from error


def _padded(part: bytes) -> bytes:
    return part + bytes(-len(part) % _ALIGNED)


def _buffers(column: ColumnValues, kind: str) -> Iterator[bytes]:
    data = np.ma.getdata(column)
    if kind == "text":
        strings = data.tolist()
        places = {string: place for place, string in enumerate(dict.fromkeys(strings))}
        yield np.fromiter(map(places.__getitem__, strings), dtype="<u4", count=len(strings)).tobytes()
        yield np.fromiter(map(len, places), dtype="<u4", count=len(places)).tobytes()
        # No engine gives half a surrogate pair, but storing an answer must not fail because of its content.
        yield "".join(places).encode("utf-8", "surrogatepass")
    elif kind == "truth":
        yield np.packbits(data, bitorder="little").tobytes()
    else:
        words = data if kind in ("integer", "number") else data.view(np.int64)
        yield words.astype(words.dtype.newbyteorder("<"), copy=False).tobytes()
    if isinstance(column, np.ma.MaskedArray):
        yield np.packbits(np.ma.getmaskarray(column), bitorder="little").tobytes()


class _BufferReader:
    """Takes buffer after buffer, and never beyond the end."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> memoryview:
        end = self._at + size
        padded = end + -size % _ALIGNED
        _require(type(size) is int and size >= 0 and padded <= len(self._data))
        part = self._data[self._at : end]
        _require(not any(self._data[end:padded]))
        self._at = padded
        return part

    def finish(self) -> None:
        _require(self._at == len(self._data))


def _decoded(data: bytes) -> tuple[dict[str, Any], list[ColumnValues]]:
    _require(data[: len(_MAGIC)] == _MAGIC and len(data) >= _HEADER_AT)
    reader = _BufferReader(memoryview(data)[_HEADER_AT:])
    header = json.loads(bytes(reader.take(int.from_bytes(data[len(_MAGIC) : _HEADER_AT], "little"))))
    columns = [_column(reader, described) for described in header["columns"]]
    reader.finish()
    facts = header["facts"]
    _require(isinstance(facts, dict))
    return facts, columns


def _column(reader: _BufferReader, described: dict[str, Any]) -> ColumnValues:
    kind, length, sizes = described["kind"], described["length"], list(described["bytes"])
    _require(type(length) is int and length >= 0 and kind in DTYPES)
    bits = -(-length // 8)
    expected = {"text": [_PLACE_BYTES * length, None, None], "truth": [bits]}.get(kind, [8 * length])
    if described["missing"]:
        expected = [*expected, bits]
    _require(len(sizes) == len(expected))
    _require(all(want in (None, size) for want, size in zip(expected, sizes, strict=True)))
    parts = [reader.take(size) for size in sizes]
    column = _values(kind, length, parts)
    if not described["missing"]:
        return column
    return np.ma.MaskedArray(column, mask=_bits(parts[-1], length))


def _values(kind: str, length: int, parts: list[memoryview]) -> NDArray[Any]:
    match kind:
        case "text":
            different = _strings(
                np.frombuffer(parts[1], dtype="<u4"), str(parts[2], "utf-8", "surrogatepass")
            )
            places = np.frombuffer(parts[0], dtype="<u4")
            _require(not length or int(places.max()) < len(different))
            strings: NDArray[Any] = different[places]
            return strings
        case "truth":
            return _bits(parts[0], length)
        case _:
            word = "<f8" if kind == "number" else "<i8"
            words = np.frombuffer(parts[0], dtype=word).astype(word[1:], copy=False)
            typed: NDArray[Any] = words.view(DTYPES[kind])
            return typed


def _strings(lengths: NDArray[np.uint32], text: str) -> NDArray[np.object_]:
    ends = np.cumsum(lengths, dtype=np.int64).tolist()
    _require((ends[-1] if ends else 0) == len(text))
    strings = np.empty(len(ends), dtype=object)
    strings[:] = [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return strings


def _bits(part: memoryview, length: int) -> NDArray[np.bool_]:
    packed = np.frombuffer(part, dtype=np.uint8)
    return np.unpackbits(packed, count=length, bitorder="little").view(np.bool_)


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError
