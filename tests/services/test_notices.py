"""People learn what waits for them and what they must know: once, in their language, and without holding up an act."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core import mail
from pytest_django.fixtures import Settings

from checks.domain.notices import TOLD
from checks.domain.policy import DEFAULT_POLICY
from checks.domain.verdicts import Layer
from checks.models import BreakerTrip, LedgerEntry, LedgerWatch, Notice, Outbox, Role, Stage
from checks.services.delegations import delegate
from checks.services.ledger import write_entry
from checks.services.notice_sending import send_notices
from checks.services.notice_watch import watch_for_notices
from checks.services.notices import ACTS, plan_notices
from checks.services.overrides import force_open
from checks.services.people import grant_role
from checks.services.policies import approve_policy, propose_policy
from checks.services.runs import move_stage
from checks.services.signing import revoke_signature
from checks.services.waivers import approve_waiver, ask_waiver
from portal.accounts.models import User
from tests.lab import HOUR, MINUTE, NOON
from tests.noticed import readers, subjects, tell
from tests.people import person
from tests.signed import Signing, a_signable_run, proof, tick

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def mailing(settings: Settings) -> None:
    settings.MAILS_PEOPLE = True
    settings.PORTAL_URL = "https://countersign.example.org"


@pytest.fixture
def signing() -> Signing:
    signing = a_signable_run()
    for role, someone in signing.people.items():
        someone.email = f"{role}@example.org"
        someone.save()
    return signing


def lead_named(signing: Signing, name: str, *roles: Role, **columns: Any) -> User:
    someone = person(name, signing.cluster, *roles)
    for column, value in ({"email": f"{name}@example.org"} | columns).items():
        setattr(someone, column, value)
    someone.save()
    return someone


# Acts


def test_a_run_that_goes_to_sign_off_asks_each_signer_for_the_layers_that_are_theirs(signing: Signing) -> None:
    move_stage(run=signing.run, to=Stage.CHECKING, by=signing.people[Role.LEAD], reason="go", now=NOON)
    move_stage(run=signing.run, to=Stage.SIGNOFF, by=signing.people[Role.LEAD], reason="all measured", now=NOON)

    mails = {one.to[0]: one for one in tell()}

    assert mails.keys() == {"hardware@example.org", "platform@example.org", "data@example.org", "lead@example.org"}
    assert mails["hardware@example.org"].subject == "[Countersign] Your signature is asked for: run-7"
    assert mails["hardware@example.org"].body.splitlines() == [
        "Your signature is asked for: run-7", "Physical: hardware engineer",
        "https://countersign.example.org/runs/run-7/",
    ]  # fmt: skip
    assert mails["lead@example.org"].body.splitlines()[1] == "Framework: lead; Data: lead; Operations: lead"


def test_a_half_signed_layer_asks_only_those_who_can_give_the_missing_signature(signing: Signing) -> None:
    signing.sign(Role.HARDWARE)

    (only,) = tell()

    assert only.to == ["platform@example.org"]
    assert only.subject == "[Countersign] Half signed, and yours is missing: Physical of run-7"
    assert "the-hardware has signed; missing: AI platform engineer" in only.body
    assert "https://countersign.example.org/runs/run-7/sign/physical/" in only.body


def test_somebody_who_stated_a_result_of_the_layer_is_not_asked_to_sign_it(signing: Signing) -> None:
    lead_named(signing, "second", Role.LEAD)
    signing.clerk.email = "clerk@example.org"
    signing.clerk.save()
    signing.sign(Role.LEAD, Layer.DATA)

    assert readers(tell()) == {"data@example.org"}


def test_a_person_without_an_address_and_a_closed_account_get_nothing(signing: Signing) -> None:
    lead_named(signing, "gone", Role.PLATFORM, is_active=False)
    lead_named(signing, "mute", Role.PLATFORM, email="")
    signing.sign(Role.HARDWARE)

    assert readers(tell()) == {"platform@example.org"}


def test_without_a_mail_server_nobody_is_mailed(signing: Signing, settings: Settings) -> None:
    settings.MAILS_PEOPLE = False
    signing.sign(Role.HARDWARE)

    assert (tell(), Notice.objects.count()) == ([], 0)


def test_a_signature_taken_back_is_told_to_its_signer_with_the_reason(signing: Signing) -> None:
    signature = signing.sign(Role.HARDWARE)
    tell()
    revoke_signature(
        signature=signature, by=signing.people[Role.LEAD], reason="wrong rack", proof=proof(), now=NOON + MINUTE
    )

    mails = tell(now=NOON + MINUTE)

    assert "hardware@example.org" in readers(mails)
    assert "lead@example.org" not in readers(mails)
    assert "the-lead: wrong rack" in mails[0].body


def test_an_override_is_loud_and_told_to_every_lead_and_admin_but_its_author(signing: Signing) -> None:
    lead_named(signing, "boss", Role.ADMIN)
    lead_named(signing, "second", Role.LEAD)
    force_open(
        run=signing.run, by=signing.people[Role.LEAD], reason="deadline", ticket="OPS-7", until=NOON + 5 * HOUR,
        proof=proof(), now=NOON,
    )  # fmt: skip

    mails = tell()

    assert readers(mails) == {"boss@example.org", "second@example.org"}
    assert mails[0].subject.startswith("[Countersign] GATE FORCED OPEN: run-7 until 2026-11-30 17:00 UTC, past ")
    assert "the-lead: deadline (OPS-7)" in mails[0].body
    assert mails[0].extra_headers == {"Importance": "high"}


def test_a_proposed_policy_asks_the_other_people_who_lead(signing: Signing) -> None:
    lead_named(signing, "boss", Role.ADMIN)
    propose_policy(
        cluster=signing.cluster, document=DEFAULT_POLICY.as_json(), by=signing.people[Role.LEAD], reason="as before",
        proof=proof(), now=NOON,
    )  # fmt: skip

    assert (readers(tell()), subjects(mail.outbox)) == (
        {"boss@example.org"}, {"[Countersign] Agree to a new sign-off policy? helios, number 1"},
    )  # fmt: skip


def test_whoever_may_now_sign_for_somebody_is_told(signing: Signing) -> None:
    second = lead_named(signing, "second", Role.LEAD)
    delegate(
        cluster=signing.cluster, role=Role.LEAD, giver=signing.people[Role.LEAD], receiver=second, starts_at=NOON,
        ends_at=NOON + 48 * HOUR, reason="holidays", proof=proof(), now=NOON,
    )  # fmt: skip

    assert readers(tell()) == {"second@example.org"}
    assert subjects(mail.outbox) == {
        "[Countersign] second may sign for the-lead as lead until 2026-12-02 12:00 UTC"
    }  # fmt: skip


def test_a_granted_role_is_told_to_its_holder_and_to_administrators(signing: Signing) -> None:
    boss = lead_named(signing, "boss", Role.ADMIN)
    lead_named(signing, "other", Role.ADMIN)
    new = lead_named(signing, "new")
    grant_role(user=new, cluster=signing.cluster, role=Role.DATA, by=boss, now=NOON)

    assert readers(tell()) == {"new@example.org", "other@example.org"}
    assert subjects(mail.outbox) == {"[Countersign] new is now data engineer in helios"}


def test_a_message_is_in_the_language_of_its_reader(signing: Signing) -> None:
    signing.people[Role.PLATFORM].language = "zh-hans"
    signing.people[Role.PLATFORM].save()
    signing.sign(Role.HARDWARE)

    (only,) = tell()

    assert "Half signed" not in only.subject
    assert "run-7" in only.subject


def test_telling_twice_sends_once(signing: Signing) -> None:
    signing.sign(Role.HARDWARE)
    entry = LedgerEntry.objects.get(what="signed")
    assert plan_notices(entry_id=entry.pk, now=NOON) == 1
    assert plan_notices(entry_id=entry.pk, now=NOON) == 0
    assert (send_notices(now=NOON), send_notices(now=NOON)) == (1, 0)


# What nobody's act brings about


def test_signatures_that_lapse_are_told_to_their_signers_once_with_what_changed(signing: Signing) -> None:
    move_stage(run=signing.run, to=Stage.CHECKING, by=signing.people[Role.LEAD], reason="go", now=NOON)
    move_stage(run=signing.run, to=Stage.SIGNOFF, by=signing.people[Role.LEAD], reason="go", now=NOON)
    signing.sign(Role.PLATFORM, Layer.SYSTEM)
    tell()
    document = {**DEFAULT_POLICY.as_json(), "contributors_may_sign": True}
    proposed = propose_policy(
        cluster=signing.cluster, document=document, by=signing.people[Role.LEAD], reason="few", proof=proof(), now=NOON
    )
    approve_policy(policy=proposed, by=lead_named(signing, "boss", Role.ADMIN), proof=proof(), now=NOON)
    tell()

    assert watch_for_notices(now=NOON + MINUTE) > 0
    assert watch_for_notices(now=NOON + 2 * MINUTE) == 0
    mails = tell(now=NOON + 2 * MINUTE)
    (mine,) = [one for one in mails if one.to == ["platform@example.org"]]
    assert mine.subject == "[Countersign] Signatures are outdated: System of run-7"
    assert "Changed since: policy" in mine.body


def test_a_signature_whose_time_is_over_is_told(signing: Signing) -> None:
    move_stage(run=signing.run, to=Stage.CHECKING, by=signing.people[Role.LEAD], reason="go", now=NOON)
    move_stage(run=signing.run, to=Stage.SIGNOFF, by=signing.people[Role.LEAD], reason="go", now=NOON)
    signing.sign(Role.PLATFORM, Layer.SYSTEM)
    tell()
    week = NOON + timedelta(hours=169)
    watch_for_notices(now=week)

    assert "[Countersign] Signatures have ended: System of run-7" in subjects(tell(now=week))


def test_a_waiver_is_asked_for_and_its_end_is_told_a_day_before_and_when_it_is_over(signing: Signing) -> None:
    now = NOON + 5 * MINUTE
    tick(signing.fleet, "gpu003", at=now, changed={"gpu-pcie-width": {"width": 8}},
         subjects={"gpu-pcie-width": ["gpu3"]})  # fmt: skip
    asked = ask_waiver(
        run=signing.run, item="gpu-pcie-width", nodes="gpu003", until=now + 48 * HOUR, by=signing.people[Role.HARDWARE],
        role=Role.HARDWARE, reason="being replaced", proof=proof(now), now=now,
    )  # fmt: skip
    assert "platform@example.org" in readers(tell(now=now))
    approve_waiver(waiver=asked, by=signing.people[Role.PLATFORM], role=Role.PLATFORM, proof=proof(now), now=now)
    tell(now=now)

    watch_for_notices(now=now + 25 * HOUR)
    assert {one[:29] for one in subjects(tell(now=now + 25 * HOUR))} >= {"[Countersign] A waiver ends s"}
    watch_for_notices(now=now + 49 * HOUR)
    assert {one[:33] for one in subjects(tell(now=now + 49 * HOUR))} >= {"[Countersign] A waiver has ended:"}


def test_a_ledger_that_is_not_whole_is_shouted_to_administrators_once(signing: Signing) -> None:
    lead_named(signing, "boss", Role.ADMIN)
    LedgerWatch.objects.create(name="chain", at=NOON, outcome="broken", detail="Entry 4 was changed.")
    assert (watch_for_notices(now=NOON), watch_for_notices(now=NOON)) == (1, 0)

    (only,) = tell()

    assert (only.to, only.subject) == (["boss@example.org"], "[Countersign] THE LEDGER IS NOT WHOLE")
    assert "Entry 4 was changed." in only.body


# Nodes


def failing_nodes(signing: Signing, *, at: datetime, hosts: tuple[str, ...] = ("gpu001", "gpu002")) -> None:
    for host in hosts:
        tick(signing.fleet, host, at=at, changed={"gpu-pcie-width": {"width": 8}},
             subjects={"gpu-pcie-width": ["gpu3"]})  # fmt: skip


@pytest.fixture
def today(signing: Signing) -> datetime:
    """The clock of these tests; the watch has looked once, so that what comes now is news."""
    watch_for_notices(now=NOON + 2 * MINUTE)
    return NOON + 2 * MINUTE


def test_nodes_that_begin_to_fail_are_told_in_one_message_to_those_who_mend_them(
    signing: Signing, today: datetime
) -> None:
    failing_nodes(signing, at=today)
    watch_for_notices(now=today + 8 * MINUTE)
    mails = tell(now=today + 8 * MINUTE)

    assert readers(mails) == {"hardware@example.org", "platform@example.org", "lead@example.org"}
    assert subjects(mails) == {"[Countersign] 2 nodes in trouble: helios"}
    assert "gpu-pcie-width: gpu[001-002]" in mails[0].body


def test_nodes_that_recovered_meanwhile_are_not_worth_a_message(signing: Signing, today: datetime) -> None:
    failing_nodes(signing, at=today, hosts=("gpu001",))
    tick(signing.fleet, "gpu001", at=today + MINUTE)
    watch_for_notices(now=today + 8 * MINUTE)

    assert not any("in trouble" in one.subject for one in tell(now=today + 8 * MINUTE))


def test_what_began_while_a_breaker_was_open_is_told_when_it_ended_if_it_still_holds(
    signing: Signing, today: datetime
) -> None:
    trip = BreakerTrip.objects.create(
        cluster=signing.cluster, item="gpu-pcie-width", tripped_at=today, last_flip_at=today, nodes=4, of_nodes=8
    )
    failing_nodes(signing, at=today)
    watch_for_notices(now=today + 8 * MINUTE)
    assert not any("in trouble" in one.subject for one in tell(now=today + 8 * MINUTE))

    trip.ended_at = today + 9 * MINUTE
    trip.save()
    watch_for_notices(now=today + 10 * MINUTE)
    assert "[Countersign] 2 nodes in trouble: helios" in subjects(tell(now=today + 10 * MINUTE))


def test_a_machine_whose_hardware_changed_is_told_once(signing: Signing) -> None:
    node = signing.run.pool.get(hostname="gpu001")
    node.trouble, node.unconfirmed_serials = "hardware_changed", {"gpu3": "other"}
    node.save()
    watch_for_notices(now=NOON)
    watch_for_notices(now=NOON + MINUTE)

    mails = [one for one in tell(now=NOON + MINUTE) if one.to == ["hardware@example.org"]]
    assert [one.subject for one in mails] == ["[Countersign] gpu001 is not believed"]
    assert "/clusters/helios/nodes/gpu001/" in mails[0].body


# Which acts


def test_each_act_that_is_enqueued_has_somebody_to_tell_and_no_other_has(signing: Signing) -> None:
    assert ACTS.keys() == TOLD


def test_an_act_that_nobody_is_told_of_enqueues_nothing(signing: Signing) -> None:
    before = Outbox.objects.filter(task="checks.notify").count()
    write_entry(what="catalog_loaded", target="1", now=NOON)

    assert Outbox.objects.filter(task="checks.notify").count() == before
