"""The Celery application. Web processes never use it: they write an outbox row, and worker and beat send it.

A row says what is due, a message is only a nudge: every task may be lost, late, or run twice. The figures belong
together: a message waits behind one full-length task (240 s) and runs as long itself, inside the 600 s after which the
broker hands it to another worker.
"""

import os

from celery import Celery
from celery.schedules import crontab

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

VISIBILITY_S = 600


def every(seconds: int, task: str) -> dict[str, object]:
    """A beat entry; a nudge that waited as long as its period is dropped, the next one does its work."""
    return {"task": f"checks.{task}", "schedule": float(seconds), "options": {"expires": seconds}}


app = Celery("countersign")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.update(
    # The outbox sender and beat's sign of life; loaded by worker and beat only, after Django is set up.
    imports=["portal.sender"],
    task_ignore_result=True,
    task_serializer="json",
    accept_content=["json"],
    task_acks_late=True,
    # A task that kills its worker must not come back for ever; beat nudges what is still due.
    task_reject_on_worker_lost=False,
    task_soft_time_limit=200,
    task_time_limit=240,
    visibility_timeout=VISIBILITY_S,
    broker_transport_options={
        "visibility_timeout": VISIBILITY_S,
        "global_keyprefix": "countersign:",
        "socket_keepalive": True,
        "socket_connect_timeout": 2,
        # Longer than any blocking pop, short enough that a frozen broker does not hold the sender.
        "socket_timeout": 10,
        "health_check_interval": 30,
        "retry_on_timeout": True,
    },
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_channel_error_retry=True,
    worker_prefetch_multiplier=1,
    worker_eta_task_limit=100,
    worker_max_tasks_per_child=500,
    worker_max_memory_per_child=300_000,
    worker_soft_shutdown_timeout=30.0,
    worker_enable_soft_shutdown_on_idle=True,
    worker_cancel_long_running_tasks_on_connection_loss=True,
    worker_hijack_root_logger=False,
    # In memory: every entry is harmless twice and none is rarer than a day, so beat needs no file to write.
    beat_scheduler="celery.beat:Scheduler",
    beat_schedule={
        "worker-heartbeat": every(30, "note_worker_alive"),
        "sweep": every(60, "sweep_gaps"),
        "breaker": every(60, "watch_breakers"),
        # Corrective actions that a passing probe proves by now.
        "verify-actions": every(300, "verify_actions"),
        # What lapses by itself, and what a mail server or a chat did not take before.
        "notices": every(60, "watch_for_notices"),
        # What all nodes of a cluster say together: items of the tick and of the day.
        "shared-items": every(120, "derive_shared_items"),
        "rechecks": every(600, "ask_before_evidence_ends"),
        # What a process left half done when the rules changed; nearly always nothing.
        "rejudge": every(300, "rejudge_outdated"),
        "roll-up": every(900, "roll_up"),
        # Once a night, by what the rows say is due; each hour, so that a lost nudge or a place that was away costs one.
        # By the clock, because a beat that is started anew each half hour would never come to the end of an hour.
        "ledger": {"task": "checks.keep_ledger", "schedule": crontab(minute="20"), "options": {"expires": 3600}},
        "purge-evidence": every(6 * 3600, "purge_evidence"),
        "purge-outbox": every(3600, "purge_outbox"),
        "partitions": {"task": "checks.keep_partitions", "schedule": crontab(minute="10", hour="*/6")},
    },
)
app.autodiscover_tasks()
