"""Accounts that compare neighbours: both are handed the same releases."""

import math

import numpy as np

from discreet.learn.core.account import FitAccount


class Recording(FitAccount):
    """Keeps what was released: exact, noisy, reach and share of each."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.taken = []

    def release(self, exact, *, reach, share):
        noisy = super().release(exact, reach=reach, share=share)
        self.taken.append((exact.copy(), noisy.copy(), reach, share))
        return noisy


class Replaying(FitAccount):
    """Hands out what another account released, and keeps the exact sums of its own data."""

    def __init__(self, *args, earlier, **kwargs):
        super().__init__(*args, **kwargs)
        self.earlier = earlier
        self.seen = []

    def release(self, exact, *, reach, share):
        other, noisy, claimed, part = self.earlier[len(self.seen)]
        assert (claimed, part) == (reach, share)
        assert other.shape == exact.shape
        super().release(exact, reach=reach, share=share)
        self.seen.append(exact.copy())
        return noisy


def accounts(patch, *modules):
    """Patches Account in these modules; returns what was opened, and how to replay the last one."""
    opened = []

    def record(*args, **kwargs):
        opened.append(Recording(*args, **kwargs))
        return opened[-1]

    def replay_last():
        earlier = opened[-1].taken
        for module in modules:
            patch.setattr(module, "FitAccount", replaying(earlier))

    def replaying(earlier):
        def opening(*args, **kwargs):
            opened.append(Replaying(*args, earlier=earlier, **kwargs))
            return opened[-1]

        return opening

    def start():
        for module in modules:
            patch.setattr(module, "FitAccount", record)

    return opened, start, replay_last


def excess(recorded, replayed, order):
    """No release moves by more than its claim, exactly; returns the share of each claim that is used."""
    used = []
    assert len(recorded.taken) == len(replayed.seen)
    for (exact, _, reach, _), other in zip(recorded.taken, replayed.seen, strict=True):
        moves = [int(a) - int(b) for a, b in zip(exact.flat, other.flat, strict=True)]
        if order == 1:
            assert sum(map(abs, moves)) <= reach
            used.append(sum(map(abs, moves)) / reach)
        else:
            assert sum(move * move for move in moves) <= reach * reach
            used.append(math.sqrt(sum(move * move for move in moves)) / reach)
    return np.array(used)
