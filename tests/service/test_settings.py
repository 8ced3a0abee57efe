"""Settings: flags override environment, file and defaults; each error is one sentence; printed settings hide secrets."""

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from suffice.errors import InvalidArgument
from suffice.service.http.configuration import load, sample, shown_as_toml
from suffice.service.http.settings import Settings
from tests.support.command import say_in_process
from tests.support.paths import ROOT


@pytest.fixture(autouse=True)
def _bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, and no settings in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("SUFFICE_")]:
        monkeypatch.delenv(name)


def test_flags_override_environment_file_and_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("suffice.toml").write_text("port = 1\nhost = '127.0.0.2'\nmax_body = 2048\n")
    monkeypatch.setenv("SUFFICE_PORT", "2")
    monkeypatch.setenv("SUFFICE_HOST", "127.0.0.3")
    loaded = load({"port": "3"})
    found = loaded.settings
    assert (found.port, found.host, found.max_body, found.workers) == (3, "127.0.0.3", 2048, 1)
    assert loaded.origins == {"port": "--port", "host": "SUFFICE_HOST", "max_body": "suffice.toml"}


def test_lists_are_given_with_commas_repeated_flags_or_toml(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("suffice.toml").write_text('trusted_proxies = ["10.0.0.1"]\n')
    assert load().settings.trusted_proxies == ("10.0.0.1",)
    monkeypatch.setenv("SUFFICE_TRUSTED_PROXIES", "10.0.0.0/8, ::1,unix")
    found = load({"allowed_hosts": ("a.example", "*.b.example,C.example")}).settings
    assert found.trusted_proxies == ("10.0.0.0/8", "::1", "unix")
    assert found.allowed_hosts == ("a.example", "*.b.example", "c.example")


def test_a_port_set_by_kubernetes_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUFFICE_PORT", "tcp://10.0.0.1:8470")
    assert load().settings.port == 8470


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"port": "x"}, "port must be a whole number, got 'x' (--port)"),
        ({"port": "65536"}, "port must be at most 65,535, got '65536' (--port)"),
        ({"keys": "off"}, """keys must be one of "auto" or "required", got 'off' (--keys)"""),
        ({"access_log": "maybe"}, "access_log must be true or false, got 'maybe' (--access-log)"),
        ({"body_timeout": "0"}, "body_timeout must be above 0, got '0' (--body-timeout)"),
        ({"workers": "4"}, "workers must be 1 with the store 'sqlite:///suffice.db', got 4: only PostgreSQL"),
        ({"trusted_proxies": "proxy"}, "trusted_proxies must be addresses or networks"),
        ({"allowed_hosts": "a.example:80"}, "allowed_hosts must be host names without a port"),
        ({"root_path": "suffice"}, "root_path must be a path such as /suffice, got 'suffice'"),
        ({"max_body": "10"}, "max_body must be at least 1,?024, got '10'"),
    ],
)
def test_an_error_is_one_sentence(flags: dict[str, Any], said: str) -> None:
    pattern = said.replace("(", r"\(").replace(")", r"\)").replace("*", r"\*").replace(",\\?", ",?")
    with pytest.raises(InvalidArgument, match=pattern) as caught:
        load(flags)
    assert "\n" not in str(caught.value)


def test_an_error_in_a_file_is_one_sentence() -> None:
    path = Path("suffice.toml")
    path.write_text("prot = 1\n")
    with pytest.raises(InvalidArgument, match=r"^prot is not a setting, did you mean port\? \(suffice.toml\)$"):
        load()
    path.write_text("[limits]\nport = 1\n")
    with pytest.raises(InvalidArgument, match=r"^limits is not a setting"):
        load()
    path.write_text("port = \n")
    with pytest.raises(InvalidArgument, match=r"^config must name a TOML file that can be read, got 'suffice.toml': "):
        load()
    with pytest.raises(
        InvalidArgument, match=r"^config must name a TOML file that can be read, got 'none.toml': No such"
    ):
        load(config="none.toml")


def test_an_error_hides_the_password() -> None:
    with pytest.raises(InvalidArgument) as caught:
        load({"workers": "2", "store": "mysql://ada:lovelace@db/x"})
    assert "lovelace" not in str(caught.value)
    assert "ada:***@db" in str(caught.value)


@pytest.mark.parametrize(
    ("given", "opened"),
    [
        ({}, True),
        ({"host": "localhost"}, True),
        ({"host": "::1"}, True),
        ({"host": "127.1.2.3"}, True),
        ({"uds": "/tmp/x.sock", "host": "0.0.0.0"}, True),
        ({"host": "0.0.0.0"}, False),
        ({"host": "::"}, False),
        ({"host": "10.0.0.1"}, False),
        ({"host": "localhost.example.com"}, False),
        ({"keys": "required"}, False),
        ({"trusted_proxies": ("127.0.0.1",)}, False),
    ],
)
def test_whether_keys_are_required(given: dict[str, Any], opened: bool) -> None:
    assert Settings(**given).open is opened


def test_printed_settings_can_be_read_back_and_hide_the_password(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SUFFICE_STORE", "postgresql://ada:love%2Flace@db/x?password=lovelace")
    loaded = load({"workers": "2", "log_format": "json", "uds": 'a"\\b.sock'})
    text = shown_as_toml(loaded)
    assert "lace" not in text
    assert 'store = "postgresql://ada:***@db/x?password=***"  # SUFFICE_STORE' in text
    assert "workers = 2  # --workers" in text
    assert "port = 8470  # default" in text
    path = tmp_path / "shown.toml"
    path.write_text(text)
    monkeypatch.delenv("SUFFICE_STORE")
    again = load(config=path).settings
    assert again.model_dump(exclude={"store"}) == loaded.settings.model_dump(exclude={"store"})


def test_the_sample_file_is_up_to_date() -> None:
    """To write it anew: python -c 'from suffice.service.http.configuration import sample; print(sample(), end="")'."""
    text = (ROOT / "deploy/suffice.toml").read_text()
    assert text == sample()
    assert tomllib.loads(text) == {}
    lines = [line.removeprefix("# ") for line in text.splitlines() if " = " in line and not line.startswith("# A ")]
    values = tomllib.loads("\n".join(line for line in lines if line.split(" = ")[0].isidentifier()))
    assert set(values) == set(Settings.model_fields)
    del values["uds"]
    assert Settings(**values) == Settings()


def test_the_command_prints_the_settings(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("mine.toml").write_text("max_list = 5\n")
    monkeypatch.setenv("SUFFICE_LOG_LEVEL", "debug")
    code, out, err = say_in_process(
        capsys, "serve", "--show-config", "--config", "mine.toml", "--no-access-log", "--port", "0",
        "--trusted-proxies", "10.0.0.1", "--trusted-proxies", "10.0.0.2",
    )  # fmt: skip
    assert (code, err) == (0, "")
    for line in (
        "max_list = 5  # mine.toml", 'log_level = "debug"  # SUFFICE_LOG_LEVEL', "access_log = false  # --access-log",
        "port = 0  # --port", 'trusted_proxies = ["10.0.0.1", "10.0.0.2"]  # --trusted-proxies',
    ):  # fmt: skip
        assert line in out.splitlines()


def test_every_setting_is_a_flag_with_help(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = say_in_process(capsys, "serve", "--help")
    assert code == 0
    for name, field in Settings.model_fields.items():
        assert "--" + name.replace("_", "-") in out
        assert field.description
        assert field.description.endswith(".")


def test_a_missing_extra_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pydantic_settings", None)
    for tokens in (("serve",), ("keys", "list"), ("copy", "a.db", "b.db")):
        code, _, err = say_in_process(capsys, *tokens)
        assert code == 2
        assert err.endswith("needs pydantic_settings: pip install 'suffice[service]'\n")
