"""The signed head of the chain, told to real places: directories, git, mail."""

import json
import subprocess
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from django.core import mail
from pytest_django.fixtures import Settings

from checks.domain.ledger import Anchor
from checks.models import LedgerAnchor, LedgerEntry, LedgerWatch
from checks.selectors.anchors import KeyRing, KeyUnusable, Standing, anchors_in
from checks.selectors.ledger_signs import LedgerSign, ledger_signs
from checks.selectors.signs import State
from checks.services.anchors import NothingToAnchor, anchor_ledger
from checks.services.ledger import write_entry
from checks.services.ledger_watch import watch_anchor, watch_chain
from checks.tasks import keep_ledger
from portal.quickstart.place import Place
from tests.factories import NOON

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


@pytest.fixture
def key_file(tmp_path: Path, settings: Settings) -> Path:
    """The key of this portal, as the quickstart makes it; it signs from now on."""
    settings.LEDGER_KEY_FILE = str(Place(tmp_path).ledger_key())
    return Path(settings.LEDGER_KEY_FILE)


@pytest.fixture
def place(tmp_path: Path, settings: Settings) -> Path:
    """The one directory that anchors are told to."""
    settings.LEDGER_ANCHORS = [str(tmp_path / "anchors")]
    (tmp_path / "anchors").mkdir()
    return tmp_path / "anchors"


def act() -> LedgerEntry:
    return write_entry(what="test", target="test", now=NOON)


def private_pem(key: Ed25519PrivateKey | X25519PrivateKey) -> str:
    """What ``openssl genpkey`` writes."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def public_pem(private: bytes) -> str:
    """What ``openssl pkey -pubout`` makes of it."""
    public = load_pem_private_key(private, password=None).public_key()
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def signs(now: datetime) -> dict[str, LedgerSign]:
    return {sign.name: sign for sign in ledger_signs(now=now)}


def test_an_anchor_in_a_directory_is_a_file_that_the_portals_key_signed(key_file: Path, place: Path) -> None:
    entry = act()
    anchor_ledger(to=[str(place)], now=NOON)
    (file,) = place.iterdir()
    said = json.loads(file.read_text())

    assert (said["seq"], said["head"], said["at"]) == (1, entry.digest, "2026-11-30T12:00:00.000000+00:00")
    (anchor,) = anchors_in(place)
    assert KeyRing.of_settings().standing(anchor) is Standing.GENUINE
    assert LedgerAnchor.objects.get().place == str(place)


def test_each_anchor_is_a_file_of_its_own(key_file: Path, place: Path) -> None:
    act()
    for hours in range(3):
        anchor_ledger(to=[str(place)], now=NOON + hours * HOUR)

    assert len(list(place.iterdir())) == 3


def test_an_anchor_in_a_git_directory_is_committed_alone(key_file: Path, place: Path) -> None:
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    (place / "notes.txt").write_text("of somebody else")
    act()
    done = anchor_ledger(to=[str(place)], now=NOON)
    listed = subprocess.run(
        ["git", "-C", str(place), "show", "--name-only", "--format=%an"], check=True, capture_output=True, text=True
    ).stdout.split()

    assert done.failed == {}
    assert listed == ["Countersign", "anchor-000000000001-20261130T120000000000Z.json"]


def test_an_anchor_by_mail_is_a_file_that_verifies_once_it_is_saved(
    key_file: Path, settings: Settings, tmp_path: Path
) -> None:
    act()
    anchor_ledger(to=["mailto:audit@example.org"], now=NOON)
    (message,) = mail.outbox
    name, text, _ = message.attachments[0]
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / str(name)).write_text(str(text))
    (anchor,) = anchors_in(tmp_path / "saved")

    assert message.to == ["audit@example.org"]
    assert KeyRing.of_settings().standing(anchor) is Standing.GENUINE


def test_a_place_that_fails_is_told_and_keeps_no_other_from_its_anchor(
    key_file: Path, place: Path, settings: Settings, tmp_path: Path
) -> None:
    act()
    settings.LEDGER_ANCHORS = [str(tmp_path / "absent"), str(place)]
    watch_anchor(now=NOON)
    seen = signs(NOON)

    assert len(list(place.iterdir())) == 1
    assert (seen[str(place)].state, seen[str(tmp_path / "absent")].state) == (State.OK, State.AMBER)
    assert "cannot be written: No such file or directory" in seen[str(tmp_path / "absent")].detail


def test_a_mail_server_that_is_away_is_told(key_file: Path, settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    act()

    failed = anchor_ledger(to=["mailto:audit@example.org"], now=NOON).failed
    assert "The mail to audit@example.org was not sent" in failed["mailto:audit@example.org"]


def test_only_the_place_that_failed_is_tried_again_on_the_same_day(
    key_file: Path, place: Path, settings: Settings, tmp_path: Path
) -> None:
    act()
    late = tmp_path / "late"
    settings.LEDGER_ANCHORS = [str(place), str(late)]
    watch_anchor(now=NOON)
    late.mkdir()
    watch_anchor(now=NOON + HOUR)
    watch_anchor(now=NOON + 2 * HOUR)

    assert (len(list(place.iterdir())), len(list(late.iterdir()))) == (1, 1)


def test_the_next_day_has_an_anchor_of_its_own(key_file: Path, place: Path) -> None:
    act()
    watch_anchor(now=NOON)
    watch_anchor(now=NOON + 12 * HOUR)

    assert len(list(place.iterdir())) == 2


def test_a_portal_that_knows_no_place_keeps_its_anchors_in_the_database(key_file: Path, settings: Settings) -> None:
    settings.LEDGER_ANCHORS = []
    act()
    watch_anchor(now=NOON)

    assert LedgerAnchor.objects.get().place == "database"
    assert signs(NOON)["database"].state is State.OK


def test_an_empty_ledger_has_nothing_to_anchor(key_file: Path, place: Path) -> None:
    with pytest.raises(NothingToAnchor):
        anchor_ledger(to=[str(place)], now=NOON)


def test_a_portal_without_a_key_says_so_for_each_place(place: Path, settings: Settings) -> None:
    settings.LEDGER_KEY_FILE = ""
    act()
    watch_anchor(now=NOON)

    assert "set LEDGER_KEY_FILE" in signs(NOON)[str(place)].detail
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "must hold one Ed25519 private key"),
        ("-----BEGIN PRIVATE KEY-----\nnonsense\n-----END PRIVATE KEY-----\n", "holds a key that cannot be used"),
        (private_pem(X25519PrivateKey.generate()), "must hold one Ed25519 private key"),
        (
            private_pem(Ed25519PrivateKey.generate()) + private_pem(Ed25519PrivateKey.generate()),
            "must hold one Ed25519 private key",
        ),
    ],
    ids=["empty", "damaged", "another kind", "two that sign"],
)
def test_a_key_file_that_cannot_be_used_is_told_in_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "key").write_text(text)
    with pytest.raises(KeyUnusable, match=sentence):
        KeyRing.read(tmp_path / "key")


def test_anchors_of_the_key_before_hold_after_a_rotation(key_file: Path, place: Path, tmp_path: Path) -> None:
    """As the operators' handbook does it: a new private key, and the public half of the old one behind it."""
    act()
    anchor_ledger(to=[str(place)], now=NOON)
    old_half = public_pem(key_file.read_bytes())
    key_file.write_text(private_pem(Ed25519PrivateKey.generate()) + old_half)
    anchor_ledger(to=[str(place)], now=NOON + HOUR)
    keys = KeyRing.of_settings()
    found = list(anchors_in(place))

    assert [keys.standing(anchor) for anchor in found] == [Standing.GENUINE] * 2
    assert len({anchor.key_id for anchor in found}) == 2


def test_the_quickstarts_key_is_for_its_owner_only_and_stays(tmp_path: Path) -> None:
    path = Place(tmp_path).ledger_key()
    text = path.read_bytes()

    assert path.stat().st_mode & 0o777 == 0o600
    assert load_pem_private_key(text, password=None)
    assert Place(tmp_path).ledger_key().read_bytes() == text


def names_and_states(found: Sequence[LedgerSign]) -> list[tuple[str, State]]:
    return [(sign.name, sign.state) for sign in found]


def test_a_night_makes_chain_and_anchor_green(key_file: Path, place: Path) -> None:
    act()
    watch_anchor(now=NOON)
    watch_chain(now=NOON)

    assert names_and_states(ledger_signs(now=NOON + 35 * HOUR)) == [("chain", State.OK), (str(place), State.OK)]


def test_what_went_well_more_than_36_hours_ago_is_red(key_file: Path, place: Path) -> None:
    act()
    watch_anchor(now=NOON)
    watch_chain(now=NOON)

    assert names_and_states(ledger_signs(now=NOON + 37 * HOUR)) == [("chain", State.RED), (str(place), State.RED)]


def test_a_new_portal_has_36_hours_until_its_first_night_is_missed(place: Path) -> None:
    act()

    assert [sign.state for sign in ledger_signs(now=NOON + 35 * HOUR)] == [State.OK, State.OK]
    assert [sign.state for sign in ledger_signs(now=NOON + 37 * HOUR)] == [State.RED, State.RED]


def test_a_rolled_back_database_is_red_at_the_next_look(key_file: Path, place: Path) -> None:
    """The file of a later entry lies outside already: so it looks after a backup was put back."""
    act()
    watch_anchor(now=NOON)
    later = KeyRing.of_settings().sign(Anchor(4, "ab" * 32, NOON, key_id=""))
    (place / "later.json").write_text(json.dumps(later.as_json()))
    watch_chain(now=NOON)
    chain = signs(NOON)["chain"]

    assert (chain.state, chain.outcome) == (State.RED, LedgerWatch.Outcome.ROLLED_BACK)
    assert chain.detail.startswith("Rolled back by 3 entries")


def test_the_nightly_task_anchors_and_then_verifies_against_that_anchor(key_file: Path, place: Path) -> None:
    act()
    keep_ledger()

    assert len(list(place.iterdir())) == 1
    assert LedgerWatch.objects.get(name="chain").outcome == LedgerWatch.Outcome.OK


def test_what_was_done_today_is_not_done_again(key_file: Path, place: Path) -> None:
    act()
    watch_anchor(now=NOON)
    watch_chain(now=NOON)
    before = list(LedgerWatch.objects.order_by("name").values())
    watch_anchor(now=NOON + HOUR)
    watch_chain(now=NOON + HOUR)

    assert list(LedgerWatch.objects.order_by("name").values()) == before
