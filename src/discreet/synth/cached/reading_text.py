"""A reading as text, for whoever keeps it: everything in it is released, and everything is needed."""

import base64
import json
from fractions import Fraction

import numpy as np

from discreet.errors import InvalidInput
from discreet.noise.additive import AdditiveNoise
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.synth.cached.counting_question import CountingQuestion, Mask
from discreet.synth.cached.readings import Reading
from discreet.synth.cached.resolutions import bins, radices
from discreet.synth.cached.strategy import Buy, Pay
from discreet.synth.core.domain import Domain

_LONGEST_INTEGER = 21
"""64 bits with their sign, and the comma after it."""
_FIELDS = 4096
"""Names, attributes, levels and the noise, which is a fraction of two floats' digits."""


def most_bytes(step: Pay | Buy) -> int:
    """The most bytes that the readings of a step take as text."""
    if isinstance(step, Pay):
        return _FIELDS + step.mask.size // 6 + _LONGEST_INTEGER  # a mask has 6 bits in a letter
    return _FIELDS * len(step.tables) + _LONGEST_INTEGER * step.counts


def as_text(reading: Reading) -> str:
    """The same reading gives the same text."""
    gaussian = isinstance(reading.noise, DiscreteGaussian)
    scale = (
        reading.noise.sigma_squared if isinstance(reading.noise, DiscreteGaussian) else reading.noise.scale
    )
    fields = {
        "attributes": list(reading.attributes),
        "levels": None if reading.levels is None else list(reading.levels),
        "mask": None if reading.mask is None else _packed(reading.mask),
        "noise": ["gaussian" if gaussian else "laplace", str(scale)],
        "counts": reading.counts.tolist(),
    }
    return json.dumps(fields, separators=(",", ":"))


def from_text(text: str, domain: Domain) -> Reading:
    """What `as_text` wrote, for the domain that it was read of."""
    try:
        fields = json.loads(text)
        attributes, levels = tuple(fields["attributes"]), fields["levels"]
        sizes = [domain.sizes[each] for each in attributes]
        mask = None if levels is not None else _unpacked(fields["mask"], sizes)
        counts = np.array(fields["counts"], dtype=np.int64)
        noise = _noise(*fields["noise"])
    except (ValueError, KeyError, TypeError, IndexError, OverflowError):
        raise _damaged() from None
    if mask is not None:
        whole = CountingQuestion.about(domain, attributes, mask).attributes == attributes
        fits = whole and counts.shape == (1,)
    else:
        fits = len(levels) == len(sizes) and all(map(_is_level, levels, sizes))
        fits = fits and counts.shape == (
            int(np.prod([bins(*each) for each in zip(sizes, levels, strict=True)])),
        )
    if not fits:
        raise _damaged()
    return Reading(
        attributes=attributes,
        levels=None if levels is None else tuple(levels),
        mask=mask,
        noise=noise,
        counts=counts,
    )


def _is_level(level: object, size: int) -> bool:
    return isinstance(level, int) and 0 <= level <= len(radices(size))


def _noise(kind: str, scale: str) -> AdditiveNoise:
    if kind == "gaussian":
        return DiscreteGaussian(sigma_squared=Fraction(scale))
    if kind == "laplace":
        return DiscreteLaplace(scale=Fraction(scale))
    raise _damaged()


def _packed(mask: Mask) -> str:
    return base64.b64encode(np.packbits(mask).tobytes()).decode()


def _unpacked(text: str, sizes: list[int]) -> Mask:
    cells = int(np.prod(sizes, dtype=np.int64))
    bits = np.unpackbits(np.frombuffer(base64.b64decode(text, validate=True), dtype=np.uint8), count=cells)
    return bits.astype(np.bool_).reshape(sizes)


def _damaged() -> InvalidInput:
    return InvalidInput(
        "A stored reading does not belong to this domain, or is damaged.",
        remedy="Give what was stored, and the domain it was stored for.",
    )
