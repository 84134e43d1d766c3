"""Prepares the database of an evaluation: schema, catalogue, and first data (one person, two clusters, tokens).

A program of its own, with Django set up. It runs at each start: what is there stays, and what somebody removed is made
again.
"""

import secrets
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.utils import timezone  # noqa: E402

from checks.domain.profiles import TrainingEnv  # noqa: E402
from checks.models import Cluster, TokenKind  # noqa: E402
from checks.services.clusters import create_cluster  # noqa: E402
from checks.services.people import add_person  # noqa: E402
from checks.services.tokens import issue_token  # noqa: E402
from portal.accounts.models import User  # noqa: E402
from portal.quickstart.agents import EXAMPLE_CLUSTER  # noqa: E402
from portal.quickstart.hardware import profile_of_this_machine  # noqa: E402
from portal.quickstart.place import Place, read_json, write_json  # noqa: E402

USERNAME = "admin"
LOCAL_CLUSTER = "local"
EXAMPLE_PROFILE = "2xh200-virtual"
PROFILES = Path(settings.BASE_DIR) / "checks" / "catalog" / "profiles"


def main() -> None:
    """Migrate as owner, load what comes with the portal, make what is missing, and write down how to get in."""
    call_command("migrate", database="owner", interactive=False, verbosity=0)
    call_command("catalog", "load", "--yes")
    call_command("prices", "load", "--yes")
    call_command("incidents", "load")
    place = Place(settings.VAR_DIR)
    notes = read_json(place.notes)
    if not Cluster.objects.exists():  # a new database knows neither our tokens, nor our agents, nor our anchors
        notes = {}
        for left in (place.var / "agents", place.anchors()):
            shutil.rmtree(left, ignore_errors=True)
        place.anchors()
    if not notes:
        notes = make_first_data(now=timezone.now())
    write_json(place.notes, notes | {"url": settings.PORTAL_URL})


def make_first_data(*, now: datetime) -> dict[str, Any]:
    """The person, the clusters and fresh tokens; the answer holds every secret, which the database does not.

    Act by act, each in the ledger: what a start did that was broken off, the next one finds.
    """
    password = secrets.token_urlsafe(15)
    person = _person(password, now=now)
    local = _cluster(LOCAL_CLUSTER, "This machine", profile_of_this_machine(PROFILES), person, now=now)
    example = _cluster(
        EXAMPLE_CLUSTER, "Example (replayed)", EXAMPLE_PROFILE, person, now=now, training_env=TrainingEnv.NONE
    )  # its capture holds none
    return {
        "cluster": local.slug,
        "username": person.username,
        "password": password,
        "gate_token": _token(TokenKind.GATE, person, now=now, clusters=[local, example]),
        "enrolment_token": _token(TokenKind.ENROLMENT, person, now=now, cluster=local),
        "example_enrolment_token": _token(TokenKind.ENROLMENT, person, now=now, cluster=example),
    }


def _person(password: str, *, now: datetime) -> User:
    if not User.objects.filter(username=USERNAME).exists():
        add_person(username=USERNAME, password=password, by=None, now=now)
    person = User.objects.get(username=USERNAME)
    person.set_password(password)
    person.is_staff = person.is_superuser = True
    person.save()
    return person


def _cluster(
    slug: str, name: str, profile: str, by: User, *, now: datetime, training_env: TrainingEnv = TrainingEnv.HOST
) -> Cluster:
    found = Cluster.objects.filter(slug=slug).first()
    return found or create_cluster(
        slug=slug, name=name, profile=profile, by=by, now=now, accept_replay=True, training_env=training_env
    )


def _token(kind: TokenKind, by: User, *, now: datetime, **scope: Any) -> str:
    _, text = issue_token(kind=kind, now=now, created_by=by, name="quickstart", **scope)
    return text


if __name__ == "__main__":
    main()
