"""The exact law of the client's own code: run it along every path that random draws could take."""

from collections import defaultdict
from fractions import Fraction

from discreet.local.mechanisms.randomness import RANGE, Draws


class Undecided:
    """A drawn integer of which only comparisons are known. Any other use of it is an error."""

    def __init__(self, paths):
        self._paths, self._low, self._high = paths, 0, RANGE

    def __lt__(self, threshold):
        cut = min(max(threshold, self._low), self._high)
        below = self._paths.choose([cut - self._low, self._high - cut]) == 0
        self._low, self._high = (self._low, cut) if below else (cut, self._high)
        return below

    def __ge__(self, threshold):
        return not self < threshold


class OnePath(Draws):
    """Draws that follow a path of choices, then take the first choice that is possible."""

    def __init__(self, path):
        self._path = path
        self.taken = []
        self.others = []  # paths that leave this one after its given part
        self.weight = Fraction(1)

    def choose(self, weights):
        place = len(self.taken)
        possible = [choice for choice, weight in enumerate(weights) if weight]
        choice = self._path[place] if place < len(self._path) else possible[0]
        if place >= len(self._path):
            self.others += [(*self.taken, other) for other in possible[1:]]
        self.taken.append(choice)
        self.weight *= Fraction(weights[choice], sum(weights))
        return choice

    def integer(self):
        return Undecided(self)

    def below(self, bound):
        return self.choose([1] * bound)


def exact_law(mechanism, answer):
    """The probability of every report that the client can send."""
    law, pending = defaultdict(Fraction), [()]
    while pending:
        draws = OnePath(pending.pop())
        law[mechanism.randomise(answer, draws)] += draws.weight
        pending += draws.others
    return dict(law)
