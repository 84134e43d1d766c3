"""People, and a small fleet in every state that a page must be able to show."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone, translation

from checks.models import Role
from portal.accounts.models import User
from tests.fleet import Fleet, healthy_nodes, make_fleet, person

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
See = Callable[..., HttpResponse]


@dataclass(frozen=True, slots=True)
class Sight:
    """What one person gets from an address."""

    client: Client

    def text(self, path: str, status: int = 200, **query: str) -> str:
        """The page as text, once its status was checked."""
        response = self.client.get(path, query)
        assert response.status_code == status, response.content.decode()[:2000]
        return response.content.decode()


@pytest.fixture(autouse=True)
def _english() -> Iterator[None]:
    """A page in Chinese must not leave its language to the test after it."""
    with translation.override("en"):
        yield


@pytest.fixture
def now() -> datetime:
    """The clock that pages will read is the real one."""
    return timezone.now()


@pytest.fixture
def fleet(db: None, now: datetime) -> Fleet:
    """helios: gpu-001 and gpu-002 are ready, gpu-003 has a GPU on half of its lanes, gpu-004 was never measured."""
    fleet = make_fleet(at=now - 2 * HOUR)
    healthy_nodes(fleet, ["gpu-001", "gpu-002", "gpu-003"], at=now - 5 * MINUTE, switch="leaf-01")
    fleet.report(
        "gpu-003",
        at=now - MINUTE,
        changed={"gpu-pcie-width": {"width": 8}},
        subjects={"gpu-pcie-width": ["gpu3"]},
        evidence={"gpu-pcie-width": "<current_link_width>8x</current_link_width>"},
    )
    fleet.enrol("gpu-004", at=now - MINUTE, switch="leaf-02")
    return fleet


@pytest.fixture
def hana(fleet: Fleet) -> User:
    """A hardware engineer of helios."""
    return person("hana", fleet.cluster, Role.HARDWARE, display_name="Hana")


@pytest.fixture
def sight(hana: User) -> Sight:
    """What Hana sees."""
    return seen_by(hana)


def seen_by(user: User) -> Sight:
    """What *user* sees once signed in."""
    client = Client()
    client.force_login(user)
    return Sight(client)
