"""Outputs of tools whose texts hold what no database and no answer can: taken or refused, and no error of ours."""

import pytest
from django.test import Client

from checks.models import Cluster, TokenKind, ToolEvidence
from tests.adapters import samples
from tests.fleet import Fleet, healthy_nodes, make_fleet
from tests.lab import HOUR, MINUTE, NOON, bearer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_noon")]

JSON_TOOLS = ("dcgmi-diag", "fio", "gpud", "nvidia-health-validation", "superbench")


@pytest.fixture
def fleet() -> Fleet:
    made = make_fleet(at=NOON - 2 * HOUR)
    healthy_nodes(made, ["gpu001"], at=NOON - 3 * MINUTE)
    return made


@pytest.mark.parametrize("escape", ["\\u0000", "\\ud800"])
@pytest.mark.parametrize("tool", JSON_TOOLS)
def test_nul_and_half_a_character_in_every_text_of_a_file(fleet: Fleet, tool: str, escape: str) -> None:
    """Red without `sound_escapes` in the reader of each tool."""
    body = samples.SAMPLES[tool].replace('": "', f'": "{escape}')
    stated = "" if tool in ("fio", "gpud", "nvidia-health-validation") else "&measured_at=2026-11-30T11:58:00Z"
    client = Client(raise_request_exception=False)
    answer = client.post(
        f"/api/v1/evidence/{tool}?node=gpu001{stated}", data=body, content_type="text/plain",
        headers=bearer(TokenKind.OPERATOR, fleet.cluster),
    )  # fmt: skip

    assert answer.status_code in (202, 422), answer.content


@pytest.mark.parametrize(("takes_replays", "status"), [(True, 202), (False, 403)])
def test_a_replayed_node_is_told_of_only_where_its_cluster_takes_replays(
    fleet: Fleet, takes_replays: bool, status: int
) -> None:
    clusters = Cluster.objects.filter(pk=fleet.cluster.pk)
    clusters.update(accept_replay=True)
    fleet.cluster.refresh_from_db()
    fleet.enrol("gpu-played", at=NOON - HOUR, origin="replay")
    clusters.update(accept_replay=takes_replays)
    answer = Client().post(
        "/api/v1/evidence/nhc?node=gpu-played&measured_at=2026-11-30T11:58:00Z", data=samples.NHC,
        content_type="text/plain", headers=bearer(TokenKind.OPERATOR, fleet.cluster),
    )  # fmt: skip

    assert answer.status_code == status, answer.content
    assert ToolEvidence.objects.exists() == takes_replays
