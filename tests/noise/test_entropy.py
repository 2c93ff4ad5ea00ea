"""The keystream: unpredictable, never shared, never reused."""

import os
import threading

import numpy as np
import pytest

from discreet.errors import SelfTestFailed
from discreet.noise import entropy, selftest, uniform
from discreet.noise.entropy import SYSTEM, ScriptedEntropy, SystemEntropy, keystream


def test_the_keystream_is_aes_256_in_counter_mode():
    """The first blocks under the zero key, from FIPS 197's cipher: E(0), E(1)."""
    blocks = keystream(bytes(32), bytes(16)).update(bytes(32)).hex()
    assert blocks == "dc95c078a2408989ad48a21492842087530f8afbc74536b9a963b4f1c4cb738b"


@pytest.mark.parametrize("count", [0, 1, 2, 1000, 2**17 - 1, 2**17, 2**17 + 1])
def test_words_come_in_the_number_asked_for(count):
    SYSTEM.words(1)  # from here on a block is at hand, of which none is taken for 0
    words = SYSTEM.words(count)
    assert words.shape == (count,)
    assert words.dtype == np.uint64


def test_words_are_uniform():
    """Each of 64 bit sums is within 7 standard deviations: false alarm below 2·10⁻¹⁰."""
    words = SYSTEM.words(2**20)
    ones = np.array([int((words >> np.uint64(bit) & np.uint64(1)).sum()) for bit in range(64)])
    assert (np.abs(ones - 2**19) < 7 * 2**9).all()


def test_words_never_repeat():
    """A collision among 2²⁰ words has probability 2⁻²⁵ = 3·10⁻⁸."""
    assert len(np.unique(SYSTEM.words(2**20))) == 2**20


def test_a_key_serves_for_at_most_64_mebibytes(monkeypatch):
    keys = []
    honest = entropy.keystream
    monkeypatch.setattr(entropy, "keystream", lambda key, nonce: keys.append(key) or honest(key, nonce))
    source = SystemEntropy()
    for _ in range(5):
        source.words(2**20)  # 8 MiB
    assert len(set(keys)) == len(keys) == 1
    for _ in range(12):
        source.words(2**20)
    assert len(set(keys)) == len(keys) == 3


def test_threads_have_keystreams_of_their_own():
    drawn = []
    threads = [threading.Thread(target=lambda: drawn.append(SYSTEM.words(4096))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(np.unique(np.concatenate(drawn))) == 8 * 4096


def test_a_forked_child_has_a_keystream_of_its_own():
    SYSTEM.words(1)  # the parent has a key
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, SYSTEM.words(16).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = np.frombuffer(os.read(reader, 128), dtype=np.uint64)
    ours = SYSTEM.words(16)
    assert len(theirs) == 16
    assert not set(ours.tolist()) & set(theirs.tolist())


def test_a_script_is_followed_and_then_filled():
    script = ScriptedEntropy([1, 2], [3])
    assert script.words(3).tolist() == [1, 2, 2**63 + 12345]
    assert script.words(1).tolist() == [3]
    assert script.words(1).tolist() == [2**63 + 12345]


def test_the_self_test_passes_here():
    selftest.run_self_test()


@pytest.mark.parametrize(
    ("module", "name", "broken"),
    [
        (np, "log", lambda x, out=None: np.multiply(np.log2(x), 0.69314718, out=out)),
        (selftest, "keystream", lambda key, nonce: keystream(b"\1" * 32, nonce)),
        (selftest.sampling, "exponentials", lambda words: (words * 0.0, words * 0.0)),
    ],
    ids=["logarithm", "cipher", "sampler"],
)
def test_nothing_is_released_when_a_part_is_broken(monkeypatch, module, name, broken):
    source = SystemEntropy()
    monkeypatch.setattr(module, name, broken)
    with pytest.raises(SelfTestFailed) as failure:
        source.words(1)
    assert "discreet audit" in failure.value.remedy


def test_the_claimed_error_of_the_logarithm_covers_this_machine():
    """The filter allows 4 units in the last place; most libraries stay below 1."""
    rng = np.random.default_rng(0)
    points = rng.random(100_000)
    reference = np.log(points.astype(np.longdouble))
    error = np.abs(np.log(points).astype(np.longdouble) - reference) / np.abs(reference)
    assert error.max() < uniform.LOG_ERROR
