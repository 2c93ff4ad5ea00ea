"""The collector over HTTP, without a network; test_serving.py has one."""

import sys

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.errors import MissingExtra
from discreet.local.batch import write_batch
from discreet.local.collector import service
from discreet.local.collector.acceptance import Reason
from discreet.local.collector.service import Settings, application
from discreet.local.collector.store import LARGEST_BATCH, Collector
from discreet.local.signing import key_in, sign
from tests.local.collector.asgi import request
from tests.local.collector.surveys import TODAY, batches_of, reports_of, same, survey, tallies_of

ASKED = survey()
SIGNED = sign(ASKED, Ed25519PrivateKey.generate())


@pytest.fixture
def collector(tmp_path):
    with Collector(tmp_path / "reports", ASKED, today=TODAY) as open_collector:
        yield open_collector


@pytest.fixture
def app(collector):
    return application(collector, SIGNED)


def test_reports_are_acknowledged(app, collector):
    (batch,) = batches_of(ASKED, 10)
    first = request(app, "POST", "/reports", batch)
    assert (first.status, first.json) == (200, {"accepted": 30, "rejected": 0, "repeated": False})
    assert request(app, "POST", "/reports", batch).json["repeated"] is True
    assert same(collector.counts().tallies, tallies_of(ASKED, [batch]))


def test_a_body_may_come_in_pieces(app):
    (batch,) = batches_of(ASKED, 10)
    pieces = [batch[start : start + 7] for start in range(0, len(batch), 7)]
    assert request(app, "POST", "/reports", chunks=pieces).json["accepted"] == 30


def test_mistakes_are_told_in_our_words_and_without_content(app, collector):
    (batch,) = batches_of(ASKED, 10)
    for bad, reason in (
        (b"", "malformed"),
        (batch[:-1], "malformed"),
        (bytes([1]) + bytes(32), "other survey"),
    ):
        answer = request(app, "POST", "/reports", bad)
        assert answer.status == 400
        assert set(answer.json) == {"problem", "remedy"}
        assert collector.rejected()[Reason(reason)] > 0
    assert not any(collector.reports().values())


def test_a_survey_that_has_ended_refuses(tmp_path):
    late = survey(expires=TODAY.replace(year=2020))
    with Collector(tmp_path / "late", late) as collector:
        app = application(collector, SIGNED)
        assert request(app, "POST", "/reports", batches_of(late, 10)[0]).status == 400
        assert collector.rejected() == {Reason.EXPIRED: 1}


def test_a_huge_body_is_refused_while_it_is_read(app, collector):
    read = []

    def chunks():
        for _ in range(1000):
            read.append(1)
            yield bytes(2**16)

    answer = request(app, "POST", "/reports", chunks=chunks())
    assert answer.status == 413
    assert len(read) == LARGEST_BATCH // 2**16 + 1
    assert collector.rejected() == {Reason.TOO_LARGE: 1}


def test_a_body_that_says_it_is_huge_is_not_read(app, collector):
    headers = [("content-length", str(LARGEST_BATCH + 1))]
    answer = request(app, "POST", "/reports", chunks=[b"x"], headers=headers)
    assert answer.status == 413
    assert answer.headers["connection"] == "close"
    assert collector.rejected() == {Reason.TOO_LARGE: 1}


def test_the_largest_body_is_taken(app):
    report = reports_of(ASKED, 0, [1])[0]
    batch = write_batch(ASKED, [(0, report)] * ((LARGEST_BATCH - 33) // 2))
    assert LARGEST_BATCH - 2 < len(batch) <= LARGEST_BATCH
    assert request(app, "POST", "/reports", batch).json["accepted"] == (LARGEST_BATCH - 33) // 2


def test_a_slow_body_is_given_up(collector):
    app = application(collector, SIGNED, Settings(body_seconds=0.2))
    (batch,) = batches_of(ASKED, 10)
    answer = request(app, "POST", "/reports", chunks=[batch[:5], batch[5:]], pause=0.15)
    assert answer.status == 408
    assert collector.rejected() == {Reason.TOO_SLOW: 1}
    assert not any(collector.reports().values())


def test_a_body_that_ends_with_its_connection_does_not_count(app, collector):
    (batch,) = batches_of(ASKED, 10)
    request(app, "POST", "/reports", batch, disconnect=True)
    assert collector.rejected() == {Reason.MALFORMED: 1}
    assert not any(collector.reports().values())


def test_a_collector_that_cannot_write_says_so(app, collector):
    collector.close()
    answer = request(app, "POST", "/reports", batches_of(ASKED, 10)[0])
    assert answer.status == 503
    assert "again later" in answer.json["remedy"]


def test_the_survey_is_served_as_it_was_signed(app):
    answer = request(app, "GET", "/survey.json")
    assert answer.body.decode() == SIGNED
    assert answer.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/survey.json", 200),
        ("POST", "/reports", 400),
        ("OPTIONS", "/reports", 204),
        ("GET", "/reports", 404),
        ("GET", "/estimate.json", 404),
        ("GET", "/nothing", 404),
        ("GET", "/../service.py", 404),
        ("GET", "/..%2fservice.py", 404),
        ("DELETE", "/survey.json", 405),
    ],
)
def test_every_answer_has_our_headers(app, method, path, status):
    answer = request(app, method, path)
    assert answer.status == status
    policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'"
    assert answer.headers["content-security-policy"].startswith(policy)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert "set-cookie" not in answer.headers
    if status >= 400:
        assert set(answer.json) == {"problem", "remedy"}


def test_pages_elsewhere_may_send_reports(app):
    asked = [("origin", "https://example.org"), ("access-control-request-method", "POST")]
    answer = request(app, "OPTIONS", "/reports", headers=asked)
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "content-type" in answer.headers["access-control-allow-headers"]
    assert request(app, "POST", "/reports", b"x").headers["access-control-allow-origin"] == "*"


def test_estimates_are_shown_where_the_owner_says_so(collector):
    app = application(collector, SIGNED, Settings(show_estimates=True, demo=True, minimum=50))
    answers = np.repeat([0, 1], [3000, 1000])
    collector.add(write_batch(ASKED, [(0, report) for report in reports_of(ASKED, 0, answers)]))
    collector.add(write_batch(ASKED, [(1, report) for report in reports_of(ASKED, 1, [7] * 49)]))
    collector.add(write_batch(ASKED, [(2, report) for report in reports_of(ASKED, 2, [2048] * 400)]))
    found = request(app, "GET", "/estimate.json").json
    assert found["demo"] is True
    smokes, town, hours = found["questions"]
    assert (smokes["name"], smokes["reports"], smokes["needed"]) == ("smokes", 4000, 50)
    assert [share["option"] for share in smokes["shares"]] == ["no", "yes"]
    for share, truth in zip(smokes["shares"], (0.75, 0.25), strict=True):  # ± 5.5 σ: 4e-8
        assert abs(share["share"] - truth) < 2.8 * share["error"]
    assert sum(share["distribution"] for share in smokes["shares"]) == pytest.approx(1)
    assert town == {"name": "town", "reports": 49, "needed": 50}
    assert abs(hours["mean"] - 12) < 2.8 * hours["error"]
    assert (hours["lower"], hours["upper"]) == (0, 24)


def test_of_many_options_the_largest_are_shown(collector):
    app = application(collector, SIGNED, Settings(show_estimates=True, minimum=50))
    collector.add(write_batch(ASKED, [(1, report) for report in reports_of(ASKED, 1, [7] * 2000)]))
    town = request(app, "GET", "/estimate.json").json["questions"][1]
    assert len(town["shares"]) == 20
    assert town["others"] == 980
    assert town["shares"][0]["option"] == "7"
    shares = [share["share"] for share in town["shares"]]
    assert shares == sorted(shares, reverse=True)


def test_estimates_are_kept_for_a_moment(collector, monkeypatch):
    asked = []
    honest = service.estimates_as_json
    monkeypatch.setattr(
        service, "estimates_as_json", lambda *args, **named: asked.append(1) or honest(*args, **named)
    )
    app = application(collector, SIGNED, Settings(show_estimates=True))
    for _ in range(3):
        request(app, "GET", "/estimate.json")
    assert len(asked) == 1
    monkeypatch.setattr(service, "CACHE_SECONDS", -1)
    request(app, "GET", "/estimate.json")
    assert len(asked) == 2


def test_the_page_knows_the_key(tmp_path, collector, monkeypatch):
    page = tmp_path / "browser"
    page.mkdir()
    (page / "index.html").write_text('<html><meta name="survey-key" content=""><p>')
    (page / "client.js").write_text("export {}")
    (page / "notes.txt").write_text("not for the world")
    monkeypatch.setattr(service, "PAGE", page)
    app = application(collector, SIGNED)
    answer = request(app, "GET", "/")
    assert f'content="{key_in(SIGNED)}"' in answer.body.decode()
    assert answer.headers["content-type"].startswith("text/html")
    assert request(app, "GET", "/client.js").headers["content-type"].startswith("text/javascript")
    assert request(app, "GET", "/notes.txt").status == 404


def test_an_error_of_ours_is_not_shown(app, collector, monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError("something secret")

    monkeypatch.setattr(collector, "add_soon", broken)
    answer = request(app, "POST", "/reports", b"x")
    assert answer.status == 500
    assert "secret" not in answer.body.decode() + caplog.text
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_missing_extra_is_said(collector, monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette", None)
    with pytest.raises(MissingExtra) as missing:
        application(collector, SIGNED)
    assert missing.value.remedy == 'Run: pip install "discreet[server]"'
