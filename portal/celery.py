"""The Celery application. Web processes never use it: they write an outbox row, and worker and beat send it."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

app = Celery("countersign")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.update(
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_serializer="json",
    accept_content=["json"],
    task_soft_time_limit=60,
    task_time_limit=90,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
    # A broker that hangs must not hang the sender.
    broker_transport_options={"socket_timeout": 5, "socket_connect_timeout": 5},
    beat_schedule={},
)
app.autodiscover_tasks()
