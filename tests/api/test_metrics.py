"""What Prometheus scrapes, and who may."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from checks.models import LedgerWatch, TokenKind
from checks.services.heartbeats import note_alive
from checks.services.tokens import issue_token

pytestmark = pytest.mark.django_db


def scrape(client: Client, kind: TokenKind) -> tuple[int, str]:
    _, text = issue_token(kind=kind, now=timezone.now(), created_by=None)
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {text}"})
    return answer.status_code, answer.content.decode()


def test_an_operator_reads_ages_and_a_service_that_never_lived_has_none(client: Client) -> None:
    note_alive(name="worker", now=timezone.now() - timedelta(seconds=90))

    status, text = scrape(client, TokenKind.OPERATOR)

    lines = text.splitlines()
    age = next(line for line in lines if line.startswith('countersign_heartbeat_age_seconds{name="worker"}'))
    assert status == 200
    assert 90 <= float(age.split()[1]) < 120
    assert 'countersign_heartbeat_age_seconds{name="beat"}' not in text
    assert "countersign_outbox_unsent 0.0" in lines


def test_a_broken_ledger_is_a_two_for_whoever_alerts_on_it(client: Client) -> None:
    LedgerWatch.objects.create(name="chain", at=timezone.now(), outcome="broken")

    assert 'countersign_ledger_state{name="chain"} 2.0' in scrape(client, TokenKind.OPERATOR)[1].splitlines()


def test_a_gates_token_may_not_read_metrics(client: Client) -> None:
    status, text = scrape(client, TokenKind.GATE)

    assert status == 403
    assert '"code":"missing_scope"' in text


def test_nobody_reads_metrics_without_a_token(client: Client) -> None:
    assert client.get("/metrics").status_code == 401
