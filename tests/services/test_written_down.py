"""What people write down is refused where nobody could read it again, or where it would look like something else."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from checks.domain.verdicts import Layer
from checks.models import Attestation, Delegation, LedgerEntry, Role, Run, Signature, Waiver
from checks.services.attestations import InvalidAttestation, attest
from checks.services.delegations import DelegationRefused, delegate
from checks.services.permissions import TextRefused
from checks.services.proofs import Proof
from checks.services.run_spec import InvalidRun
from checks.services.runs import edit_run, move_stage, set_pool
from checks.services.signing import revoke_signature, sign_layer
from checks.services.waivers import WaiverRefused, ask_waiver
from tests.lab import MINUTE, NOON
from tests.people import person
from tests.runs import DIGEST, a_run
from tests.signed import STATED, Signing, a_signable_run, proof, tick

pytestmark = pytest.mark.django_db

NO_TIMES = (
    datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),  # before the first year that Python reads
    datetime(1999, 12, 31, tzinfo=UTC),
    datetime(2200, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, tzinfo=timezone(timedelta(hours=-8))),  # after the last one
)
UNSEEN = ("train\0.yaml", "train\u202elmay.", "tra\u200bin.yaml", "train\n.yaml", "\ud800")


@pytest.fixture
def signing() -> Signing:
    return a_signable_run(nodes=("gpu001", "gpu002"))


@pytest.mark.parametrize("moment", NO_TIMES)
@pytest.mark.parametrize("field", ["planned_start", "planned_end"])
def test_no_run_is_planned_outside_of_the_calendar(signing: Signing, field: Any, moment: Any) -> None:
    """Such a run could never be read again, nor taken away, and every list that it stands in would be down."""
    with pytest.raises(InvalidRun):
        a_run(signing.cluster, "gpu[001-002]", slug="run-8", **{field: moment})

    assert not Run.objects.filter(slug="run-8").exists()


def test_a_run_to_the_end_of_the_calendar_can_be_read_again(signing: Signing) -> None:
    a_run(signing.cluster, "gpu[001-002]", slug="run-8", planned_end=datetime(2199, 12, 31, tzinfo=UTC))
    signing.run = Run.objects.get(slug="run-8")

    assert signing.state().restart_until.year == 2234


@pytest.mark.parametrize("until", NO_TIMES)
def test_no_waiver_ends_outside_of_the_calendar(signing: Signing, until: datetime) -> None:
    for minutes in (5, 10, 15):
        tick(signing.fleet, "gpu001", at=NOON + minutes * MINUTE, changed={"gpu-pcie-width": {"width": 8}})
    with pytest.raises(WaiverRefused):
        ask_waiver(
            run=signing.run, item="gpu-pcie-width", nodes="gpu001", until=until, by=signing.people[Role.HARDWARE],
            role=Role.HARDWARE, reason="riser", proof=proof(), now=NOON,
        )  # fmt: skip

    assert not Waiver.objects.exists()


@pytest.mark.parametrize("ends", NO_TIMES)
def test_no_delegation_lies_outside_of_the_calendar(signing: Signing, ends: datetime) -> None:
    other = person("other", signing.cluster, Role.LEAD)
    with pytest.raises(DelegationRefused):
        delegate(
            cluster=signing.cluster, role=Role.LEAD, giver=signing.people[Role.LEAD], receiver=other,
            starts_at=ends.replace(tzinfo=UTC) - timedelta(days=1) if ends.year > 1 else NOON, ends_at=ends,
            reason="away", proof=proof(), now=NOON,
        )  # fmt: skip

    assert not Delegation.objects.exists()


@pytest.mark.parametrize("until", NO_TIMES)
def test_no_statement_holds_beyond_the_calendar(signing: Signing, until: datetime) -> None:
    before = Attestation.objects.count()
    with pytest.raises(InvalidAttestation):
        attest(
            cluster=signing.cluster, run=signing.run, node=None, item="ops-runbook", subject="",
            facts=STATED["ops-runbook"], statement="Read it.", files=[], valid_until=until, by=signing.clerk, now=NOON,
        )  # fmt: skip

    assert Attestation.objects.count() == before


@pytest.mark.parametrize("text", UNSEEN)
@pytest.mark.parametrize(
    "field",
    [
        lambda text: {"name": text},
        lambda text: {"model_name": text},
        lambda text: {"dataset": text},
        lambda text: {"artefacts": [{"name": text, "digest": DIGEST}]},
    ],
)
def test_nothing_that_is_signed_of_a_run_looks_like_something_else(
    signing: Signing, field: Callable[[str], dict[str, Any]], text: str
) -> None:
    with pytest.raises(InvalidRun):
        edit_run(run=signing.run, changes=field(text), by=signing.people[Role.LEAD], reason="", now=NOON)


@pytest.mark.parametrize(
    "field",
    [
        {"layout": {"expert": 10**30}},
        {"bytes_per_parameter": {"weights": 1e300}},
        {"bytes_per_parameter": {"weights": float("nan")}},
    ],
)
def test_no_number_of_a_run_is_larger_than_readers_of_json_hold(signing: Signing, field: dict[str, Any]) -> None:
    with pytest.raises(InvalidRun):
        edit_run(run=signing.run, changes=field, by=signing.people[Role.LEAD], reason="", now=NOON)


@pytest.mark.parametrize("reason", ["no\0", "\u202eno", "\x1b[2Jno", "x" * 2001])
def test_no_reason_is_endless_or_hides_what_it_says(signing: Signing, reason: str) -> None:
    """Whether the act has to have one, or only may."""
    lead, signature = signing.people[Role.LEAD], signing.sign(Role.PLATFORM, Layer.SYSTEM)
    other = a_run(signing.cluster, "gpu[001-002]", slug="run-8")
    acts: tuple[Callable[[], object], ...] = (
        lambda: revoke_signature(signature=signature, by=signature.signer, reason=reason, proof=proof(), now=NOON),
        lambda: edit_run(run=signing.run, changes={"dataset": "v4"}, by=lead, reason=reason, now=NOON),
        lambda: edit_run(run=other, changes={"dataset": "v4"}, by=lead, reason=reason, now=NOON),
        lambda: set_pool(run=other, nodes="gpu[001-002]", by=lead, reason=reason, now=NOON),
        lambda: move_stage(run=other, to="checking", by=lead, reason=reason, now=NOON),
    )
    entries = LedgerEntry.objects.count()
    for act in acts:
        with pytest.raises(TextRefused):
            act()

    assert LedgerEntry.objects.count() == entries


def test_a_comment_that_hides_something_signs_nothing(signing: Signing) -> None:
    with pytest.raises(TextRefused):
        sign_layer(
            run=signing.run, layer=Layer.SYSTEM, by=signing.people[Role.PLATFORM], role=Role.PLATFORM,
            meaning="reviewed", comment="fine\u202e", shown_digest=signing.view(Layer.SYSTEM).package.digest,
            seconds={}, proof=proof(), now=NOON,
        )  # fmt: skip

    assert not Signature.objects.exists()


@pytest.mark.parametrize(
    ("address", "kept"),
    [("192.0.2.7", "192.0.2.7"), ("fe80::1%eth0", "fe80::1"), ("unix:/run/app", None), ("", None), (None, None)],
)
def test_whatever_the_browser_and_its_way_are_called_a_signature_is_kept(
    signing: Signing, address: str | None, kept: str | None
) -> None:
    odd = Proof("password", NOON - MINUTE, address, "Fire\0fox\n" + "x" * 500)
    signature = signing.sign(Role.PLATFORM, Layer.SYSTEM, proof=odd)
    stored = Signature.objects.get(pk=signature.pk)

    assert (stored.address, stored.user_agent) == (kept, "Firefox" + "x" * 293)
