"""The record of a run on paper, printed by the host's own Chromium."""

import os
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from pytest_django import Settings

from portal import printing
from tests.fleet import Fleet
from tests.ui.signing import RUN, SIGN_DATA, Lab, make_lab, sent

PDF = f"{RUN}record.pdf"


@pytest.fixture
def lab(fleet: Fleet, now: datetime) -> Lab:
    return make_lab(fleet, now)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where printing keeps its temporary directory; ``tmp_path`` is too long for the socket that Chromium makes."""
    with tempfile.TemporaryDirectory() as made:
        monkeypatch.setattr(tempfile, "tempdir", made)
        yield Path(made)


def _program(place: Path, script: str) -> str:
    """A program that stands where Chromium would."""
    program = place / "browser"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return str(program)


@pytest.mark.browser
def test_the_record_is_printed_on_pages_of_a4_and_leaves_nothing_behind(lab: Lab, place: Path) -> None:
    sent(lab.sight("sable").client, SIGN_DATA)
    response = lab.sight("wren").client.get(PDF)
    assert response.status_code == 200, response.content[:500]
    assert response.headers["Content-Type"] == "application/pdf"
    assert response.headers["Content-Disposition"] == 'attachment; filename="cygnus-13b-record.pdf"'
    assert response.headers["Cache-Control"] == "private, no-store"
    assert response.content.startswith(b"%PDF-")
    assert b"/MediaBox [0 0 594" in response.content or b"/MediaBox [0 0 595" in response.content
    assert b"cygnus-13b" in response.content
    assert list(place.iterdir()) == []


def test_the_record_links_to_it_only_where_something_can_print(lab: Lab, place: Path, settings: Settings) -> None:
    settings.CHROMIUM = _program(place, "exit 0")
    assert f'href="{PDF}"' in lab.sight("wren").text(f"{RUN}record/")
    settings.CHROMIUM = "no-such-browser"
    assert PDF not in lab.sight("wren").text(f"{RUN}record/")


def test_without_a_chromium_the_address_says_what_to_install(lab: Lab, settings: Settings) -> None:
    settings.CHROMIUM = "no-such-browser"
    assert "install the package chromium there" in lab.sight("wren").text(PDF, status=501)


def test_a_chromium_that_prints_nothing_is_said_and_logged(
    lab: Lab, place: Path, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.CHROMIUM = _program(place, "echo no usable sandbox >&2; exit 1")
    assert "Chromium could not print it" in lab.sight("wren").text(PDF, status=502)
    assert "no usable sandbox" in caplog.text


def test_more_than_a_record_can_be_is_refused(
    lab: Lab, place: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(printing, "MOST_BYTES", 10)
    find = 'for one; do case $one in --print-to-pdf=*) printf %s "12345678901" > "${one#*=}";; esac; done'
    settings.CHROMIUM = _program(place, find)
    lab.sight("wren").text(PDF, status=502)


def test_a_chromium_that_hangs_is_ended_with_all_that_it_started(
    lab: Lab, place: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(printing, "DEADLINE_S", 0.5)
    child = place / "child"
    settings.CHROMIUM = _program(place, f"sleep 600 & echo $! > {child}; wait")
    lab.sight("wren").text(PDF, status=502)
    state = Path(f"/proc/{child.read_text().strip()}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


def test_chromium_learns_no_secret_of_the_portal(
    lab: Lab, place: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "a secret of the portal")
    told = place / "told"
    settings.CHROMIUM = _program(place, f"env > {told}")
    lab.sight("wren").text(PDF, status=502)
    assert "TZ=UTC" in told.read_text()
    assert "SECRET" not in told.read_text()


def test_the_sandbox_is_given_up_by_root_alone(
    lab: Lab, place: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = place / "told"
    settings.CHROMIUM = _program(place, f'echo "$@" > {told}')
    for user, given_up in ((0, True), (1000, False)):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        lab.sight("wren").text(PDF, status=502)
        assert ("--no-sandbox" in told.read_text().split()) is given_up


def test_one_record_is_printed_at_a_time(lab: Lab, place: Path, settings: Settings) -> None:
    settings.CHROMIUM = _program(place, "exit 0")
    with printing._printing:
        assert "Another record is being printed" in lab.sight("wren").text(PDF, status=503)
