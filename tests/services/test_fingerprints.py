"""Fingerprints are kept once, told by what differs, and pointed at by nodes."""

from datetime import timedelta

import pytest

from checks.models import Fingerprint, FingerprintChange, NodeFingerprint, Token
from checks.services.fingerprint_v1 import FingerprintV1, fingerprint_digest
from checks.services.fingerprints import BadFingerprint, purge_fingerprints, record_fingerprint
from tests.factories import NOON, Machine, enrolled_machine, make_cluster

USUAL = {f"sysctl:a.s{n}": "1" for n in range(20)} | {"sysctl:kernel.hostname": "one"}
DAY = timedelta(days=1)

pytestmark = pytest.mark.django_db


def told(settings: dict[str, str | None], *, whole: bool = True, kinds: tuple[str, ...] = ("sysctl",)) -> FingerprintV1:
    digest = fingerprint_digest(kinds, settings)
    return FingerprintV1(1, digest, list(kinds) if whole else None, settings if whole else None)


def tell(machine: Machine, sent: FingerprintV1, at: timedelta = timedelta()) -> bool:
    token = Token.objects.select_related("node__cluster").get(node=machine.node)
    return record_fingerprint(token=token, sent=sent, now=NOON + at)


@pytest.fixture
def machine() -> Machine:
    return enrolled_machine(make_cluster(), "gpu-001")


def test_settings_that_nobody_sent_before_are_wanted_and_nothing_is_noted(machine: Machine) -> None:
    assert tell(machine, told(USUAL, whole=False)) is True
    assert not NodeFingerprint.objects.exists()


def test_settings_are_kept_and_the_node_points_at_them(machine: Machine) -> None:
    assert tell(machine, told(USUAL)) is False

    kept = NodeFingerprint.objects.get(node=machine.node)
    assert (kept.since, kept.seen_at, kept.fingerprint.size) == (NOON, NOON, 21)
    assert kept.fingerprint.noisy == {"sysctl:kernel.hostname": "one"}


def test_the_same_settings_again_only_move_when_they_were_seen(machine: Machine) -> None:
    tell(machine, told(USUAL))
    assert tell(machine, told(USUAL, whole=False), DAY) is False

    kept = NodeFingerprint.objects.get(node=machine.node)
    assert (kept.since, kept.seen_at) == (NOON, NOON + DAY)
    assert FingerprintChange.objects.count() == 1


def test_another_node_is_told_by_what_differs(machine: Machine) -> None:
    tell(machine, told(USUAL))
    other = enrolled_machine(machine.cluster, "gpu-002")
    settings = USUAL | {"sysctl:a.s3": "9", "sysctl:kernel.hostname": "two", "sysctl:a.new": "1"}
    del settings["sysctl:a.s4"]

    tell(other, told(settings))

    kept = NodeFingerprint.objects.get(node=other.node).fingerprint
    assert kept.base_id == told(USUAL).sha256
    assert kept.quiet == {"sysctl:a.s3": "9", "sysctl:a.new": "1", "sysctl:a.s4": False}
    assert kept.noisy == {"sysctl:kernel.hostname": "two"}


def test_what_differs_in_more_than_a_third_is_a_base_of_its_own(machine: Machine) -> None:
    tell(machine, told(USUAL))
    other = enrolled_machine(machine.cluster, "gpu-002")

    tell(other, told(dict.fromkeys(USUAL, "2")))

    assert NodeFingerprint.objects.get(node=other.node).fingerprint.base is None


def test_fingerprints_of_other_kinds_share_no_base(machine: Machine) -> None:
    tell(machine, told(USUAL))
    other = enrolled_machine(machine.cluster, "gpu-002")

    tell(other, told(USUAL, kinds=("cmdline", "sysctl")))

    assert NodeFingerprint.objects.get(node=other.node).fingerprint.base is None


def test_settings_under_the_digest_of_others_are_refused_and_nothing_is_kept(machine: Machine) -> None:
    with pytest.raises(BadFingerprint, match="not those of this sha256"):
        tell(machine, FingerprintV1(1, "0" * 64, ["sysctl"], USUAL))
    assert not Fingerprint.objects.exists()


def test_a_setting_of_a_kind_that_was_not_read_is_refused(machine: Machine) -> None:
    with pytest.raises(BadFingerprint, match="no kind that was read"):
        tell(machine, told({"env:NCCL_ALGO": "Tree"}))


def test_every_change_is_kept_with_its_time(machine: Machine) -> None:
    changed = USUAL | {"sysctl:a.s3": "9"}
    for days, settings in enumerate((USUAL, changed, USUAL)):
        tell(machine, told(settings), days * DAY)

    found = FingerprintChange.objects.order_by("at").values_list("sha256", "at")
    digests = [told(settings).sha256 for settings in (USUAL, changed, USUAL)]
    assert list(found) == [(digest, NOON + days * DAY) for days, digest in enumerate(digests)]


def test_what_no_node_has_had_for_400_days_is_deleted_but_for_bases_of_others(machine: Machine) -> None:
    tell(machine, told(USUAL))
    tell(machine, told(USUAL | {"sysctl:a.s3": "9"}), DAY)
    tell(machine, told(USUAL | {"sysctl:a.s3": "8"}), 2 * DAY)

    assert purge_fingerprints(now=NOON + 401 * DAY) == 0
    assert purge_fingerprints(now=NOON + 402 * DAY) == 1
    assert set(Fingerprint.objects.values_list("sha256", flat=True)) == {
        told(settings).sha256 for settings in (USUAL, USUAL | {"sysctl:a.s3": "8"})
    }
