"""Certificates where web processes have no key: the worker seals them, and a web process waits for it."""

import json
from datetime import timedelta
from pathlib import Path
from threading import Thread

import pytest
from django.db import connection
from pytest_django import Settings

from checks.models import CertificateOrder, Outbox
from checks.selectors.anchors import KeyUnusable
from checks.services.sealing import SealerAway, certificate_of, purge_orders, seal_certificate
from portal.quickstart.place import Place
from tests.lab import NOON
from tests.signed import Signing, a_signable_run


@pytest.fixture
def key(tmp_path: Path) -> str:
    return str(Place(tmp_path).ledger_key())


@pytest.fixture
def signing(transactional_db: None, settings: Settings) -> Signing:
    """A run, and a web process without a key."""
    settings.LEDGER_KEY_FILE = ""
    return a_signable_run()


def worker(settings: Settings, key: str, *, orders: int = 1) -> Thread:
    """Does what the outbox asks for, as the worker does, with the key that it alone has."""

    def work() -> None:
        while Outbox.objects.filter(task="checks.seal_certificate").count() < orders:
            pass
        settings.LEDGER_KEY_FILE = key
        for row in Outbox.objects.filter(task="checks.seal_certificate"):
            seal_certificate(order_id=row.args[0], now=NOON)
        connection.close()

    thread = Thread(target=work)
    thread.start()
    return thread


def test_the_worker_seals_what_a_web_process_asks_for(signing: Signing, settings: Settings, key: str) -> None:
    sealing = worker(settings, key)
    text = certificate_of(signing.run, now=NOON, patience_s=30)
    sealing.join()

    assert json.loads(text)["run"] == signing.run.slug
    assert not CertificateOrder.objects.exists()


def test_a_worker_without_a_key_is_told_at_once(signing: Signing, settings: Settings) -> None:
    sealing = worker(settings, "")
    with pytest.raises(KeyUnusable, match="set LEDGER_KEY_FILE"):
        certificate_of(signing.run, now=NOON, patience_s=30)
    sealing.join()


def test_a_worker_that_does_not_come_is_told_after_a_while(signing: Signing) -> None:
    with pytest.raises(SealerAway, match="try again") as refused:
        certificate_of(signing.run, now=NOON, patience_s=0)

    assert refused.value.status == 503


def test_an_order_done_twice_keeps_its_first_text(signing: Signing, settings: Settings, key: str) -> None:
    order = CertificateOrder.objects.create(run=signing.run, asked_at=NOON)
    settings.LEDGER_KEY_FILE = key
    seal_certificate(order_id=order.pk, now=NOON)
    order.refresh_from_db()
    seal_certificate(order_id=order.pk, now=NOON + timedelta(minutes=1))

    assert CertificateOrder.objects.get().text == order.text != ""


def test_what_nobody_came_for_is_taken_away(signing: Signing) -> None:
    CertificateOrder.objects.create(run=signing.run, asked_at=NOON)

    assert [purge_orders(now=NOON + timedelta(minutes=minutes)) for minutes in (60, 61)] == [0, 1]
    seal_certificate(order_id=0, now=NOON)  # an order that is gone is no error
