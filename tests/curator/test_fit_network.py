"""A torch network through the curator: charged, kept, and the same again."""

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: .venv/torch.log says why")

import discreet.learn as learn  # noqa: E402
from discreet.errors import EngineFailed, InvalidInput, QueryRefused  # noqa: E402
from tests.curator.test_fit import ROWS as VISITS  # noqa: E402
from tests.curator.test_fit import curator_of, usable, write  # noqa: E402

SQL = "SELECT (age - 50) / 30.0 AS years, dose / 10 AS dose, ward, ill FROM visits"


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, VISITS.format(rows=6000))
    return tmp_path


def network(outputs=1, seed=1):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, outputs))


def private(outputs=1, seed=1, loss=torch.nn.functional.binary_cross_entropy_with_logits, **settings):
    given = {"rows": 5000, "steps": 12, "rate": 2.0, "key": "net 1"} | settings
    return learn.privatize(network(outputs, seed), loss=loss, **given)


def test_a_network_is_charged_once_and_learns(folder):
    """At ε = 100 nothing is left to chance but the start, which is fixed."""
    curator = curator_of(folder)
    first = curator.fit(private(steps=30), SQL, epsilon=100)
    table = usable(folder)
    columns = {"years": (table.age - 50) / 30, "dose": table.dose / 10, "ward": table.ward}
    assert (first.predict(columns) == table.ill).mean() > 0.75
    spent = curator.budget().spent
    assert spent.rho == first.charged.rho == first[-1].loss_.rho
    assert "PrivateNetwork of 4 features" in str(first)
    again = curator_of(folder).fit(private(steps=30), SQL, epsilon=100)
    assert again.repeated
    for one, other in zip(first[-1].network_.parameters(), again[-1].network_.parameters(), strict=True):
        assert torch.equal(one, other)
    assert curator.budget().spent == spent


def test_another_key_or_setting_is_another_fit(folder):
    curator = curator_of(folder)
    curator.fit(private(), SQL, epsilon=1)
    alone = private(one_row_at_a_time=True, steps=1, rows=500)
    for other in (private(key="net 2"), private(clip=0.5), alone):
        assert not curator.fit(other, SQL, epsilon=1).repeated


def test_the_same_key_is_the_same_model_whatever_the_network_starts_from(folder):
    curator = curator_of(folder)
    first = curator.fit(private(), SQL, epsilon=1)
    again = curator_of(folder).fit(private(seed=2), SQL, epsilon=1)
    assert again.repeated
    assert again[-1].state() == first[-1].state()
    assert again.receipt == first.receipt


def test_without_a_key_every_fit_is_charged(folder):
    curator, model = curator_of(folder), private(key=None)
    models = [curator.fit(model, SQL, epsilon=1) for _ in range(2)]
    assert not any(each.repeated for each in models)
    assert curator.budget().spent.rho == 2 * models[0].charged.rho
    assert models[0][-1].state() != models[1][-1].state()


@pytest.mark.parametrize(
    "wider",
    [
        torch.nn.Sequential(torch.nn.Linear(4, 7), torch.nn.Tanh(), torch.nn.Linear(7, 1)),
        torch.nn.Linear(4, 1),
    ],
)
def test_a_key_of_another_network_is_refused_and_costs_nothing(folder, wider):
    curator = curator_of(folder)
    curator.fit(private(), SQL, epsilon=1)
    spent = curator.budget().spent
    model = private().set_params(network=wider)
    with pytest.raises(InvalidInput, match="stored for the key “net 1” do not fit this network"):
        curator.fit(model, SQL, epsilon=1)
    assert curator.budget().spent == spent


@pytest.mark.parametrize(("key", "again"), [("net 1", "not charged twice"), (None, "charged anew")])
def test_after_a_failure_of_the_database_the_next_price_is_told(folder, monkeypatch, key, again):
    curator, model = curator_of(folder), private(key=key)

    def fails(*_, **__):
        raise EngineFailed("The database stopped.", remedy="Ask again.")

    with monkeypatch.context() as patched:
        patched.setattr(curator._engine, "run_each", fails)
        with pytest.raises(EngineFailed) as failure:
            curator.fit(model, SQL, epsilon=1)
    assert again in failure.value.remedy
    spent = curator.budget().spent.rho
    curator.fit(model, SQL, epsilon=1)
    assert curator.budget().spent.rho == (spent if key else 2 * spent)


def test_numbers_and_several_classes(folder):
    curator = curator_of(folder)
    squares = private(loss=torch.nn.functional.mse_loss, rate=0.3)
    sql = "SELECT (age - 50) / 30.0 AS years, dose / 10 AS dose, ward, cost / 200 AS cost FROM visits"
    numbers = curator.fit(squares, sql, epsilon=100)
    assert numbers.predict([[0.5, 0.5, "north"]]).shape == (1,)
    several = torch.nn.Linear(2, 3)
    model = learn.privatize(several, loss=torch.nn.functional.cross_entropy, rows=5000, steps=3)
    wards = curator.fit(
        model, "SELECT (age - 50) / 30.0 AS years, dose / 10 AS dose, ward FROM visits", epsilon=10
    )
    assert wards.predict([[0.0, 0.5]])[0] in ("north", "south", "east")


def test_where_there_is_nobody_nothing_shows(folder):
    empty = curator_of(folder).fit(private(), SQL + " WHERE age > 99 AND age < 98", epsilon=1)
    assert np.isfinite(json.loads(json.dumps(empty[-1].state()))["weights"][1]).all()


@pytest.mark.parametrize(
    ("settings", "sql", "words"),
    [
        ({"epsilon": 1}, SQL, "its own epsilon"),
        ({"batch": 0.1}, SQL, "samples"),
        ({"steps": 0}, SQL, "steps"),
        ({}, SQL.replace("dose / 10 AS dose, ", ""), "made-up row"),
        ({"outputs": 3}, SQL, "classes do not match"),
    ],
)
def test_what_is_refused_costs_nothing(folder, settings, sql, words):
    curator = curator_of(folder)
    with pytest.raises((InvalidInput, QueryRefused), match=words):
        curator.fit(private(**settings), sql, epsilon=1)
    assert curator.budget().spent.rho == 0


def test_how_many_rows_of_a_person_count_is_from_the_policy(folder):
    assert curator_of(folder, max_rows=7).plan_fit(private(), SQL, epsilon=1).estimator.rows_per_person == 7


def test_its_price_and_noise_are_explained(folder):
    found = curator_of(folder).explain_fit(private(), SQL, epsilon=1)
    assert found.rows_needed > 10
    assert "PrivateNetwork of “ill” by 4 features" in str(found)


@pytest.mark.parametrize("rows", [0, 100])
@pytest.mark.parametrize("number", [Fraction(1, 2), Decimal("0.5"), np.float32(0.5)])
def test_settings_may_be_any_numbers_whether_or_not_there_are_rows(tmp_path, number, rows):
    """A failure that only rows bring about would tell that there are some."""
    write(tmp_path, VISITS.format(rows=rows))
    model = private(clip=number, rate=number, momentum=number, steps=2)
    assert len(curator_of(tmp_path).fit(model, SQL, epsilon=1).features) == 4
