"""A run's question goes through the gate's memory: no signature or override outlives its writing, or its end."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from checks.domain.answers import Answer
from checks.domain.verdicts import Decision, Layer, Purpose
from checks.models import Role, TokenKind
from checks.selectors import gate_context, readiness
from checks.selectors.gate_context import context_of_token
from checks.selectors.gate_memory import Memory
from checks.selectors.readiness import answer_in
from checks.services.delegations import delegate
from checks.services.overrides import force_open
from checks.services.shared_items import derive_shared_items
from checks.services.signing import revoke_signature
from checks.services.starts import note_start
from checks.services.tokens import parse_bearer
from tests.api.run_lab import all_report, narrow_link, waived
from tests.lab import HOUR, MINUTE, NOON, bearer
from tests.people import person
from tests.signed import SIGNERS, Signing, a_signable_run, proof, tick

pytestmark = pytest.mark.django_db(transaction=True)

MOMENT, PART = timedelta(microseconds=1), timedelta(seconds=0.4)


class Asker:
    """Asks about one run with a token, as a process that has just started."""

    def __init__(self, signing: Signing) -> None:
        self.signing = signing
        self.key = parse_bearer(bearer(TokenKind.GATE, signing.cluster)["Authorization"].split()[1]).key
        readiness._memory, gate_context._memory = Memory(), Memory()

    def ask(self, now: datetime = NOON, *, purpose: Purpose = Purpose.START, nodes: str | None = None) -> Answer:
        found = context_of_token(key=self.key, run="run-7", now=now)
        assert found is not None
        assert found[1] is not None
        return answer_in(found[1], nodes=[nodes] if nodes else None, purpose=purpose, run="run-7", now=now)

    def statements(self, now: datetime = NOON) -> int:
        with CaptureQueriesContext(connection) as seen:
            self.ask(now)
        return len(seen)


@pytest.fixture
def asker() -> Asker:
    return Asker(a_signable_run())


def test_a_question_asked_again_is_answered_from_memory_until_somebody_writes(asker: Asker) -> None:
    signing = asker.signing
    signing.sign_all()
    asker.ask()
    assert (asker.statements(), asker.ask().decision) == (1, Decision.READY)

    tick(signing.fleet, "gpu002", at=NOON + MOMENT, changed={"gpu-pcie-width": {"width": 8}})
    assert asker.ask(NOON + MOMENT, nodes="gpu002").decision is Decision.NOT_READY

    note_start(run=signing.run, nodes="gpu[001,003]", by=signing.people[Role.LEAD], now=NOON + MOMENT)
    assert asker.ask(NOON + MOMENT, purpose=Purpose.RESTART).decision is Decision.READY

    signature = signing.state().signatures[Layer.DATA][0]
    revoke_signature(signature=signature, by=signature.signer, reason="wrong corpus", proof=proof(), now=NOON)
    said = [asker.ask(NOON + MOMENT, purpose=purpose) for purpose in (Purpose.START, Purpose.RESTART)]
    assert [one.decision for one in said] == [Decision.NOT_READY] * 2
    assert all("revoked" in [why.code for why in one.reasons] for one in said)


def test_a_remembered_answer_ends_with_the_override_that_it_rests_on(asker: Asker) -> None:
    signing = asker.signing
    force_open(
        run=signing.run, by=signing.people[Role.LEAD], reason="deadline", ticket="OPS-1", until=NOON + PART,
        proof=proof(), now=NOON,
    )  # fmt: skip
    said = [asker.ask(now).decision for now in (NOON, NOON + PART, NOON + PART + MOMENT)]

    assert said == [Decision.READY, Decision.READY, Decision.NOT_READY]
    assert asker.statements(NOON + PART + MOMENT) == 1


def _rests_on_a_waiver(signing: Signing) -> datetime:
    at = NOON + 20 * MINUTE
    narrow_link(signing, "gpu003", at=at)
    waived(signing, "gpu003", until=at + PART, at=at)
    signing.sign_all(at=at)
    return at + PART


def _rests_on_a_delegation(signing: Signing) -> datetime:
    helper = person("helper", signing.cluster, Role.HARDWARE)
    held = delegate(
        cluster=signing.cluster, role=Role.HARDWARE, giver=signing.people[Role.HARDWARE], receiver=helper,
        starts_at=NOON - HOUR, ends_at=NOON + PART, reason="holiday", proof=proof(), now=NOON,
    )  # fmt: skip
    signing.sign(Role.HARDWARE, by=helper, delegation=held)
    for layer, role in SIGNERS[1:]:
        signing.sign(role, layer)
    return NOON + PART - MOMENT  # over in the very moment that it names


def _rests_on_signatures_of_72_hours(signing: Signing) -> datetime:
    signing.sign_all()
    end = NOON + 72 * HOUR
    for name in ("gpu001", "gpu002", "gpu003"):
        signing.fleet.report(name, at=end - 10 * MINUTE, cadence="daily")
    derive_shared_items(now=end - 10 * MINUTE)
    for minutes in (10, 5, 1):
        all_report(signing, end - minutes * MINUTE)
    return end


@pytest.mark.parametrize("begin", [_rests_on_a_waiver, _rests_on_a_delegation, _rests_on_signatures_of_72_hours])
def test_a_remembered_answer_ends_with_what_it_rests_on(asker: Asker, begin: Callable[[Signing], datetime]) -> None:
    """*begin* returns the last moment at which it holds."""
    end = begin(asker.signing)
    said = [asker.ask(now, nodes="gpu003").decision for now in (end - PART / 2, end, end + MOMENT)]

    assert said == [Decision.READY, Decision.READY, Decision.NOT_READY]
