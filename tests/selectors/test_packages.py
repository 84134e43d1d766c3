"""Reading what there is to sign costs as many statements for five hundred nodes as for two."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from checks.domain.manifest import layer_digest
from checks.domain.verdicts import Layer
from checks.models import Cluster, Run, RunNode
from checks.selectors.packages import current_packages, run_state
from tests.lab import NOON, healthy_node, lab
from tests.runs import a_run

pytestmark = pytest.mark.django_db

DIGESTS = {layer.value: layer_digest(layer, []) for layer in Layer}


def statements(run: Run) -> tuple[int, int]:
    """How many statements the state and all five packages take, once this process knows the rules."""
    current_packages(run, now=NOON)
    with CaptureQueriesContext(connection) as state:
        run_state(run, now=NOON)
    with CaptureQueriesContext(connection) as packages:
        current_packages(run, now=NOON)
    return len(state), len(packages)


def pool(cluster: Cluster, run: Run, first: int, last: int) -> None:
    nodes = [healthy_node(cluster, f"gpu{number:03}", digests=DIGESTS) for number in range(first, last + 1)]
    RunNode.objects.bulk_create([RunNode(run=run, node=node) for node in nodes])


def test_five_hundred_nodes_take_as_many_statements_as_two() -> None:
    cluster = lab()
    for number in (1, 2):
        healthy_node(cluster, f"gpu{number:03}", digests=DIGESTS)
    run = a_run(cluster, "gpu[001-002]")
    few = statements(run)
    pool(cluster, run, 3, 512)

    assert statements(run) == few
    assert few[0] <= 12
    assert len(run_state(run, now=NOON).packages[Layer.PHYSICAL].nodes) == 512
