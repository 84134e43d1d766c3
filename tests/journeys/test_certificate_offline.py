"""The certificate of a signed run proves itself, in a directory with nothing else, to anybody who has the verifier."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.journeys.pages import Person
from tests.journeys.signoff import RunOfMine, Team
from tests.journeys.user import CHECKOUT

pytestmark = pytest.mark.xdist_group("sign-off")

VERIFIER = CHECKOUT / "checks" / "certificate" / "verify_certificate.py"
HELD, FAILED = 0, 1


@dataclass(frozen=True, slots=True)
class Desk:
    """A directory with the verifier and a certificate, on a machine that has no portal."""

    place: Path

    def verify(self, *options: str) -> tuple[int, str]:
        """Exit status and sentence of the verifier."""
        command = [sys.executable, "-I", VERIFIER.name, "certificate.json", *options]
        done = subprocess.run(command, cwd=self.place, env={}, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    @property
    def certificate(self) -> Path:
        return self.place / "certificate.json"


@pytest.fixture(scope="module")
def kept(team: Team) -> RunOfMine:
    """A run that everybody signed."""
    team.training("kept001", "kept002")
    run = team.run("kept", "kept[001-002]", needed=2)
    run.sign_all()
    return run


@pytest.fixture(scope="module")
def key_id(team: Team, kept: RunOfMine) -> str:
    """The name of the site's key, as the command says it that signs the ledger."""
    return team.portal.manage("ledger", "anchor").rpartition(" key ")[2].strip()


@pytest.fixture(scope="module")
def reader(browser: Browser, team: Team) -> Person:
    """The lead at a screen."""
    return Person.at(browser, team.portal, username=team.who("lena"), password=team.passwords["lena"])


@pytest.fixture(scope="module")
def downloaded(kept: RunOfMine, key_id: str, reader: Person, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The certificate as a browser saves it."""
    page, place = reader.go(f"{kept.path}record/"), tmp_path_factory.mktemp("saved")
    with page.expect_download() as download:
        page.get_by_role("link", name="Certificate as a file").click()
    assert download.value.suggested_filename == f"{kept.slug}-certificate.json"
    download.value.save_as(place / "certificate.json")
    return place / "certificate.json"


@pytest.fixture
def desk(downloaded: Path, tmp_path: Path) -> Desk:
    """The two files, and nothing else."""
    shutil.copy(VERIFIER, tmp_path)
    shutil.copy(downloaded, tmp_path / "certificate.json")
    return Desk(tmp_path)


def test_a_certificate_verifies_where_there_is_nothing_but_the_verifier(
    desk: Desk, team: Team, kept: RunOfMine, key_id: str
) -> None:
    code, said = desk.verify("--key-id", key_id)

    assert code == HELD, said
    assert f"run {kept.slug}" in said
    assert f"physical by {team.who('hana')} (hardware) and {team.who('piet')} (platform)" in said


def test_without_the_name_of_the_key_the_reader_is_told_to_compare_it(desk: Desk, key_id: str) -> None:
    code, said = desk.verify()

    assert code == HELD, said
    assert key_id in said
    assert "which you should compare with the site's" in said


def test_a_certificate_of_another_sites_key_does_not_verify(desk: Desk) -> None:
    code, said = desk.verify("--key-id", "0" * 64)

    assert code == FAILED, said


@pytest.mark.parametrize("share", [0.02, 0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 0.98])
def test_a_certificate_with_one_character_changed_does_not_verify(desk: Desk, share: float) -> None:
    text = desk.certificate.read_text(encoding="utf-8")
    at = next(place for place in range(int(len(text) * share), len(text)) if text[place].isalnum())
    other = "1" if text[at] != "1" else "2"
    desk.certificate.write_text(text[:at] + other + text[at + 1 :], encoding="utf-8")
    code, said = desk.verify()

    assert code == FAILED, said
    assert said.startswith("NOT VERIFIED: ")


def test_the_record_says_who_signed_and_what_that_comes_to(reader: Person, kept: RunOfMine, team: Team) -> None:
    page = reader.go(f"{kept.path}record/")

    expect(page.get_by_role("heading", name="Record of readiness")).to_be_visible()
    expect(page.locator(".record")).to_contain_text(team.who("hana"))
    expect(page.locator(".record")).to_contain_text("Decision: ready")


def test_the_record_is_saved_as_pdf(reader: Person, kept: RunOfMine, tmp_path: Path) -> None:
    page = reader.go(f"{kept.path}record/")
    with page.expect_download() as download:
        page.get_by_role("link", name="Record as PDF").click()
    download.value.save_as(tmp_path / "record.pdf")

    assert download.value.suggested_filename == f"{kept.slug}-record.pdf"
    assert (tmp_path / "record.pdf").read_bytes().startswith(b"%PDF-")
