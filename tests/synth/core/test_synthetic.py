"""Synthetic tables are stored and read again, and draw the same rows."""

import zlib
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidInput
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import PureLoss
from discreet.model.sensitivity import Sensitivity
from discreet.synth.core import synthesis
from discreet.synth.core.domain import Domain, Marginal
from discreet.synth.core.measurement import Measurement
from discreet.synth.core.synthesis import synthesise
from discreet.synth.core.synthetic import Synthetic, decode_measurements, encode_measurements
from discreet.synth.core.weight_array import Halves

SMALL = Domain(sizes=(3, 4, 6), optional=(True, False, True))
WIDE = Domain(sizes=(300, 400, 50, 2))


def made(domain, monkeypatch):
    monkeypatch.setattr(synthesis, "sample_size", lambda _: 3000)
    chance = np.random.default_rng(1)
    columns = [chance.integers(0, size - (size == 6), 5000) for size in domain.sizes]
    return synthesise(
        domain,
        lambda marginals: [each.counts(columns) for each in marginals],
        loss=PureLoss(epsilon=Fraction(3)),
        sensitivity=Sensitivity.histogram(Neighbours.ADD_REMOVE),
    )


@pytest.mark.parametrize("domain", [SMALL, WIDE])
def test_what_is_stored_is_read_again(domain, monkeypatch):
    synthetic = made(domain, monkeypatch)
    stored = synthetic.encode()
    again = Synthetic.decode(stored)
    assert again.domain == domain
    assert again.people == synthetic.people
    assert np.allclose(again.records.weights, synthetic.records.weights, rtol=1e-6, atol=1e-30)
    for before, after in zip(synthetic.records.columns, again.records.columns, strict=True):
        assert (before == after).all()
    for before, after in zip(synthetic.measurements, again.measurements, strict=True):
        assert before.marginal.attributes == after.marginal.attributes
        assert before.marginal.shape == after.marginal.shape
        assert all((x == y).all() for x, y in zip(before.marginal.codes, after.marginal.codes, strict=True))
        assert (before.counts == after.counts).all()
        assert before.variance == after.variance
    assert synthetic.encode() == stored == again.encode()


@pytest.mark.parametrize("domain", [SMALL, WIDE])
def test_it_draws_the_same_rows(domain, monkeypatch):
    synthetic = made(domain, monkeypatch)
    again = Synthetic.decode(synthetic.encode())
    first, second = (each.rows(1000, np.random.default_rng(2)) for each in (synthetic, again))
    assert np.mean([(x == y).mean() for x, y in zip(first, second, strict=True)]) > 0.99


def test_other_bytes_are_refused(monkeypatch):
    stored = made(SMALL, monkeypatch).encode()
    magic = stored[: stored.index(b"\n") + 1]
    body = zlib.decompress(stored[len(magic) :])
    others = [b"", b"x", magic, stored[:-9], stored[1:], magic + zlib.compress(body[:-1])]
    others.append(magic + zlib.compress(body.replace(b'"<f4"', b'"|O8"')))
    others.append(magic + zlib.compress(body.replace(b'"sizes": [3', b'"sizes": [0')))
    for other in others:
        with pytest.raises(InvalidInput):
            Synthetic.decode(other)


def test_very_many_questions_can_be_read_again(monkeypatch):
    """A bit for each cell of a question: what was paid for must not be too large to be read."""
    monkeypatch.setattr("discreet.synth.core.synthetic._LARGEST", 2**17)
    chance = np.random.default_rng(3)
    table = Marginal.full(Domain(sizes=(64, 64)), (0, 1))
    questions = [
        Measurement(
            marginal=Halves(
                attributes=table.attributes,
                codes=table.codes,
                table=table,
                mask=chance.random(table.cells) < 0.5,
            ),
            counts=np.array([1.0, 2.0]),
            variance=1.0,
        )
        for _ in range(100)
    ]
    for before, after in zip(questions, decode_measurements(encode_measurements(questions)), strict=True):
        assert (before.marginal.mask == after.marginal.mask).all()
