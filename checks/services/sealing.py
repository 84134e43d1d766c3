"""Certificates for whoever asks: web processes have no key to seal one with, the worker has.

Whoever gets into a web process can then ask for a certificate, and cannot forge one.
"""

import time
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import transaction

from checks.dispatch import enqueue
from checks.domain.errors import CountersignError
from checks.models import CertificateOrder, Run
from checks.selectors.anchors import KeyUnusable
from checks.services.certificates import issue_certificate

#: Seconds that a request waits for the worker, and how often it looks.
PATIENCE_S: Final = 8.0
_LOOK_EVERY_S: Final = 0.1
#: What nobody waited for is of no use any more: it tells how the run stood then.
_KEPT: Final = timedelta(hours=1)
_SEAL: Final = "checks.seal_certificate"


class SealerAway(CountersignError):
    """The worker did not seal it in time."""

    code = "sealer_away"
    status = 503


def certificate_of(run: Run, *, now: datetime, patience_s: float = PATIENCE_S) -> str:
    """The certificate of *run*, sealed here where the key is here, else by the worker. Outside of any transaction.

    Raises:
        KeyUnusable: there is no key where certificates are sealed.
        SealerAway: the worker did not answer within *patience_s* seconds.
    """
    if settings.LEDGER_KEY_FILE:
        return issue_certificate(run, now=now)
    with transaction.atomic():
        order = CertificateOrder.objects.create(run=run, asked_at=now)
        enqueue(_SEAL, order.pk, now=now)
    return _wait_for(order.pk, time.monotonic() + patience_s)


def seal_certificate(*, order_id: int, now: datetime) -> None:
    """What the worker does with an order; twice does what once does."""
    order = CertificateOrder.objects.select_related("run__cluster", "run__owner").filter(pk=order_id, text="").first()
    if order is None:
        return
    try:
        order.text, order.problem = issue_certificate(order.run, now=now), ""
    except KeyUnusable as error:
        order.problem = error.message[:300]
    order.save(update_fields=["text", "problem"])


def purge_orders(*, now: datetime) -> int:
    """Delete orders older than an hour; returns how many."""
    return CertificateOrder.objects.filter(asked_at__lt=now - _KEPT).delete()[0]


def _wait_for(order_id: int, deadline: float) -> str:
    order = CertificateOrder.objects.filter(pk=order_id)
    while True:
        text, problem = order.values_list("text", "problem").get()
        if text or problem:
            order.delete()
        if problem:
            raise KeyUnusable(problem)
        if text:
            return str(text)
        if time.monotonic() > deadline:
            raise SealerAway("The worker has not sealed the certificate yet; try again in a minute, and see /status.")
        time.sleep(_LOOK_EVERY_S)
