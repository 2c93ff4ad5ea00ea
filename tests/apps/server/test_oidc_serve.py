"""`discreet serve --oidc` as an owner runs it: several processes, a real provider, and one that goes away."""

import json
import re
import socket

import pytest
from click.testing import CliRunner

from discreet.apps.commands.main import main
from tests.apps.server.console.wanderer import Wanderer
from tests.apps.server.running_service import running, stopped
from tests.attacks.ask import Clinic
from tests.servers.openid_provider import running_provider


@pytest.fixture
def policy(tmp_path):
    return Clinic(tmp_path / "clinic", epsilon=10, dataset="answer_times = []").policy


@pytest.fixture
def run(policy):
    def run(*words):
        done = CliRunner().invoke(main, [*words, "--policy", str(policy)])
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


def sign_in(url, login):
    who = Wanderer()
    page = who.open(f"{url}/sign-in/provider")
    page = who.submit(page, login=login, password="any")  # noqa: S106
    return who, who.submit(page)


def test_several_processes_and_a_provider_that_goes_away(policy, run, tmp_path):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with running_provider() as provider:
        client_id, secret = provider.register(url)
        settings = {"issuer": provider.issuer, "client_id": client_id, "url": url, "name": "Clinic"}
        (tmp_path / "oidc.toml").write_text("\n".join(f'{each} = "{settings[each]}"' for each in settings))
        token = run("account", "add", "ana", "--role", "analyst").strip()
        options = ["--port", port, "--workers", 2, "--oidc", tmp_path / "oidc.toml"]
        environment = {"DISCREET_OIDC_SECRET": secret}
        with running(policy, options=options, environment=environment) as (process, _):
            _, page = sign_in(url, "24400320")
            identity = re.search(r"<code[^>]*>(http[^<]+)</code>", page.text)[1]
            assert identity == f"{provider.issuer}#sub=24400320"
            run("account", "change", "ana", "--identity", identity)
            for _ in range(6):  # whichever process answers
                ana, page = sign_in(url, "24400320")
                assert "You are signed in as ana." in page.text
                assert ana.open(f"{url}/history").url.endswith("/history")
            (listed,) = json.loads(run("account", "list", "--format", "json"))["accounts"]
            assert listed["identity"] == identity
            assert f"ana signs in as {identity}" in run("account", "list")
            run("account", "change", "ana", "--identity", "none")
            assert "/sign-in?" in ana.open(f"{url}/history").url
            provider.stop()
            pages = [Wanderer().open(f"{url}/sign-in/callback?code=x&state=y").status for _ in range(2)]
            assert pages == [401, 401]
            signed_in = Wanderer().open(f"{url}/sign-in", fields={"token": token})
            assert signed_in.url.endswith("/ask/clinic")
            _, logged = stopped(process)
    assert secret not in logged
    assert "24400320" not in logged


def test_a_provider_that_is_down_from_the_start_stops_nothing(policy, run, tmp_path):
    port = free_port()
    url, issuer = f"http://127.0.0.1:{port}", f"http://localhost:{free_port()}"
    (tmp_path / "secret").write_text("any")
    settings = {"issuer": issuer, "client_id": "any", "client_secret_file": "secret", "url": url}
    (tmp_path / "oidc.toml").write_text("\n".join(f'{each} = "{settings[each]}"' for each in settings))
    token = run("account", "add", "ana", "--role", "analyst").strip()
    with running(policy, options=["--port", port, "--oidc", tmp_path / "oidc.toml"]) as (process, _):
        page = Wanderer().open(f"{url}/sign-in/provider")
        assert page.status == 503
        assert "does not work at the moment" in page.text
        assert Wanderer().open(f"{url}/sign-in", fields={"token": token}).url.endswith("/ask/clinic")
        _, logged = stopped(process)
    assert "the provider of sign-ins: localhost" in logged
