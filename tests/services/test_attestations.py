"""What a person states: judged like any fact, with files that lie whole under their digest."""

import hashlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from checks.models import Attestation, AttestedFile, Cluster, Evidence, LedgerEntry, NodeItemState, Role, ScopeState
from checks.services.attestations import InvalidAttestation, attest
from checks.services.attested_files import FileRefused, SentFile, media_type_of, path_of
from checks.services.permissions import MayNot
from portal.accounts.models import User
from tests.fleet import Fleet, make_fleet
from tests.lab import MINUTE, NOON, our_catalogue
from tests.people import person
from tests.runs import a_run

pytestmark = pytest.mark.django_db

PNG = b"\x89PNG\r\n\x1a\n" + b"fins, evenly warm"
DAY = timedelta(days=1)


@pytest.fixture
def fleet() -> Fleet:
    made = make_fleet(at=NOON - MINUTE)
    for name in ("gpu001", "gpu002"):
        made.enrol(name, at=NOON - MINUTE)
    return made


@pytest.fixture
def clerk(fleet: Fleet) -> User:
    return person("clerk", fleet.cluster, Role.DATA)


@pytest.fixture(autouse=True)
def var(tmp_path: Path, settings: Any) -> Path:
    settings.VAR_DIR = tmp_path
    return tmp_path


def stated(cluster: Cluster, by: User, **changes: Any) -> Attestation:
    told: dict[str, Any] = {
        "cluster": cluster, "run": None, "node": None, "item": "power-budget", "subject": "",
        "facts": {"feed": 60_000, "cooling": 58_000, "required": 35_000}, "statement": "Read both panels.",
        "files": [], "valid_until": NOON + 20 * DAY, "by": by, "now": NOON,
    }  # fmt: skip
    return attest(**told | changes)


def test_a_statement_is_judged_and_settled_at_once(fleet: Fleet, clerk: User) -> None:
    stated(fleet.cluster, clerk)
    row = ScopeState.objects.get(item="power-budget")

    assert (row.raw, row.settled, row.valid_until, row.value["facts"]["feed"]) == (
        "pass", "pass", NOON + 20 * DAY, 60_000,
    )  # fmt: skip


def test_a_statement_that_misses_its_criterion_fails(fleet: Fleet, clerk: User) -> None:
    stated(fleet.cluster, clerk, facts={"feed": 30_000, "cooling": 58_000, "required": 35_000})

    assert ScopeState.objects.get(item="power-budget").raw == "fail"


def test_a_new_statement_counts_from_now_on_and_raises_the_epoch_when_the_verdict_changes(
    fleet: Fleet, clerk: User
) -> None:
    stated(fleet.cluster, clerk)
    stated(fleet.cluster, clerk, facts={"feed": 30_000, "cooling": 58_000, "required": 35_000}, now=NOON + MINUTE)
    row = ScopeState.objects.get(item="power-budget")

    assert (row.settled, row.epoch) == ("fail", 1)
    assert Attestation.objects.count() == 2


def test_a_statement_stands_in_the_ledger_and_its_words_are_kept_as_evidence(fleet: Fleet, clerk: User) -> None:
    stated(fleet.cluster, clerk)
    entry = LedgerEntry.objects.get(what="attested")

    assert (entry.target, entry.data["verdict"]) == ("helios/power-budget", "pass")
    assert Evidence.objects.get(pk=ScopeState.objects.get().evidence).text == "Read both panels."


def test_a_statement_about_a_node_is_one_of_its_rows(fleet: Fleet, clerk: User) -> None:
    node = fleet.node("gpu001")
    facts = {name: {"bool": True, "text": "even"}.get(unit.value, 0) for name, unit in _facts("gpu-thermal-photo")}
    stated(fleet.cluster, clerk, node=node, item="gpu-thermal-photo", facts=facts)
    row = NodeItemState.objects.get(node=node, item="gpu-thermal-photo")

    assert (row.observed_at, row.settled != "") == (NOON, True)


def test_what_is_stated_about_a_run_is_that_runs_alone(fleet: Fleet, clerk: User) -> None:
    run = a_run(fleet.cluster, "gpu[001-002]")
    stated(fleet.cluster, clerk, run=run, item="ops-runbook", facts={"confirmed": True})
    stated(fleet.cluster, clerk, run=run, item="data-spot-check", facts={"passed_share": 99.6, "documents": 500})

    assert dict(ScopeState.objects.values_list("item", "subject")) == {
        "ops-runbook": "run-7", "data-spot-check": "s3://corpus/v3",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"item": "gpu-ecc"}, "no item that a person states"),
        ({"item": "ops-runbook", "facts": {"confirmed": True}}, "Name the run"),
        ({"item": "gpu-thermal-photo"}, "Name the node"),
        ({"facts": {"feed": 60_000, "cooling": 58_000}}, "State required in watts"),
        ({"facts": {"feed": "a lot", "cooling": 1, "required": 1}}, "State feed in watts"),
        ({"facts": {"feed": 1, "cooling": 1, "required": 1, "mood": 1}}, "no fact mood"),
        ({"valid_until": NOON + 31 * DAY}, "at most 30 days"),
        ({"valid_until": NOON}, "at most 30 days"),
        ({"statement": " "}, "Say what you looked at"),
    ],
)
def test_a_statement_that_says_too_little_is_refused_with_what_to_say(
    fleet: Fleet, clerk: User, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidAttestation, match=sentence):
        stated(fleet.cluster, clerk, **changes)

    assert not Attestation.objects.exists()


def test_a_viewer_states_nothing(fleet: Fleet) -> None:
    with pytest.raises(MayNot):
        stated(fleet.cluster, person("vera", fleet.cluster, Role.VIEWER))


def test_a_picture_lies_under_its_digest_and_its_name_is_only_a_name(fleet: Fleet, clerk: User) -> None:
    stated(fleet.cluster, clerk, files=[SentFile("../../etc/fins.png", PNG), SentFile("again.png", PNG)])
    kept = AttestedFile.objects.get()

    assert kept.digest == hashlib.sha256(PNG).hexdigest()
    assert (kept.media_type, kept.size) == ("image/png", len(PNG))
    assert path_of(kept.digest).read_bytes() == PNG
    assert "/" not in kept.name


def test_a_file_is_what_its_bytes_say_and_not_what_its_name_says(fleet: Fleet, clerk: User, var: Path) -> None:
    with pytest.raises(FileRefused, match=r"page\.png is no PNG, JPEG, WebP or PDF"):
        stated(fleet.cluster, clerk, files=[SentFile("fine.png", PNG), SentFile("page.png", b"<script>alert(1)")])

    assert not [path for path in var.rglob("*") if path.is_file()]
    assert not Attestation.objects.exists()


def test_a_file_larger_than_ten_megabytes_is_refused(fleet: Fleet, clerk: User) -> None:
    with pytest.raises(FileRefused, match="larger than 10 MB"):
        stated(fleet.cluster, clerk, files=[SentFile("big.png", PNG + b"\0" * (10 * 1024 * 1024))])


def test_a_file_that_cannot_be_written_whole_leaves_nothing(
    fleet: Fleet, clerk: User, var: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("checks.services.attested_files.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        stated(fleet.cluster, clerk, files=[SentFile("fins.png", PNG)])

    assert not [path for path in var.rglob("*") if path.is_file()]
    assert not Attestation.objects.exists()


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\x10\0\0\0WAVEfmt ", None),
        (b"%PDF-1.7", "application/pdf"),
        (b"GIF89a", None),
        (b"", None),
    ],
)
def test_the_type_is_read_from_the_first_bytes(start: bytes, kind: str | None) -> None:
    assert media_type_of(start) == kind


def _facts(item: str) -> list[tuple[str, Any]]:
    return [*our_catalogue().items[item].facts.items()]
