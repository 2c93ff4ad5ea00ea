"""Random bits: an AES-256 keystream in counter mode, keyed by the operating system.

There is no seed to set. Each thread has its own keystream, so threads never share bits and never
wait for each other; a forked child starts with fresh keys; each key serves for at most 64 MiB.
"""

import os
import threading
from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint64]

REKEY_BYTES = 64 * 2**20
_CHUNK_BYTES = 2**20
_CIPHER_BLOCK = 16
_BLOCK_WORDS = 4096
_SMALL = 64
_ZEROS = memoryview(bytes(_CHUNK_BYTES))


class Entropy(Protocol):
    """A source of independent uniform 64-bit words."""

    def words(self, count: int) -> Words: ...


def keystream(key: bytes, nonce: bytes) -> CipherContext:
    """AES-256 in counter mode: encrypting zeros yields the keystream."""
    return Cipher(algorithms.AES(key), modes.CTR(nonce)).encryptor()


class SystemEntropy:
    """The keystream that every release uses."""

    def __init__(self) -> None:
        self._forget()
        self._tested = False
        if hasattr(os, "register_at_fork"):  # where processes can fork
            os.register_at_fork(after_in_child=self._forget)

    def words(self, count: int) -> Words:
        if not self._tested:
            self._test()
        return self._from_block(count) if count <= _SMALL else self._fresh(count)

    def _from_block(self, count: int) -> Words:
        """A few words off the end of a block that is kept for that.

        The block is taken out while it is used: a signal handler that draws in the middle finds none, and
        starts one of its own. No two draws ever see the same words, nor words that were wiped.
        """
        mine = self._local.__dict__
        block: Words | None = mine.pop("block", None)
        if block is None or len(block) < count:
            block = self._fresh(_BLOCK_WORDS)
        left = len(block) - count
        out = block[left:].copy()
        block[left:] = 0
        mine["block"] = block[:left]
        return out

    def _fresh(self, count: int) -> Words:
        size = 8 * count
        out = bytearray(size + _CIPHER_BLOCK)  # update_into may ask for a block more than it writes
        view = memoryview(out)
        for start in range(0, size, _CHUNK_BYTES):
            part = min(_CHUNK_BYTES, size - start)
            buffer = view[start : start + part + _CIPHER_BLOCK]
            self._stream_with(part).update_into(_ZEROS[:part], buffer)
        return np.frombuffer(out, dtype=np.uint64, count=count)

    def __copy__(self) -> "SystemEntropy":
        return self  # a copy would repeat the keystream

    def __deepcopy__(self, memo: object) -> "SystemEntropy":
        return self

    def __reduce__(self) -> str:
        return "SYSTEM"

    def _forget(self) -> None:
        self._local = threading.local()

    def _stream_with(self, size: int) -> CipherContext:
        """This thread's keystream, re-keyed when its key would serve for more than REKEY_BYTES."""
        mine = self._local.__dict__
        stream: CipherContext | None
        stream, left = mine.get("stream", (None, 0))
        if stream is None or left < size:
            secret = os.urandom(48)
            stream, left = keystream(secret[:32], secret[32:]), REKEY_BYTES
        mine["stream"] = (stream, left - size)
        return stream

    def _test(self) -> None:
        """No random bit leaves before the noise has passed its known-answer test in this process."""
        from discreet.noise.selftest import run_self_test

        run_self_test()
        self._tested = True


class ScriptedEntropy:
    """Prepared words, then a filler: for self-tests and audits, which need to know what was drawn.

    Each call takes from the next script; what a script lacks is filled with the filler word.
    """

    def __init__(self, *scripts: Sequence[int] | Words, filler: int = 2**63 + 12345) -> None:
        self._scripts = [np.asarray(script, dtype=np.uint64) for script in scripts]
        self._filler = filler

    def words(self, count: int) -> Words:
        script = self._scripts.pop(0) if self._scripts else np.empty(0, dtype=np.uint64)
        out = np.full(count, self._filler, dtype=np.uint64)
        taken = min(count, len(script))
        out[:taken] = script[:taken]
        return out


SYSTEM = SystemEntropy()
