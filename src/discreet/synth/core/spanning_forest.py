"""Where the fit of a wide table begins: records that follow the strongest relations, as a forest.

Of all laws in which every attribute depends on one other at most, the one nearest to the data joins the pairs
of greatest mutual information to a spanning tree (Chow, Liu, IEEE Transactions on Information Theory 1968).
Records are drawn from it exactly, from the roots on. A sample that began with independent attributes would
have to be moved, one attribute at a time, until the ends of a chain depend on each other.

Everything here is made from measurements, and is free.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from discreet.arrays import Floats
from discreet.synth.core.cells import Cells
from discreet.synth.core.domain import Domain, Marginal
from discreet.synth.core.fit import fit
from discreet.synth.core.measurement import Measurement
from discreet.synth.core.records import Sample, Term, added

_ROUNDS = 30
_LEAST = 1e-12  # of all people in a cell, so that there is a logarithm


def planted(
    records: Sample,
    pairs: Sequence[Measurement],
    laws: Sequence[Floats],
    people: float,
    random: np.random.Generator,
) -> list[Term]:
    """Draws the records anew from a forest. Returns its exponents."""
    known = [_information(each, laws, people) for each in pairs]
    strongest = sorted((i for i in range(len(pairs)) if known[i] > 0), key=lambda i: -known[i])
    edges = [
        _exponents(each, laws, people, random) for each in _spanning([pairs[i] for i in strongest], len(laws))
    ]
    for term, child in _from_the_roots(edges):
        records.follow(term, child)
    return edges


def _spanning(pairs: Sequence[Measurement], attributes: int) -> Iterator[Measurement]:
    """In their order, the pairs that join two parts that were not joined before (Kruskal 1956)."""
    trees = list(range(attributes))
    for each in pairs:
        first, second = (trees[i] for i in each.marginal.attributes)
        if first != second:
            trees = [first if tree == second else tree for tree in trees]
            yield each


def _from_the_roots(edges: Sequence[Term]) -> Iterator[tuple[Term, int]]:
    """Every edge once, with the attribute that it leads to, after the edge that leads to the other one."""
    left, reached = list(edges), set[int]()
    while left:
        ready = [each for each in left if reached & set(each.marginal.attributes)]
        if not ready:
            reached.add(left[0].marginal.attributes[0])
            continue
        for each in ready:
            first, second = each.marginal.attributes
            child = second if first in reached else first
            yield each, child
            reached.add(child)
        left = [each for each in left if each not in ready]


def _alone(marginal: Marginal, laws: Sequence[Floats]) -> tuple[Floats, Floats]:
    """The law of each of the two attributes, in the bins of a table."""
    sides = zip(marginal.attributes, marginal.codes, marginal.shape, strict=True)
    first, second = (added(laws[attribute], codes, size) for attribute, codes, size in sides)
    return first, second


def _information(pair: Measurement, laws: Sequence[Floats], people: float) -> float:
    """About the mutual information of two attributes, 0 if noise hides it.

    The table is shrunk towards the independent one by as much as the noise suggests (James, Stein 1961).
    """
    even = np.outer(*_alone(pair.marginal, laws)).ravel()
    off = pair.counts + (people - pair.counts.sum()) / len(even) - even * people
    kept = 1 - pair.variance * len(even) / max(float(off @ off), _LEAST)
    if kept <= 0:
        return 0.0
    table = np.maximum(even + kept * off / people, _LEAST)
    table /= table.sum()
    return kept * float(table @ np.log(table / np.maximum(even, _LEAST)))


def _exponents(pair: Measurement, laws: Sequence[Floats], people: float, random: np.random.Generator) -> Term:
    """How much more often two values meet than if they had nothing to do with each other, as a logarithm.

    The table is fitted to what was measured, and then to the laws, by iterative proportional fitting: so each
    attribute of the forest has its law.
    """
    first, second = _alone(pair.marginal, laws)
    cells = Cells(Domain(sizes=pair.marginal.shape))
    cells.weights = np.outer(first, second).ravel()
    whole = Marginal.full(cells.domain, (0, 1))
    fit(
        cells,
        [Measurement(marginal=whole, counts=pair.counts, variance=pair.variance)],
        people,
        random=random,
    )
    table = np.maximum(cells.weights, _LEAST).reshape(pair.marginal.shape)
    for _ in range(_ROUNDS):
        table *= (first / table.sum(axis=1))[:, None]
        table *= second / table.sum(axis=0)
    term = Term(pair.marginal)
    term.exponents[:] = np.log(table / np.outer(first, second)).ravel()
    return term
