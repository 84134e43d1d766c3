"""Is the process alive, and should it get requests? Neither asks for a token, neither tells a version."""

import structlog
from django.db import Error as DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from checks.selectors.partitions import partitions_until
from checks.selectors.signs import State
from checks.selectors.status import missing_migrations, partition_state

log = structlog.get_logger(__name__)


@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """200 as long as the process answers; it looks at nothing else."""
    return JsonResponse({"alive": True})


@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when the database answers, its schema is this code's, and partitions reach two days ahead; 503 otherwise.

    Broker and worker stand on ``/status``: a dead worker must not take the gate out of service.
    """
    try:
        found = {
            "database": True,
            "migrations": not missing_migrations(),
            "partitions": partition_state(partitions_until(), now=timezone.now()) is not State.RED,
        }
    except DatabaseError as error:
        log.warning("readyz.database_away", error=str(error))
        found = {"database": False}
    ready = all(found.values())
    return JsonResponse({"ready": ready, **found}, status=200 if ready else 503)
