"""Items that are judged again where some of what is known came from other tools: each row from what it stands on."""

from datetime import timedelta

import pytest

from checks.models import NodeItemState
from checks.services.rejudge_item import Rejudged, rejudge_item
from checks.services.tool_evidence import Sender, ToolOutput, record_tool_evidence
from tests.adapters import samples
from tests.fleet import Fleet, healthy_nodes, make_fleet
from tests.lab import HOUR, MINUTE, NOON

pytestmark = pytest.mark.django_db


@pytest.fixture
def fleet() -> Fleet:
    made = make_fleet(at=NOON - 2 * HOUR)
    healthy_nodes(made, ["gpu001"], at=NOON - 3 * MINUTE)
    return made


def upload(fleet: Fleet, tool: str, text: str, *, ago: timedelta = MINUTE) -> None:
    output = ToolOutput(tool, text.encode(), NOON - ago)
    record_tool_evidence(node=fleet.node("gpu001"), output=output, sender=Sender(), now=NOON)


def again(fleet: Fleet, item: str) -> Rejudged:
    return rejudge_item(
        item=item, clusters=[fleet.cluster], since=NOON - timedelta(days=1), by=None, reason="unit", now=NOON
    )


def verdicts(item: str) -> dict[str, str]:
    return dict(NodeItemState.objects.filter(item=item).order_by("subject").values_list("subject", "raw"))


def test_an_output_that_speaks_of_one_gpu_says_nothing_of_the_others(fleet: Fleet) -> None:
    """Red without the look at `_OF_A_TOOL` in `_rejudge_node`."""
    upload(fleet, "nhc", samples.NHC)
    before = verdicts("gpu-ecc")

    assert again(fleet, "gpu-ecc") == Rejudged(1, ())
    assert verdicts("gpu-ecc") == before
    assert (before["gpu5"], before["gpu6"]) == ("pass", "fail")


def test_an_output_that_left_the_item_open_takes_no_pass_away(fleet: Fleet) -> None:
    upload(fleet, "nccl-tests", samples.NCCL, ago=2 * MINUTE)
    upload(fleet, "nccl-tests", samples.NCCL.replace("17179869184", "8589934592"))

    assert again(fleet, "allreduce-node").changes == ()
    assert verdicts("allreduce-node") == {"": "pass"}


def test_a_row_that_stands_on_an_output_is_judged_from_it(fleet: Fleet) -> None:
    upload(fleet, "nccl-tests", samples.NCCL)
    NodeItemState.objects.filter(item="allreduce-node").update(raw="unknown", value={})

    assert [(one.before, one.after) for one in again(fleet, "allreduce-node").changes] == [("unknown", "pass")]
