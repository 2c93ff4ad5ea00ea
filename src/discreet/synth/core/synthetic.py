"""What was learnt of a table: it draws rows, and is stored. It is made from measurements, and is free."""

import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidInput
from discreet.synth.core.cells import Cells
from discreet.synth.core.domain import Domain, Marginal
from discreet.synth.core.measurement import Measurement
from discreet.synth.core.records import DrawnRecords, Records, proportional
from discreet.synth.core.weight_array import Halves

_MAGIC = b"discreet synthetic 1\n"
_LARGEST = 2**30  # bytes, unpacked
Read = TypeVar("Read")


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthetic:
    """Records with weights, and the measurements behind them."""

    domain: Domain
    people: float
    records: Records
    measurements: tuple[Measurement, ...]

    def rows(self, count: int, random: np.random.Generator | None = None) -> list[NDArray[np.integer]]:
        """As many rows as asked for, one array an attribute. Costs nothing, however often."""
        chance = random or np.random.default_rng()
        order = np.lexsort(self.records.columns[::-1])  # similar records are adjacent, and rounded together
        kept = order[proportional(self.records.weights[order], count, chance)]
        chance.shuffle(kept)
        return [column[kept] for column in self.records.columns]

    def encode(self) -> bytes:
        """As bytes, the same for the same table; weights keep 24 bits."""
        facts = {
            "sizes": self.domain.sizes,
            "optional": self.domain.optional,
            "people": self.people,
            "cells": self.records.domain.sizes if isinstance(self.records, Cells) else None,
        }
        told, measured = _of_measurements(self.measurements)
        arrays: list[NDArray[Any]] = [self.records.weights.astype("<f4")]
        if not isinstance(self.records, Cells):
            arrays += [column.astype("<i2") for column in self.records.columns]
        return _packed(facts | told, arrays + measured)

    @classmethod
    def decode(cls, stored: bytes) -> "Synthetic":
        """What `encode` gave."""
        return _read(stored, _decoded)


def encode_measurements(measurements: Sequence[Measurement]) -> bytes:
    """Measurements alone, as bytes."""
    return _packed(*_of_measurements(measurements))


def decode_measurements(stored: bytes) -> list[Measurement]:
    """What `encode_measurements` gave."""
    return _read(stored, _measurements)


def _read(stored: bytes, decoded: Callable[[dict[str, Any], Iterator[NDArray[Any]]], Read]) -> Read:
    try:
        return decoded(*_unpacked(stored))
    except (ValueError, TypeError, KeyError, StopIteration, IndexError, zlib.error) as error:
        raise InvalidInput(
            "This is no synthetic table that was stored.", remedy="Give the bytes of `encode`, unchanged."
        ) from error


def _of_measurements(measurements: Sequence[Measurement]) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    facts = {
        "attributes": [each.marginal.attributes for each in measurements],
        "questions": [isinstance(each.marginal, Halves) for each in measurements],
        "variances": [each.variance for each in measurements],
    }
    arrays: list[NDArray[Any]] = []
    for each in measurements:
        arrays += [code.astype("<i2") for code in each.marginal.codes]
        if isinstance(each.marginal, Halves):
            arrays.append(np.packbits(each.marginal.mask))
        arrays.append(each.counts.astype("<f8"))
    return facts, arrays


def _measurements(facts: dict[str, Any], arrays: Iterator[NDArray[Any]]) -> list[Measurement]:
    found = []
    told = zip(facts["attributes"], facts["questions"], facts["variances"], strict=True)
    for attributes, question, variance in told:
        codes = tuple(next(arrays).astype(np.int32) for _ in attributes)
        marginal = Marginal(attributes=tuple(attributes), codes=codes)
        if question:
            mask = np.unpackbits(next(arrays), count=marginal.cells).astype(np.bool_)
            marginal = Halves(attributes=marginal.attributes, codes=codes, table=marginal, mask=mask)
        counts = next(arrays).astype(np.float64)
        found.append(Measurement(marginal=marginal, counts=counts, variance=variance))
    return found


def _decoded(facts: dict[str, Any], arrays: Iterator[NDArray[Any]]) -> Synthetic:
    domain = Domain(sizes=tuple(facts["sizes"]), optional=tuple(facts["optional"]))
    weights = next(arrays).astype(np.float64)
    if facts["cells"] is None:
        records: Records = DrawnRecords([next(arrays).astype(np.int16) for _ in domain.sizes], weights)
    else:
        records = Cells(Domain(sizes=tuple(facts["cells"])))
        records.weights[:] = weights  # as many, or numpy raises
    measured = tuple(_measurements(facts, arrays))
    return Synthetic(domain=domain, people=facts["people"], records=records, measurements=measured)


def _packed(facts: dict[str, Any], arrays: Sequence[NDArray[Any]]) -> bytes:
    """A line of JSON, then the arrays as they are in memory, all compressed; no code is ever in it."""
    kinds = [(each.dtype.str, len(each)) for each in arrays]
    head = json.dumps(facts | {"arrays": kinds}).encode() + b"\n"
    return _MAGIC + zlib.compress(head + b"".join(each.tobytes() for each in arrays))


def _unpacked(stored: bytes) -> tuple[dict[str, Any], Iterator[NDArray[Any]]]:
    unpacking = zlib.decompressobj()
    body = unpacking.decompress(stored.removeprefix(_MAGIC), _LARGEST)
    if not stored.startswith(_MAGIC) or not unpacking.eof:
        raise ValueError
    head, _, rest = body.partition(b"\n")
    facts = json.loads(head)
    if sum(np.dtype(kind).itemsize * count for kind, count in facts["arrays"]) != len(rest):
        raise ValueError
    return facts, _split(rest, facts["arrays"])


def _split(rest: bytes, kinds: Sequence[tuple[str, int]]) -> Iterator[NDArray[Any]]:
    start = 0
    for kind, count in kinds:
        if kind not in ("<f4", "<f8", "<i2", "|u1"):
            raise ValueError
        yield np.frombuffer(rest, dtype=kind, count=count, offset=start)
        start += np.dtype(kind).itemsize * count
