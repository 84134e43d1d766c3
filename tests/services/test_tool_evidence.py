"""What others tell of a node beside what its agent tells: which of the two stands, and whose hand it is."""

from datetime import timedelta

import pytest

from checks.domain.verdicts import Layer
from checks.models import NodeItemState, Role, ToolEvidence
from checks.services.nodes import retire_subject
from checks.services.signing import MayNotSign
from checks.services.tool_evidence import (
    Sender,
    ToolOutput,
    ToolReceipt,
    preview_tool_evidence,
    record_tool_evidence,
)
from tests.adapters import samples
from tests.fleet import Fleet, healthy_nodes, make_fleet
from tests.lab import HOUR, MINUTE, NOON
from tests.signed import a_signable_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def fleet() -> Fleet:
    made = make_fleet(at=NOON - 2 * HOUR)
    healthy_nodes(made, ["gpu001"], at=NOON - 3 * MINUTE)
    return made


def told(fleet: Fleet, tool: str, text: str = "", *, ago: timedelta = MINUTE) -> ToolReceipt:
    output = ToolOutput(tool, (text or samples.SAMPLES[tool]).encode(), NOON - ago)
    return record_tool_evidence(node=fleet.node("gpu001"), output=output, sender=Sender(), now=NOON)


def test_a_row_that_did_not_change_for_hours_is_as_young_as_the_last_report_of_its_kind(fleet: Fleet) -> None:
    for minutes in (2, 1):
        fleet.report("gpu001", at=NOON - minutes * MINUTE)
    row = NodeItemState.objects.get(node__hostname="gpu001", item="gpu-ecc", subject="gpu6")
    receipt = told(fleet, "nhc", ago=timedelta(seconds=90))
    line = next(one for one in receipt.verdicts if one.item == "gpu-ecc")

    assert row.observed_at is not None
    assert row.observed_at < NOON - timedelta(seconds=90)
    assert (line.verdict, line.taken, line.why) == ("pass", False, "older")


def test_the_next_tick_of_the_agent_replaces_what_a_tool_told_of_the_same_row(fleet: Fleet) -> None:
    assert told(fleet, "nhc").verdicts
    fleet.report("gpu001", at=NOON)

    assert NodeItemState.objects.get(item="gpu-ecc", subject="gpu6").raw == "pass"


def test_a_part_that_was_taken_out_stays_out(fleet: Fleet) -> None:
    retire_subject(node=fleet.node("gpu001"), subject="gpu6", by=None, reason="bent", now=NOON - MINUTE)
    line = next(one for one in told(fleet, "nhc").verdicts if one.item == "gpu-ecc")

    assert (line.taken, line.why) == (False, "no_row")
    assert not NodeItemState.objects.filter(item="gpu-ecc", subject="gpu6").exists()


def test_a_second_output_that_tells_less_leaves_the_pass_of_the_first(fleet: Fleet) -> None:
    told(fleet, "nccl-tests", ago=2 * MINUTE)
    less = samples.NCCL.replace("17179869184", "8589934592")
    line = told(fleet, "nccl-tests", less).verdicts[0]

    assert (line.verdict, line.taken, line.why) == ("pass", False, "leaves_open")


def test_a_second_output_that_is_worse_counts(fleet: Fleet) -> None:
    told(fleet, "nccl-tests", ago=2 * MINUTE)
    slow = samples.NCCL.replace("274.87  481.02", "114.28  200.00")
    line = told(fleet, "nccl-tests", slow).verdicts[0]

    assert (line.verdict, line.taken) == ("fail", True)


def test_nothing_stays_of_what_was_only_looked_at(fleet: Fleet) -> None:
    output = ToolOutput("nhc", samples.NHC.encode(), NOON - MINUTE)
    before = list(NodeItemState.objects.order_by("pk").values_list("item", "subject", "raw"))
    receipt = preview_tool_evidence(node=fleet.node("gpu001"), output=output, sender=Sender(), now=NOON)

    assert {one.verdict for one in receipt.verdicts if one.item == "gpu-ecc"} == {"fail"}
    assert list(NodeItemState.objects.order_by("pk").values_list("item", "subject", "raw")) == before
    assert not ToolEvidence.objects.exists()


def test_whoever_brings_evidence_has_had_a_hand_in_its_layer_and_in_no_other() -> None:
    signing = a_signable_run(nodes=("gpu001", "gpu002"))
    output = ToolOutput("nccl-tests", samples.NCCL.encode(), NOON - MINUTE)
    sender = Sender(person=signing.people[Role.PLATFORM])
    record_tool_evidence(node=signing.fleet.node("gpu001"), output=output, sender=sender, now=NOON)

    with pytest.raises(MayNotSign, match="gpu001"):
        signing.sign(Role.PLATFORM)
    assert signing.sign(Role.PLATFORM, Layer.SYSTEM).role == Role.PLATFORM
