"""The node's own configuration decides whom it trusts; nobody else may write it, and mistakes are said."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from readiness_agent import config as config_module
from readiness_agent.agent import Agent
from readiness_agent.config import (
    Config,
    Paths,
    check_portal,
    find_paths,
    load_config,
    read_token,
    save_config,
    save_token,
)
from readiness_agent.errors import AgentError


def write(paths: Paths, text: str, mode: int = 0o600) -> None:
    Path(paths.config).parent.mkdir(parents=True)
    Path(paths.config).write_text(text)
    Path(paths.config).chmod(mode)


def test_what_was_saved_is_loaded(paths: Paths) -> None:
    config = Config(portal="https://portal.example", cluster="alpha", job_user="train", allow_disruptive=True)

    save_config(paths, config)

    assert load_config(paths) == config
    assert Path(paths.config).stat().st_mode & 0o777 == 0o600


def test_an_installed_agent_has_its_usual_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("READINESS_AGENT_HOME", raising=False)

    paths = find_paths(None)

    assert (paths.config, paths.state) == ("/etc/readiness-agent/agent.json", "/var/lib/readiness-agent")


def test_a_home_moves_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READINESS_AGENT_HOME", "/srv/node")

    assert find_paths(None) == Paths("/srv/node/agent.json", "/srv/node/token", "/srv/node/state")
    assert find_paths("/other").token == "/other/token"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"portal": "https://p.example", "portall": ""}', "no setting 'portall'"),
        ('{"portal": "https://p.example", "job_user": 7}', "job_user must be a str"),
        ('{"portal": "https://p.example", "allow_disruptive": 1}', "allow_disruptive must be a bool"),
        ('{"portal": "https://p.example", "housekeeping_cpu": 99999999999}', "must be a CPU's number"),
        ('{"portal": "https://p.example", "hostname": "\\ud800"}', "holds control characters"),
        ('{"portal": "https://p.example", "cluster": "a\\nb"}', "holds control characters"),
        ('{"portal": ["https://p.example"]}', "portal must be a str"),
        ("[" * 100_000, "is not JSON"),
        ('{"cluster": "alpha"}', "portal is not set"),
        ('{"portal": "https://p.example", "origin": "copy"}', "origin must be live or replay"),
        ("portal = https://p.example", "is not JSON"),
        ("[]", "must hold one JSON object"),
        ('{"portal": "https://p.example", "proxy": "http://me:secret@proxy:3128"}', "is not a proxy's address"),
        ('{"portal": "https://p.example", "proxy": "proxy:3128"}', "is not a proxy's address"),
    ],
)
def test_a_mistake_in_the_file_is_said_in_one_sentence(text: str, said: str, paths: Paths) -> None:
    write(paths, text)

    with pytest.raises(AgentError, match=said) as raised:
        load_config(paths)

    assert raised.value.exit_code == 78


def test_a_file_that_others_may_write_is_refused(paths: Paths) -> None:
    write(paths, '{"portal": "https://p.example"}', 0o666)

    with pytest.raises(AgentError, match="can be changed by other users"):
        load_config(paths)


@pytest.mark.parametrize(
    "url",
    [
        "http://portal.example",
        "http://127.0.0.1.evil.example.",
        "http://localhost@evil.example",
        "ftp://p.example",
        "portal.example",
        "https://",
        "http://127.0.0.256",
        "http://127.1",
        "http://127.0.0.1.",
        "http://127.0.0.\xb2",
        "http://[::2]",
        "https://p.example:0",
        "https://p.example:65536",
        "https://p.example:",
        "https://p.example:8o8o",
        "https://p.example/?token=1",
        "https://p.example/a b",
        "https://p.example\n",
    ],
)
def test_a_token_is_never_sent_in_the_clear(url: str) -> None:
    with pytest.raises(AgentError):
        check_portal(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://portal.example",
        "https://portal.example:8443/base",
        "http://127.0.0.1:8000",
        "http://127.250.0.9",
        "http://[::1]:8000",
        "http://localhost:8000",
    ],
)
def test_https_and_this_machine_are_accepted(url: str) -> None:
    assert check_portal(url + "/") == url


def test_a_token_that_others_may_read_is_refused(paths: Paths) -> None:
    save_token(paths.token, "cs_agent_k_s")
    Path(paths.token).chmod(0o644)

    with pytest.raises(AgentError, match="can be read by other users"):
        read_token(paths.token)


def test_a_file_with_two_tokens_is_refused(paths: Paths) -> None:
    save_token(paths.token, "one two")

    with pytest.raises(AgentError, match="does not hold one token"):
        read_token(paths.token)


@pytest.mark.parametrize("which", ["config", "token", "state"])
def test_what_another_user_owns_is_not_trusted(which: str, enrolled: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    looked, theirs = os.stat, getattr(enrolled, which)

    def foreign(path: str) -> os.stat_result:
        found = list(looked(path))
        found[stat.ST_UID] = 4711 if path == theirs else found[stat.ST_UID]
        return os.stat_result(found)

    monkeypatch.setattr(config_module, "os", SimpleNamespace(**{**vars(os), "stat": foreign}))

    with pytest.raises(AgentError, match="can be changed by other users") as raised:
        Agent(enrolled)

    assert raised.value.exit_code == 78


def test_a_state_directory_that_all_may_write_is_refused(enrolled: Paths) -> None:
    Path(enrolled.state).chmod(0o777)

    with pytest.raises(AgentError, match="chmod 700"):
        Agent(enrolled)
