"""What a look at the whole chain finds: each way to falsify it, done as a superuser whom no trigger stops."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from checks.domain.ledger import Anchor
from checks.models import LedgerAnchor, LedgerEntry
from checks.selectors.anchors import KeyRing, Unreadable, anchors_in, name_of
from checks.selectors.ledger import Outcome, Verified, entries, verify_ledger
from checks.services.ledger import write_entry
from checks.services.ledger_watch import note_restored
from tests.databases import TestDatabases
from tests.factories import NOON, make_cluster

pytestmark = pytest.mark.django_db(transaction=True)

Falsify = Callable[[str], None]


def key_ring() -> KeyRing:
    key = Ed25519PrivateKey.generate()
    return KeyRing(key, {name_of(key.public_key()): key.public_key()})


@pytest.fixture
def keys() -> KeyRing:
    """A key pair of this test's own."""
    return key_ring()


@pytest.fixture
def falsify(databases: TestDatabases) -> Falsify:
    """Runs a statement as a superuser with all triggers off: what neither grants nor triggers stop."""

    def run(statement: str) -> None:
        url = databases.server.url(role="postgres", database=databases.current)
        with psycopg.connect(url) as connection:
            connection.execute("SET session_replication_role = replica")
            connection.execute(statement)

    return run


def write(number: int) -> None:
    for place in range(number):
        write_entry(what="test", target=f"target {place}", now=NOON, data={"place": place})


def head(keys: KeyRing, *, seq: int | None = None) -> Anchor:
    """A signed anchor of entry *seq*, by default of the newest."""
    entry = LedgerEntry.objects.get(seq=seq) if seq else LedgerEntry.objects.latest("seq")
    return keys.sign(Anchor(entry.seq, entry.digest, NOON, key_id="", place="outside"))


def store(anchor: Anchor) -> None:
    LedgerAnchor.objects.create(
        seq=anchor.seq, head=anchor.head, at=anchor.at, key_id=anchor.key_id, signature=anchor.signature, place="here"
    )


def verify(keys: KeyRing, *outside: Anchor | Unreadable) -> Verified:
    return verify_ledger(now=NOON + timedelta(hours=1), keys=keys, outside=outside)


def test_a_chain_that_agrees_with_its_anchors_is_whole(keys: KeyRing) -> None:
    write(5)
    store(head(keys, seq=3))
    found = verify(keys, head(keys))

    assert found.outcome is Outcome.OK
    assert (found.entries, found.last, found.anchors) == (5, 5, 2)


def test_a_chain_longer_than_a_page_is_walked_to_its_end(keys: KeyRing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checks.selectors.ledger.BATCH", 3)
    write(10)
    for seq in range(1, 8):
        store(head(keys, seq=seq))

    found = verify(keys, *(head(keys, seq=seq) for seq in range(1, 6)))
    assert (found.outcome, found.entries, found.anchors) == (Outcome.OK, 10, 12)


@pytest.mark.parametrize(
    "column",
    [
        "reason = 'another'", "what = 'another'", "target = 'another'", "name = 'another'", "at = at + interval '1 us'",
        "data = '{\"place\": 4}'", "data = 'null'", "data = '{\"a\": null, \"place\": 9}'",
        "cluster_id = (SELECT id FROM checks_cluster)",
    ],
)  # fmt: skip
def test_a_changed_entry_is_found(keys: KeyRing, falsify: Falsify, column: str) -> None:
    make_cluster()
    write(5)
    store(head(keys))
    falsify(f"UPDATE checks_ledgerentry SET {column} WHERE target = 'target 2'")  # noqa: S608

    found = verify(keys)
    assert found.outcome is Outcome.BROKEN
    assert [each for each in found.breaks if "was changed after it was written" in each]


def test_a_removed_entry_is_found(keys: KeyRing, falsify: Falsify) -> None:
    write(5)
    store(head(keys))
    falsify("DELETE FROM checks_ledgerentry WHERE seq = 3")

    assert verify(keys).breaks == ("Entry 3 is missing: the next one is 4.",)


def test_a_removed_first_entry_is_found(keys: KeyRing, falsify: Falsify) -> None:
    write(3)
    store(head(keys))
    falsify("DELETE FROM checks_ledgerentry WHERE seq = 1")

    assert verify(keys).breaks == ("Entry 1 is missing: the next one is 2.",)


def test_entries_that_changed_places_are_found(keys: KeyRing, falsify: Falsify) -> None:
    write(5)
    falsify(
        "ALTER TABLE checks_ledgerentry DROP CONSTRAINT ledgerentry_seq_unique;"
        "UPDATE checks_ledgerentry SET seq = 7 - seq WHERE seq IN (3, 4)"
    )

    found = verify(keys)
    assert found.outcome is Outcome.BROKEN
    assert "Entry 3 does not follow the entry before it." in found.breaks


def test_an_entry_put_between_two_others_is_found(keys: KeyRing, falsify: Falsify) -> None:
    write(4)
    falsify(
        "ALTER TABLE checks_ledgerentry DROP CONSTRAINT ledgerentry_seq_unique;"
        "INSERT INTO checks_ledgerentry (seq, previous, digest, at, name, what, target, reason, data) "
        "SELECT seq, previous, digest, at, name, 'forged', target, reason, data FROM checks_ledgerentry WHERE seq = 2"
    )

    assert verify(keys).outcome is Outcome.BROKEN


def test_a_chain_rewritten_as_a_whole_holds_in_itself_and_not_against_an_anchor(
    keys: KeyRing, falsify: Falsify
) -> None:
    write(5)
    outside = head(keys)
    falsify("DELETE FROM checks_ledgerentry")
    write_entry(what="test", target="never happened", now=NOON)
    write(4)

    assert verify(keys).outcome is Outcome.UNCLEAR
    found = verify(keys, outside)
    assert found.outcome is Outcome.BROKEN
    assert "Entry 5 is not the one that was anchored on 2026-11-30 12:00:00 UTC (outside)" in found.breaks[0]


def test_an_anchor_swapped_in_the_database_is_found(keys: KeyRing, falsify: Falsify) -> None:
    write(5)
    store(head(keys))
    falsify("UPDATE checks_ledgeranchor SET head = (SELECT digest FROM checks_ledgerentry WHERE seq = 4), seq = 4")

    found = verify(keys)
    assert found.outcome is Outcome.BROKEN
    assert found.breaks == (
        "The anchor of entry 4 in the database was changed: its signature is not its key's.",
    )  # fmt: skip


def test_an_anchor_of_a_key_that_is_not_known_proves_nothing(keys: KeyRing) -> None:
    write(5)
    store(head(key_ring()))

    found = verify(keys)
    assert found.outcome is Outcome.UNCLEAR
    assert "of key" in found.unclear[0]


def test_a_chain_without_any_anchor_cannot_be_told(keys: KeyRing) -> None:
    write(5)

    found = verify(keys)
    assert found.outcome is Outcome.UNCLEAR
    assert found.breaks == ()


def test_a_database_of_before_an_anchor_was_rolled_back_by_so_many_entries(keys: KeyRing, falsify: Falsify) -> None:
    write(9)
    older, newest = head(keys, seq=7), head(keys)
    falsify("DELETE FROM checks_ledgerentry WHERE seq > 5")

    found = verify(keys, newest, older)
    assert found.outcome is Outcome.ROLLED_BACK
    assert found.lost == 4


def roll_back(keys: KeyRing, falsify: Falsify) -> list[Anchor]:
    """Nine entries of which four are gone, and what was anchored outside: entries 4, 7 and 9."""
    write(9)
    outside = [head(keys, seq=4), head(keys, seq=7), head(keys)]
    falsify("DELETE FROM checks_ledgerentry WHERE seq > 5")
    return outside


def restored(outside: list[Anchor], keys: KeyRing) -> LedgerEntry:
    return note_restored(outside=outside, keys=keys, by=None, reason="disk failed", now=NOON + timedelta(minutes=1))


def test_a_restore_that_was_told_stays_visible_and_is_no_break(keys: KeyRing, falsify: Falsify) -> None:
    outside = roll_back(keys, falsify)
    entry = restored(outside, keys)
    write(8)
    later = head(keys)

    found = verify(keys, *outside, later)
    assert (entry.seq, entry.data["lost"], entry.data["anchor"]["seq"]) == (6, 4, 9)
    assert found.outcome is Outcome.OK
    assert [(each.lost, each.reason) for each in found.restores] == [(4, "disk failed")]


def test_a_restore_that_nobody_told_is_found_after_the_chain_grew_again(keys: KeyRing, falsify: Falsify) -> None:
    outside = roll_back(keys, falsify)
    write(8)

    assert verify(keys, *outside).outcome is Outcome.BROKEN


def test_a_restore_told_late_names_the_newest_anchor_that_still_holds(keys: KeyRing, falsify: Falsify) -> None:
    outside = roll_back(keys, falsify)
    write(8)
    entry = restored(outside, keys)

    assert (entry.data["kept"], entry.data["lost"]) == (4, 5)
    assert verify(keys, *outside).outcome is Outcome.OK


def test_a_restore_explains_no_anchor_of_after_it(keys: KeyRing, falsify: Falsify) -> None:
    outside = roll_back(keys, falsify)
    restored(outside, keys)
    write(2)
    later = keys.sign(replace(head(keys), at=NOON + timedelta(minutes=2)))
    falsify("DELETE FROM checks_ledgerentry WHERE seq > 6")
    write(1)
    write_entry(what="test", target="never happened", now=NOON)

    assert verify(keys, *outside, later).outcome is Outcome.BROKEN


def test_a_restore_with_an_anchor_that_nobody_signed_explains_nothing(keys: KeyRing, falsify: Falsify) -> None:
    outside = roll_back(keys, falsify)
    forged = replace(outside[-1], signature="00" * 64)
    write_entry(what="restored", target="database", now=NOON, data={"anchor": forged.as_json(), "kept": 4, "lost": 4})

    found = verify(keys, outside[0])
    assert found.breaks == ("Entry 6 tells of a restore, with an anchor that nobody signed.",)


def test_files_that_are_no_anchors_are_told_and_break_nothing(keys: KeyRing, tmp_path: Path) -> None:
    write(2)
    (tmp_path / "good.json").write_text(json.dumps(head(keys).as_json()))
    (tmp_path / "cut.json").write_text(json.dumps(head(keys).as_json())[:40])
    (tmp_path / "other.json").write_text('{"seq": 1}')
    (tmp_path / "list.json").write_text("[1]")

    found = verify(keys, *anchors_in(tmp_path))
    assert found.outcome is Outcome.UNCLEAR
    assert (found.anchors, len(found.unclear)) == (1, 3)


def test_pages_of_entries_follow_each_other_without_gap_or_double() -> None:
    write(7)
    first = entries(clusters=None, limit=3)
    second = entries(clusters=None, before=first.before, limit=3)
    third = entries(clusters=None, before=second.before, limit=3)

    assert [[entry.seq for entry in page.entries] for page in (first, second, third)] == [[7, 6, 5], [4, 3, 2], [1]]
    assert third.before is None


def test_a_page_for_some_clusters_shows_no_act_of_another(keys: KeyRing) -> None:
    mine, other = make_cluster("mine"), make_cluster("other")
    write_entry(what="test", target="a", cluster=mine, now=NOON)
    write_entry(what="test", target="b", cluster=other, now=NOON)

    shown = entries(clusters=[mine]).entries
    assert {entry.cluster for entry in shown} == {mine}
    assert [entry.target for entry in entries(clusters=[mine], targets=["a"]).entries] == ["a"]
