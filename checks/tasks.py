"""What worker processes run: ids in, one service called. Each may be lost, late, or run twice without harm."""

from celery import shared_task
from django.utils import timezone

from checks.services.breaker import watch_breakers as watch
from checks.services.evidence import purge_evidence as purge_texts
from checks.services.fingerprints import purge_fingerprints
from checks.services.heartbeats import note_alive
from checks.services.incident_actions import verify_by_probes
from checks.services.incident_flips import open_for_flips
from checks.services.ledger_watch import watch_anchor, watch_chain
from checks.services.link_items import derive_link_items
from checks.services.link_purge import purge_trials
from checks.services.notice_sending import purge_notices, send_notices
from checks.services.notice_watch import watch_for_notices
from checks.services.notices import plan_notices
from checks.services.outbox import purge_sent
from checks.services.partitions import drop, ensure
from checks.services.rechecks import ask_before_evidence_ends as ask
from checks.services.rejudge import rejudge_outdated as rejudge
from checks.services.rollups import roll_up as roll
from checks.services.sealing import purge_orders
from checks.services.sealing import seal_certificate as seal
from checks.services.shared_items import derive_shared_items as derive
from checks.services.sweep import sweep_gaps as sweep
from checks.services.window_item import derive_window_items


@shared_task(name="checks.note_worker_alive")
def note_worker_alive() -> None:
    """Comes through the broker, so a worker that lives but hears nothing grows old too."""
    note_alive(name="worker", now=timezone.now())


@shared_task(name="checks.sweep_gaps")
def sweep_gaps() -> None:
    sweep(now=timezone.now())


@shared_task(name="checks.derive_shared_items")
def derive_shared_items() -> None:
    derive(now=timezone.now())
    derive_link_items(now=timezone.now())
    derive_window_items(now=timezone.now())


@shared_task(name="checks.watch_breakers")
def watch_breakers() -> None:
    """Breakers first: what fails on very many nodes at once is one incident."""
    watch(now=timezone.now())
    open_for_flips(now=timezone.now())


@shared_task(name="checks.verify_actions")
def verify_actions() -> None:
    verify_by_probes(now=timezone.now())


@shared_task(name="checks.ask_before_evidence_ends")
def ask_before_evidence_ends() -> None:
    ask(now=timezone.now())


@shared_task(name="checks.notify")
def notify(entry_id: int) -> None:
    """Enqueued with the ledger's entry; what is not taken now, beat tries again."""
    plan_notices(entry_id=entry_id, now=timezone.now())
    send_notices(now=timezone.now())


@shared_task(name="checks.watch_for_notices")
def look_for_notices() -> None:
    """Send first: what waits must not wait for what is looked for."""
    send_notices(now=timezone.now())
    watch_for_notices(now=timezone.now())
    send_notices(now=timezone.now())


@shared_task(name="checks.purge_outbox")
def purge_outbox() -> None:
    purge_sent(now=timezone.now())
    purge_notices(now=timezone.now())
    purge_orders(now=timezone.now())


@shared_task(name="checks.seal_certificate")
def seal_certificate(order_id: int) -> None:
    """Somebody waits for it at a web process, which has no key."""
    seal(order_id=order_id, now=timezone.now())


@shared_task(name="checks.keep_partitions")
def keep_partitions() -> None:
    ensure()
    drop()


@shared_task(name="checks.rejudge_outdated")
def rejudge_outdated() -> None:
    rejudge(now=timezone.now())


@shared_task(name="checks.roll_up")
def roll_up() -> None:
    roll(now=timezone.now())


@shared_task(name="checks.purge_evidence")
def purge_evidence() -> None:
    purge_texts(now=timezone.now())
    purge_fingerprints(now=timezone.now())
    purge_trials(now=timezone.now())


@shared_task(name="checks.keep_ledger")
def keep_ledger() -> None:
    """Anchor first: on the first night there is nothing else to hold the chain against."""
    watch_anchor(now=timezone.now())
    watch_chain(now=timezone.now())
