"""The gate answers from memory only what it would read again: no write and no second is ever missed."""

import random
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from checks.domain.answers import Answer
from checks.domain.verdicts import Decision
from checks.models import BreakerTrip, Cluster, Node, NodeItemState, NodeReadiness, Token, TokenKind
from checks.selectors import gate_context, readiness
from checks.selectors.gate_context import context_of_token
from checks.selectors.gate_memory import LONGEST, Memory
from checks.selectors.readiness import answer_in
from checks.services.tokens import parse_bearer
from tests.lab import HOUR, NOON, SECOND, bad_row, bearer, healthy_node, lab

pytestmark = pytest.mark.django_db(transaction=True)

MOMENT = timedelta(microseconds=1)
PART = timedelta(seconds=0.4)


class Asker:
    """Asks about one cluster with a token bound to it, as a process that has just started."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster.slug
        self.key = parse_bearer(bearer(TokenKind.GATE, cluster)["Authorization"].split()[1]).key
        self.forget()

    def forget(self) -> None:
        readiness._memory = Memory()
        gate_context._memory = Memory()

    def ask(self, now: datetime = NOON) -> Answer | None:
        """The answer at *now*; None where the token knows no such cluster."""
        found = context_of_token(key=self.key, cluster=self.cluster, now=now)
        context = found[1] if found is not None and found[0].token.revoked_at is None else None
        return answer_in(context, nodes=None, purpose=None, run=None, now=now) if context else None

    def decision(self, now: datetime = NOON) -> Decision | None:
        """What it says in one word."""
        answer = self.ask(now)
        return answer.decision if answer is not None else None

    def statements(self, now: datetime = NOON) -> int:
        """How many the question takes."""
        with CaptureQueriesContext(connection) as seen:
            self.ask(now)
        return len(seen)


@pytest.fixture
def asker() -> Asker:
    cluster = lab()
    for number in range(3):
        healthy_node(cluster, f"gpu{number}")
    return Asker(cluster)


def test_a_question_asked_again_takes_one_statement_while_nobody_writes(asker: Asker) -> None:
    assert [asker.statements() for _ in range(3)] == [2, 1, 1]


def test_after_any_write_everything_is_read_again(asker: Asker) -> None:
    asker.ask()
    Node.objects.filter(hostname="gpu0").update(rack="r1")

    assert asker.statements() == 2


def test_a_node_that_fails_closes_the_gate_at_the_next_question(asker: Asker) -> None:
    before = asker.decision()
    bad_row(Node.objects.get(hostname="gpu1"), "gpu-ecc", subject="gpu0")

    assert (before, asker.decision()) == (Decision.READY, Decision.NOT_READY)


def test_a_revoked_token_is_refused_at_the_next_question(asker: Asker) -> None:
    asker.ask()
    Token.objects.filter(key=asker.key).update(revoked_at=NOON)

    assert asker.ask() is None


def test_evidence_that_ends_turns_a_remembered_answer_at_that_very_moment(asker: Asker) -> None:
    NodeReadiness.objects.filter(node__hostname="gpu1").update(tick_until=NOON + PART)

    said = [asker.decision(now) for now in (NOON, NOON + PART, NOON + PART + MOMENT)]

    assert said == [Decision.READY, Decision.READY, Decision.UNKNOWN]


def test_a_remembered_answer_tells_the_time_of_its_own_question(asker: Asker) -> None:
    asker.ask()
    later = asker.ask(NOON + PART)

    assert later is not None
    assert (later.evaluated_at, later.expires_at, later.ttl_s) == (NOON + PART, NOON + PART + timedelta(minutes=5), 300)


def test_what_a_transaction_has_written_itself_is_not_answered_from_memory(asker: Asker) -> None:
    asker.ask()
    with transaction.atomic():
        NodeReadiness.objects.update(health_bad=1)
        asker.ask()
        NodeReadiness.objects.update(health_bad=0, judged_under="old")

        assert asker.decision() is Decision.UNKNOWN


def test_nothing_is_kept_longer_than_a_second_though_nobody_wrote(asker: Asker) -> None:
    asker.ask()

    assert [asker.statements(now) for now in (NOON + LONGEST, NOON + LONGEST + MOMENT)] == [1, 2]


def test_a_clock_that_is_set_back_is_not_answered_from_the_future(asker: Asker) -> None:
    asker.ask()

    assert asker.statements(NOON - MOMENT) == 2


ACTS: list[Callable[[random.Random], object]] = [
    lambda chance: NodeReadiness.objects.filter(node__hostname=f"gpu{chance.randrange(3)}").update(
        tick_until=NOON + timedelta(seconds=chance.uniform(0, 3))
    ),
    lambda chance: NodeReadiness.objects.filter(node__hostname=f"gpu{chance.randrange(3)}").update(
        health_bad=chance.randrange(2), tick_until=NOON + HOUR
    ),
    lambda chance: Node.objects.filter(hostname="gpu2").update(retired_at=chance.choice([None, NOON])),
    lambda chance: Node.objects.filter(hostname="gpu0").update(trouble=chance.choice(["", "boot_conflict"])),
    lambda chance: Cluster.objects.update(closed_at=chance.choice([None, None, NOON])),
    lambda chance: NodeItemState.objects.update(blocks=chance.choice([0, 2])),
    lambda chance: BreakerTrip.objects.update(last_flip_at=NOON - HOUR / 2 + timedelta(seconds=chance.uniform(0, 3))),
]


@pytest.mark.parametrize("seed", range(12))
def test_whatever_happens_memory_and_database_say_the_same(seed: int, asker: Asker) -> None:
    chance, now = random.Random(seed), NOON
    bad_row(Node.objects.get(hostname="gpu1"), "gpu-ecc", subject="gpu0")
    BreakerTrip.objects.create(
        cluster=Cluster.objects.get(), item="gpu-ecc", tripped_at=NOON - HOUR, last_flip_at=NOON - HOUR, nodes=4,
        of_nodes=4,
    )  # fmt: skip
    for _ in range(40):
        if chance.random() < 0.4:
            chance.choice(ACTS)(chance)
        now += timedelta(seconds=chance.uniform(0, 0.2))
        remembered = asker.ask(now)
        kept = readiness._memory, gate_context._memory
        asker.forget()

        assert remembered == asker.ask(now)
        readiness._memory, gate_context._memory = kept
    assert now > NOON + SECOND
