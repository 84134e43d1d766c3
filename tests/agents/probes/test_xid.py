"""Driver events by GPU, from whichever kernel log reaches back far enough."""

from __future__ import annotations

import pytest

from readiness_agent.facts import DENIED, ERROR, EVERY_SUBJECT, MISSING, CouldNotMeasure, ProbeResult
from readiness_agent.probes.xid import XID, Look, combine
from readiness_agent.source import ProbeContext
from tests.agents.probes.fake_source import Answer, FakeSource, problems, values

JOURNAL = "journalctl -k -b -q --no-pager -o short-monotonic"
FROM_BOOT = "[    0.000000] Linux version 6.8.0\n[    4.100000] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.1\n"
FAULT = "[ 4000.500000] NVRM: Xid (PCI:0000:3b:00): 79, pid=7, name=python, GPU has fallen off the bus.\n"
OWN = "[ 4100.500000] NVRM: Xid (PCI:0000:19:00): 31, pid=9, name=python, MMU Fault\n"
ADDRESSES = ("0000:19:00.0", "0000:3b:00.0")
CLEAN = {"xids": "none", "nonfatal_xids": "none", "off_bus": False, "recovery_action": "None"}


def pci(*addresses: str) -> dict[str, str]:
    files = {}
    for address in addresses:
        files[f"/sys/bus/pci/devices/{address}/vendor"] = "0x10de\n"
        files[f"/sys/bus/pci/devices/{address}/class"] = "0x030200\n"
    return files


def measure(dmesg: Answer, journal: Answer | None = None, addresses: tuple[str, ...] = ADDRESSES) -> ProbeResult:
    commands: dict[str, Answer] = {"dmesg": dmesg}
    if journal is not None:
        commands[JOURNAL] = journal
    return XID.run(FakeSource(pci(*addresses), commands), ProbeContext())


def test_a_log_from_boot_on_without_events_proves_that_there_were_none() -> None:
    result = measure(FROM_BOOT)

    assert values(result, "gpu-xid", "gpu0") == CLEAN
    assert values(result, "gpu-xid", "gpu1") == CLEAN
    assert result.problems == ()


def test_an_event_belongs_to_the_gpu_at_its_address() -> None:
    result = measure(FROM_BOOT + FAULT + OWN)

    assert values(result, "gpu-xid", "gpu1") == CLEAN | {"off_bus": True, "xids": "79", "last_xid_at": 4000.5}
    assert values(result, "gpu-xid", "gpu0") == CLEAN | {"xids": "31", "last_xid_at": 4100.5}


def test_a_number_that_comes_again_is_counted() -> None:
    again = OWN.replace("4100.5", "4200.5")

    assert values(measure(FROM_BOOT + OWN + again), "gpu-xid", "gpu0")["xids"] == "31 (2x)"


def test_the_lines_of_the_driver_are_the_evidence() -> None:
    (evidence,) = measure(FROM_BOOT + FAULT).evidence

    assert evidence.text == FAULT.strip()


def test_a_ring_buffer_that_has_lost_its_beginning_is_completed_by_the_journal() -> None:
    result = measure("[ 3500.000000] eth0: link up\n", FROM_BOOT + FAULT)

    assert values(result, "gpu-xid", "gpu1")["xids"] == "79"


def test_no_log_that_reaches_back_leaves_it_unknown() -> None:
    result = measure("[ 3500.000000] eth0: link up\n", "[ 3600.000000] eth0: link up\n")

    assert result.facts == ()
    assert problems(result, "gpu-xid") == [(EVERY_SUBJECT, ERROR)]


def test_an_event_in_a_log_that_does_not_reach_back_counts_all_the_same() -> None:
    result = measure("[ 3500.000000] eth0: link up\n" + FAULT)

    assert values(result, "gpu-xid", "gpu1")["xids"] == "79"
    assert values(result, "gpu-xid", "gpu0") == {}
    assert problems(result, "gpu-xid") == [(EVERY_SUBJECT, ERROR)]


def test_a_log_that_may_not_be_read_is_denied() -> None:
    result = measure(CouldNotMeasure(DENIED, "dmesg: not allowed for this user"))

    assert problems(result, "gpu-xid") == [(EVERY_SUBJECT, DENIED)]


def test_a_bus_without_a_gpu_has_none_that_could_fail() -> None:
    files = {"/sys/bus/pci/devices/0000:00:03.0/vendor": "0x1af4\n"}
    source = FakeSource(files, {"dmesg": FROM_BOOT})

    assert problems(XID.run(source, ProbeContext()), "gpu-xid") == [(EVERY_SUBJECT, MISSING)]
    assert source.asked == []


def test_where_the_bus_cannot_be_seen_the_node_itself_is_reported() -> None:
    assert values(measure(FROM_BOOT, addresses=()), "gpu-xid") == CLEAN


@pytest.mark.parametrize("action", ["GPU Reset Required", "Drain and Reset"])
def test_an_action_that_the_driver_waits_for_is_told(action: str) -> None:
    line = f"[ 90.0] NVRM: Xid (PCI:0000:19:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 ({action})\n"

    facts = values(measure(FROM_BOOT + line), "gpu-xid", "gpu0")

    assert (facts["recovery_action"], facts["xids"]) == (action, "154")


def test_what_an_earlier_look_saw_is_joined_where_the_ring_buffer_goes_on() -> None:
    before = Look(complete=True, until=3600.0, lines=("[ 90.000000] NVRM: earlier",))

    look = combine(before, "[ 3500.000000] eth0: up\n" + FAULT)

    assert look.complete
    assert look.lines == ("[ 90.000000] NVRM: earlier", FAULT.strip())


def test_a_gap_between_two_looks_is_no_complete_view() -> None:
    before = Look(complete=True, until=3000.0, lines=())

    assert not combine(before, "[ 3500.000000] eth0: up\n").complete


def test_lines_that_both_looks_show_are_kept_once() -> None:
    before = combine(None, FROM_BOOT + FAULT)

    assert combine(before, FROM_BOOT + FAULT).lines == before.lines


def test_one_number_among_a_thousand_of_another_is_not_forgotten() -> None:
    flood = [OWN.replace("4100.5", f"{second}.5") for second in range(5000, 6000)]

    look = combine(combine(None, FROM_BOOT + FAULT), "".join(flood))

    assert FAULT.strip() in look.lines
    assert len(look.lines) < 600
