"""``ib_write_bw`` and its kin, of one client.

What a link can do is judged for the pair of its ends, in both directions, from host and GPU memory: one run of one
direction proves none of it, and is named. A port that is down is a fact about its network card.
"""

from __future__ import annotations

import re

from checks.adapters.reading import NO_UNIT, NOT_A_NODES, NodeOnFile, Reading, WrongTool
from readiness_agent.parsers.perftest import read_perftest

_ITEM = "rdma-link"
_MARKS = re.compile(r"#bytes|BW Test|MsgSize|RDMA_CM_EVENT|Failed status|Port number|Couldn't|Unable to|Mtu\s+:")
_FIGURES = ("average", "peak", "message_rate", "row_average", "row_peak", "row_message_size", "message_size", "mtu")


def read_perftest_run(text: str, node: NodeOnFile) -> Reading:
    """What one run says.

    Raises:
        WrongTool: no output of perftest.
    """
    if not _MARKS.search(text):
        raise WrongTool("This is no output of perftest; name the tool that wrote it.")
    saved, reading = read_perftest(text), Reading()
    told = {fact.name: fact.value for fact in saved.facts}
    device = told.get("device")
    subject = node.devices.get(str(device), "")
    if "port_state" in told and subject:
        reading.fact(_ITEM, "state", str(told["port_state"]).upper(), "text", subject)
    elif "port_state" in told:
        reading.failed(_ITEM, f"port {told['port']} of a card that is not named is {told['port_state']}")
    for fact in saved.facts:
        if fact.name in _FIGURES or fact.name.startswith(("both_ways_", "latency_")):
            reading.remark(f"{fact.subject} {fact.name}".strip(), f"{fact.value} {fact.unit}", NOT_A_NODES)
        elif fact.name.endswith("_as_written"):
            reading.remark(fact.name.removesuffix("_as_written"), fact.value, NO_UNIT)
    for sentence in saved.problems:
        reading.remark(str(device or "perftest"), sentence, NOT_A_NODES)
    return reading
