"""A run whose data and operations layers can be signed: what no probe measures there was stated by a third person."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.test import Client

from checks.domain.verdicts import Layer
from checks.models import Role, Run
from checks.services.attestations import attest
from checks.services.run_spec import RunSpec
from checks.services.runs import create_run
from portal.accounts.models import User
from tests.audited import audit_run
from tests.fleet import Fleet, person
from tests.ui.conftest import Sight, seen_by
from tests.ui.test_step_up import prove

RUN = "/runs/cygnus-13b/"
SIGN_DATA = f"{RUN}sign/data/"
SIGN_OPERATIONS = f"{RUN}sign/operations/"


@dataclass
class Lab:
    """The run and its people: Sable the data engineer, Quill the lead, Wren and Ember of the platform and hardware."""

    fleet: Fleet
    run: Run
    people: dict[str, User]

    def sight(self, name: str) -> Sight:
        """What that person sees, having just proved to be them."""
        sight = seen_by(self.people[name])
        prove(sight.client, "/")
        return sight

    def state_data(self, *, now: datetime) -> None:
        """Ember states what the spot check of the dataset found."""
        stated(self.fleet, self.run, self.people["ember"], "data-spot-check", DATA_FACTS, now=now)

    def state_operations(self, *, now: datetime) -> None:
        """Ember states the four things that operations rests on."""
        for item, facts in OPERATIONS.items():
            stated(self.fleet, self.run, self.people["ember"], item, facts, now=now)


DATA_FACTS: dict[str, Any] = {"passed_share": 99.8, "documents": 400}
OPERATIONS: dict[str, dict[str, Any]] = {
    "ops-storage-gc": {"confirmed": True},
    "ops-shift": {"run_covered": True, "longest_shift": 28_800},
    "ops-runbook": {"confirmed": True},
    "loss-guard": {"confirmed": True},
}


def stated(fleet: Fleet, run: Run, by: User, item: str, facts: dict[str, Any], *, now: datetime) -> None:
    """A statement for a day."""
    attest(
        cluster=fleet.cluster, run=run, node=None, item=item, subject="", facts=facts, statement="Looked at it.",
        files=[], valid_until=now + timedelta(days=1), by=by, now=now,
    )  # fmt: skip


def make_lab(fleet: Fleet, now: datetime, *, platform: str = "wren") -> Lab:
    """The run on two healthy nodes, with the evidence of data and operations in place; *platform* planned it."""
    roles = {"sable": Role.DATA, "quill": Role.LEAD, platform: Role.PLATFORM, "ember": Role.HARDWARE}
    people = {
        name: person(name, fleet.cluster, role, display_name=name.title()) for name, role in roles.items()
    }  # fmt: skip
    spec = RunSpec(
        name="Cygnus 13 B", nodes_needed=2, world_size=16, model_name="cygnus", dataset="cygnus-web-v4",
        planned_start=now + timedelta(hours=6), planned_end=now + timedelta(days=9),
    )  # fmt: skip
    run = create_run(
        cluster=fleet.cluster, slug="cygnus-13b", spec=spec, nodes="gpu-[001-002]", by=people[platform], now=now
    )
    lab = Lab(fleet, run, people)
    for name in ("gpu-001", "gpu-002"):
        fleet.report(name, at=now - timedelta(minutes=4), cadence="offline")
    audit_run(run, at=now, layers=(Layer.DATA, Layer.OPERATIONS))
    lab.state_data(now=now)
    lab.state_operations(now=now)
    return lab


def sent(client: Client, path: str, **changed: Any) -> tuple[int, str]:
    """Sign with what the page shows."""
    page = client.get(path).content.decode()
    digest = re.search(r'name="digest" value="([0-9a-f]{64})"', page)
    role = re.search(r'name="role" value="(\w+)"', page)
    form = {
        "digest": digest[1] if digest else "0" * 64, "role": role[1] if role else "lead", "meaning": "reviewed",
        "comment": "", "seconds": "{}",
    }  # fmt: skip
    response = client.post(path, form | changed)
    return response.status_code, response.content.decode()
