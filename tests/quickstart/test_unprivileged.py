"""Under whom PostgreSQL runs."""

import os
from pathlib import Path

import pytest

from portal.quickstart import unprivileged
from portal.quickstart.errors import QuickstartError
from portal.quickstart.unprivileged import NAMESPACE, NOBODY, Identity, identity_for

ROOT, NAMED, NAMELESS = 0, 1000, 4242


def decide(monkeypatch: pytest.MonkeyPatch, *, uid: int, namespace: bool, nobody: bool) -> Identity:
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    monkeypatch.setattr(unprivileged, "_has_a_name", lambda uid: uid != NAMELESS)
    monkeypatch.setattr(unprivileged, "_namespace_works", lambda: namespace)
    monkeypatch.setattr(unprivileged, "_nobody_can_run", lambda program, data: nobody)
    return identity_for(Path("postgres"), Path("data"))


def test_an_ordinary_user_runs_it_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    assert decide(monkeypatch, uid=NAMED, namespace=True, nobody=True) == Identity()


def test_root_prefers_a_user_namespace_in_which_files_stay_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert decide(monkeypatch, uid=ROOT, namespace=True, nobody=True) == Identity(prefix=NAMESPACE)


def test_root_without_user_namespaces_becomes_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    assert decide(monkeypatch, uid=ROOT, namespace=False, nobody=True) == Identity(uid=NOBODY)


def test_root_whose_files_nobody_can_reach_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(QuickstartError, match="run as a normal user, or set DATABASE_URL"):
        decide(monkeypatch, uid=ROOT, namespace=False, nobody=False)


def test_a_user_without_a_name_gets_one_in_a_user_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    assert decide(monkeypatch, uid=NAMELESS, namespace=True, nobody=False) == Identity(prefix=NAMESPACE)


def test_a_user_without_a_name_never_becomes_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(QuickstartError, match="DATABASE_URL"):
        decide(monkeypatch, uid=NAMELESS, namespace=False, nobody=True)
