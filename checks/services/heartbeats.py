"""Signs of life of what runs beside the web processes: a silent one shows by its age."""

from datetime import datetime

from checks.models import Heartbeat


def note_alive(*, name: str, now: datetime) -> None:
    """Record that *name* (``worker``, ``beat``, ``sweep``) lived at *now*, in one statement."""
    Heartbeat.objects.bulk_create(
        [Heartbeat(name=name, at=now)], update_conflicts=True, unique_fields=["name"], update_fields=["at"]
    )
