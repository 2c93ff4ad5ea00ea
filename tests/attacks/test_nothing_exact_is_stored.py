"""Attack G1, by what is stored: all of it is noisy, and follows from the noisy numbers alone.

The intervals of an answer are simulated from a seed that follows from the stored draw. Who knows the noisy
numbers can try what else might have been stored, and compare. So nothing else may be: neither the order in
which a database met the groups, nor the kind of integer that an exact sum needed.
"""

import numpy as np
import pytest

from discreet.model.deadline import Deadline
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.release.draw import answer_from, draw_noise
from discreet.release.drawn import Drawn
from discreet.release.exact_vectors import integers_of
from tests.question.clinic import Database, clinic, planned

BY_NOTE = "SELECT note, count(*) AS n, 2 * count(*) AS d, median(age) AS m FROM visits GROUP BY note"
ROWS = [
    (person, "north", 1.0, 3 * person, note) for note in "cabd" for person in range(ord(note), ord(note) + 60)
]


@pytest.fixture
def without_noise(monkeypatch):
    for law in (DiscreteLaplace, DiscreteGaussian):
        monkeypatch.setattr(law, "release", lambda _, vector, **__: np.array(vector))


def backwards(results):
    """As a database would return the groups that it met in another order."""
    found = []
    for statement, table in results:
        found.append((statement, {name: column[::-1] for name, column in table.items()}))
    return found


@pytest.mark.usefixtures("without_noise")
def test_g1_the_order_in_which_groups_were_met_is_not_stored():
    database = Database()
    plan = planned(BY_NOTE, clinic(delta="1e-6"), epsilon=8)
    database.fill(ROWS)
    results = database.results(plan)
    stored = draw_noise(plan, results)
    assert Drawn.decode(stored).groups == 4
    assert draw_noise(plan, backwards(results)) == stored


@pytest.mark.usefixtures("without_noise")
def test_g1_an_answer_that_was_stored_in_another_order_does_not_tell_it():
    """Such answers lie in older ledgers."""
    database = Database()
    plan = planned(BY_NOTE, clinic(delta="1e-6"), epsilon=8)
    database.fill(ROWS)
    sorted_ = Drawn.decode(draw_noise(plan, database.results(plan)))
    order, size = np.array([2, 0, 3, 1]), {i: len(nodes) // 4 for i, nodes in sorted_.trees.items()}
    older = Drawn(
        groups=4,
        keys=tuple(key[order] for key in sorted_.keys),
        places=None,
        sums={i: vector[order] for i, vector in sorted_.sums.items()},
        trees={i: nodes.reshape(4, size[i])[order].reshape(-1) for i, nodes in sorted_.trees.items()},
        left_out=sorted_.left_out,
    )
    assert older.encode() != sorted_.encode()
    first, second = (answer_from(plan, each.encode(), Deadline.after(60)) for each in (sorted_, older))
    for name in ("d", "m"):
        assert first.low[name].tolist() == second.low[name].tolist()
        assert first.high[name].tolist() == second.high[name].tolist()


@pytest.mark.parametrize("value", [1, 2**62 - 1, 2**62, 2**70])
def test_g1_no_exact_sum_chooses_its_kind_of_integer(value):
    """Of one kind, noisy sums saturate at 2⁶³, of the other they do not: that would show past any noise."""
    wide = np.array([value, 0], dtype=object)
    assert integers_of(wide).dtype == object
    assert integers_of(np.ma.MaskedArray(wide, mask=[False, True])).dtype == object


def test_g1_a_sum_that_one_person_moves_beyond_64_bits_saturates_no_sooner():
    """The known row adds 2⁶¹ steps and the secret one as many more; noise is far larger than either."""
    database = Database()
    question = "SELECT sum(CASE WHEN patient <= 1 AND cost > 0 THEN 2199023255552.0 END) AS s FROM visits"
    plan = planned(question, clinic(max_rows=1), epsilon="0.01")
    kinds = []
    for secret in (1.0, -1.0):
        database.fill([(0, "north", 1.0, 1), (1, "north", secret, 1)])
        drawn = [Drawn.decode(draw_noise(plan, database.results(plan))).sums for _ in range(12)]
        drawn = [vector for (vector,) in (sums.values() for sums in drawn)]
        kinds.append({vector.dtype for vector in drawn})
        assert not any(abs(int(vector[0])) in (2**63 - 1, 2**63) for vector in drawn)
    assert kinds[0] == kinds[1]
