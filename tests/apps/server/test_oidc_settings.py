"""`discreet serve --oidc FILE`: what the file may say, and what is wrong with others."""

import pickle
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from discreet import InvalidInput
from discreet.apps.commands.main import main
from discreet.apps.server.oidc.settings import OIDC_SETTINGS, SECRET_VARIABLE, read_oidc_settings
from discreet.apps.server.running import ServeRequest

DOCS = Path(__file__).parents[3] / "docs"
ISSUER = "https://login.clinic.example/staff"
GOOD = {
    "issuer": ISSUER,
    "client_id": "discreet",
    "client_secret_file": "oidc.secret",
    "url": "https://discreet.clinic.example",
}


@pytest.fixture
def read(tmp_path):
    """Settings from a file with these lines; None leaves one out."""
    (tmp_path / "oidc.secret").write_text("of the client\n")

    def read(environment=(), **changed):
        given = {name: value for name, value in {**GOOD, **changed}.items() if value is not None}
        lines = [
            f"{name} = {value if isinstance(value, list) else repr(value)}" for name, value in given.items()
        ]
        (tmp_path / "oidc.toml").write_text("\n".join(lines).replace("True", "true"))
        return read_oidc_settings(tmp_path / "oidc.toml", dict(environment))

    return read


def test_what_is_not_given_has_a_usual_value(read):
    settings = read()
    assert settings.client_secret == "of the client"  # noqa: S105
    assert (settings.claim, settings.name, settings.scope) == ("sub", "login.clinic.example", "openid")
    assert settings.redirect_uri == "https://discreet.clinic.example/sign-in/callback"


def test_everything_can_be_given(read):
    settings = read(name="Clinic account", claim="email", scopes=["profile"], url="https://D.example:8443/")
    assert (settings.name, settings.claim, settings.scope) == (
        "Clinic account",
        "email",
        "openid email profile",
    )
    assert settings.url == "https://d.example:8443"


def test_the_secret_may_be_in_the_environment_and_is_not_shown(read):
    settings = read({SECRET_VARIABLE: "elsewhere"}, client_secret_file=None)
    assert settings.client_secret == "elsewhere"  # noqa: S105
    assert "elsewhere" not in repr(settings)
    assert pickle.loads(pickle.dumps(settings)) == settings  # noqa: S301


def test_loopback_needs_no_tls(read):
    for host in ("localhost:3000", "127.0.0.1:3000", "[::1]:3000"):
        assert read(issuer=f"http://{host}", url=f"http://{host}").issuer == f"http://{host}"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"issuer": None}, "needs a text “issuer”"),
        ({"issuer": 7}, "needs a text “issuer”"),
        ({"issuer": "login.clinic.example"}, "is not a URL"),
        ({"issuer": "http://login.clinic.example"}, "not encrypted"),
        ({"issuer": "https://ana@login.clinic.example"}, "is not a URL"),
        ({"issuer": f"{ISSUER}?a=b"}, "is not a URL"),
        ({"issuer": f"{ISSUER}#a"}, "is not a URL"),
        ({"issuer": "https://[x"}, "is not a URL"),
        ({"url": None}, "needs a text “url”"),
        ({"url": "http://discreet.clinic.example"}, "not encrypted"),
        ({"url": "https://discreet.clinic.example/folder"}, "url with a path"),
        ({"client_id": ""}, "needs a text “client_id”"),
        ({"client_secret": "here"}, "unknown setting “client_secret”"),
        ({"client_secret_file": None}, "does not say where the client's secret is"),
        ({"client_secret_file": "nowhere"}, "does not hold the client's secret"),
        ({"environment": {SECRET_VARIABLE: "x"}}, "the environment has one too"),
        ({"claim": "preferred_username"}, "People can choose"),
        ({"claim": "aud"}, "is not a claim that names a person"),
        ({"scopes": "profile"}, "scopes that are none"),
        ({"scopes": ["a b"]}, "scopes that are none"),
        ({"name": "  "}, "needs a text “name”"),
    ],
)
def test_what_is_wrong_is_said(read, changed, said):
    with pytest.raises(InvalidInput, match=re.escape(said)) as found:
        read(**changed)
    assert found.value.remedy


@pytest.mark.parametrize("content", [b"issuer = ", b"\xff"])
def test_a_file_that_cannot_be_read(tmp_path, content):
    (tmp_path / "oidc.toml").write_bytes(content)
    with pytest.raises(InvalidInput, match="is not TOML"):
        read_oidc_settings(tmp_path / "oidc.toml")
    done = CliRunner().invoke(main, ["serve", "--oidc", str(tmp_path / "none.toml")])
    assert done.exit_code == 2
    assert "cannot be read" in done.output


def test_browsers_may_call_the_service_by_the_name_of_its_url(read):
    request = ServeRequest(policies=(), host="127.0.0.1", port=0, oidc=read())
    assert "discreet.clinic.example" in request.settings.allowed_hosts
    assert request.settings.tls
    plain = ServeRequest(policies=(), host="127.0.0.1", port=0, oidc=read(url="http://127.0.0.1:8080"))
    assert not plain.settings.tls


def test_every_setting_is_documented():
    page = (DOCS / "reference/service.md").read_text()
    assert [name for name in (*OIDC_SETTINGS, SECRET_VARIABLE) if f"`{name}`" not in page] == []


def test_the_example_in_the_documentation_is_one(tmp_path):
    """In the guide and in the reference."""
    for page in ("reference/service.md", "how-to/deploy.md"):
        examples = re.findall(r"```toml\n(issuer.*?)```", (DOCS / page).read_text(), re.DOTALL)
        assert len(examples) == 1, page
        (tmp_path / "oidc.toml").write_text(examples[0])
        (tmp_path / "oidc.secret").write_text("of the client")
        assert read_oidc_settings(tmp_path / "oidc.toml", {}).client_id == "discreet"
