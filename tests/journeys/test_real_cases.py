"""Real outputs of ``../shared/cases`` lead, on a running portal, to the verdicts that their reasons ask for.

What a tool printed goes over REST as evidence; what a probe reads is replayed as a capture. Where the list of cases and
the checklist differ, the checklist counts: an error without a figure leaves an item *unknown*, which blocks as a
failure does, and another workload than the item's proves nothing for good or bad. Expectations were written by eye.
"""

import json
import re
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.forms import Sender
from tests.journeys.user import Agent, Answer, ClusterOfMine, Portal

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"
LISTED: Mapping[str, Mapping[str, str]] = (
    {one["id"]: one for one in json.loads((CASES / "cases.json").read_text())} if CASES.is_dir() else {}
)
A100, H100, H200 = "8xa100-80", "8xh100", "8xh200"

pytestmark = [
    pytest.mark.skipif(not LISTED, reason="../shared/cases is not here"),
    pytest.mark.xdist_group("real-cases"),
]


@dataclass(frozen=True, slots=True)
class Case:
    """One output: what it is sent as, and the verdict of one row afterwards with a part of what is said of it."""

    id: str
    tool: str
    item: str
    verdict: str
    says: str = ""
    profile: str = H100
    subject: str = ""


JUDGED = (
    # Bus bandwidth reaches the floor, but nothing was checked: 0 OK is empty talk.
    Case("NC01", "nccl-tests", "allreduce-node", "unknown", profile=A100),
    Case("NC03", "nccl-tests", "allreduce-node", "unknown", "no all-reduce", A100),
    # 231.72 GB/s at its largest size; that is 1 of 16 GiB.
    Case("NC04", "nccl-tests", "allreduce-node", "unknown", "measured too little", A100),
    Case("NC05", "nccl-tests", "allreduce-node", "unknown", "not enough slots", A100),
    Case("NC07", "nccl-tests", "allreduce-node", "pass", profile=H200),
    # Data came back wrong although the bandwidth looks good.
    Case("NC09", "nccl-tests", "allreduce-node", "fail", "2"),
    Case("NC11", "nccl-tests", "allreduce-node", "unknown", "one rank has nobody to talk to"),
    Case("NC13", "nccl-tests", "allreduce-node", "unknown", "unhandled cuda error"),
    Case("NC15", "nccl-tests", "allreduce-node", "unknown"),
    Case("NC16", "nccl-tests", "allreduce-node", "unknown", "2 hosts"),
    Case("NC17", "nccl-tests", "allreduce-node", "unknown", "2 of 8 GPUs"),
    # Persistence mode is off: a matter of configuration.
    Case("DG01", "dcgmi-diag", "persistence-mode", "fail"),
    Case("DG03", "dcgmi-diag", "persistence-mode", "fail"),
    Case("DG03", "dcgmi-diag", "gpu-memtest", "unknown", "how long", subject="gpu0"),
    Case("DG09", "dcgmi-diag", "persistence-mode", "fail"),
    Case("FI01", "fio", "nvme-fio", "unknown", "randrw of 4096 bytes"),
    Case("FI03", "fio", "nvme-fio", "unknown", "readwrite of 262144 bytes"),
    Case("FI05", "fio", "nvme-fio", "unknown", "1 jobs ended with an I/O error"),
    Case("FI06", "fio", "nvme-fio", "unknown", "4 jobs ended with an I/O error"),
    Case("FI07", "fio", "nvme-fio", "unknown", "data at offset 668565504 came back changed"),
    Case("FI09", "fio", "nvme-fio", "unknown", "7 jobs ended with an I/O error"),
    Case("FI11", "fio", "nvme-fio", "unknown", "nothing was measured"),
    Case("FI13", "fio", "nvme-fio", "unknown", "read nothing"),
    Case("FI14", "fio", "nvme-fio", "unknown", "does not say what it ran"),
    Case("PF08", "perftest", "rdma-link", "unknown", "Down", subject="nic0"),
)
#: What is told and judged by nobody: a part of its name, and how its value begins.
TOLD = {
    ("NC03", "nccl-tests"): ("busbw", "224.31"),
    ("DG05", "dcgmi-diag"): ("Inforom", "Pass"),
    ("FI14", "fio"): ("write_bandwidth", "0.0938"),
    ("FI13", "fio"): ("write_bytes_per_second", "14339"),
    ("PF01", "perftest"): ("average", "194.95"),
    ("PF05", "perftest"): ("run1 row_average", "46.5"),
    ("PF07", "perftest"): ("perftest", "RDMA_CM_EVENT_REJECTED, error -111"),
    ("PF09", "perftest"): ("perftest", "work completion status 12"),
}
#: Figures that would mislead, and so are not even told.
NEVER_TOLD = {("PF03", "perftest"): "average", ("PF05", "perftest"): "run1 row_peak"}
REFUSED = {
    "DG07": "unreadable_output", "DG08": "wrong_tool", "DG11": "wrong_tool", "DG13": "wrong_tool", "DG15": "wrong_tool",
}  # fmt: skip


@pytest.fixture(scope="module")
def clusters(portal: Portal) -> dict[str, ClusterOfMine]:
    """One cluster of each kind of hardware."""
    return {profile: portal.cluster(f"real-{profile}", profile=profile) for profile in (A100, H100, H200)}


@pytest.fixture(scope="module")
def operators(portal: Portal, clusters: Mapping[str, ClusterOfMine]) -> dict[str, str]:
    """A token of each that may bring evidence about any node."""
    return {
        profile: portal.manage("token", "issue", "operator", "--cluster", cluster.slug)
        for profile, cluster in clusters.items()
    }


class Bringer:
    """Enrols nodes under the names that outputs use for them, and brings the outputs."""

    def __init__(self, portal: Portal, clusters: Mapping[str, ClusterOfMine], operators: Mapping[str, str]) -> None:
        self._portal, self._clusters, self._operators = portal, clusters, operators
        self._nodes: set[tuple[str, str]] = set()

    def bring(self, case: str, tool: str, profile: str) -> Answer:
        """Send the output of *case*, as one that ended now: evidence of years ago is refused."""
        text = (CASES / LISTED[case]["file"]).read_bytes()
        text = re.sub(rb'("timestamp" : )[0-9]+', rb"\g<1>%d" % datetime.now(UTC).timestamp(), text)
        node = self.node_of(case, text.decode("utf-8", "replace"), profile)
        asked = (
            {"node": node} if b'"timestamp"' in text else {"node": node, "measured_at": datetime.now(UTC).isoformat()}
        )
        address = f"/api/v1/evidence/{tool}?{urllib.parse.urlencode(asked)}"
        return self._portal.ask(
            address, token=self._operators[profile], body=text, headers={"Content-Type": "text/plain"}
        )

    def node_of(self, case: str, text: str, profile: str) -> str:
        """The node that the output names, enrolled; one of its own where it names none."""
        named = re.search(r" on +(\S+) +device ", text)
        host = named[1] if named and named[1] != "localhost" else f"of-{case.lower()}"
        if (profile, host) not in self._nodes:
            self._nodes.add((profile, host))
            self._clusters[profile].enrol(host)
        return host


@pytest.fixture(scope="module")
def bringer(portal: Portal, clusters: Mapping[str, ClusterOfMine], operators: Mapping[str, str]) -> Bringer:
    return Bringer(portal, clusters, operators)


@pytest.mark.parametrize("case", JUDGED, ids=lambda case: f"{case.id}-{case.item}")
def test_an_output_leads_to_the_verdict_that_its_reason_asks_for(bringer: Bringer, case: Case) -> None:
    answer = bringer.bring(case.id, case.tool, case.profile)
    assert answer.status == 202, answer.text
    rows = {(line["item"], line["subject"]): line for line in answer.json["verdicts"]}
    line = rows[case.item, case.subject]

    assert line["verdict"] == case.verdict, line
    assert case.says in line["detail"], line


@pytest.mark.parametrize(("case", "tool"), TOLD, ids=lambda each: str(each))
def test_what_no_item_asks_for_is_told_as_the_output_states_it(bringer: Bringer, case: str, tool: str) -> None:
    name, value = TOLD[case, tool]
    answer = bringer.bring(case, tool, A100 if case.startswith("NC") else H100)
    told: dict[str, str] = {one["name"]: one["value"] for one in answer.json["remarks"]}

    assert told[name].startswith(value), told


@pytest.mark.parametrize(("case", "tool"), NEVER_TOLD, ids=lambda each: str(each))
def test_a_figure_that_was_not_measured_is_not_told(bringer: Bringer, case: str, tool: str) -> None:
    remarks = bringer.bring(case, tool, H100).json["remarks"]

    assert NEVER_TOLD[case, tool] not in {one["name"] for one in remarks}


def test_nine_passed_tests_of_a_short_diagnostic_prove_no_item(bringer: Bringer) -> None:
    answer = bringer.bring("DG05", "dcgmi-diag", H100)

    assert (answer.json["verdicts"], len(answer.json["remarks"])) == ([], 9)


@pytest.mark.parametrize("case", REFUSED)
def test_an_output_that_is_bent_or_of_another_command_is_refused(bringer: Bringer, case: str) -> None:
    answer = bringer.bring(case, "dcgmi-diag", H100)

    assert (answer.status, answer.json["code"]) == (422, REFUSED[case])


def test_the_page_shows_the_figure_that_passed_and_the_text_behind_it(
    portal: Portal, bringer: Bringer, clusters: Mapping[str, ClusterOfMine]
) -> None:
    bringer.bring("NC07", "nccl-tests", H200)
    person = Sender(portal, portal.notes["username"], portal.notes["password"]).sign_in()
    page = person.look(f"/clusters/{clusters[H200].slug}/nodes/vm/items/allreduce-node/")

    assert "479.97" in page.text
    assert "Out of bounds values" in page.text


def test_old_evidence_is_refused_whatever_it_says(
    portal: Portal, bringer: Bringer, operators: Mapping[str, str]
) -> None:
    node = bringer.node_of("FI01", "", H100)
    text = (CASES / LISTED["FI01"]["file"]).read_bytes()
    answer = portal.ask(
        f"/api/v1/evidence/fio?node={node}", token=operators[H100], body=text, headers={"Content-Type": "text/plain"}
    )

    assert (answer.status, answer.json["code"]) == (422, "bad_measured_at")


@dataclass(frozen=True, slots=True)
class Replayed:
    """One output that a probe reads: the command that printed it, and verdicts of rows afterwards."""

    id: str
    argv: tuple[str, ...]
    profile: str
    verdicts: Mapping[tuple[str, str], str]


SMI, KERNEL = ("nvidia-smi", "-q", "-x"), ("dmesg",)
SMI_TEXT = ("nvidia-smi", "-q")
PRESENT, PERSISTENCE = ("gpu-present", ""), ("persistence-mode", "")
ECC, WIDTH, GENERATION = ("gpu-ecc", "gpu0"), ("gpu-pcie-width", "gpu0"), ("gpu-pcie-generation", "gpu0")
CLEAN, XID = ("gpu-clean", "gpu0"), ("gpu-xid", "gpu0")
REPLAYED = (
    Replayed("SQ01", SMI_TEXT, H100, {ECC: "pass", WIDTH: "pass", PERSISTENCE: "pass", GENERATION: "unknown"}),
    # MIG is on: fewer counters are told, and the GPU is not a whole one.
    Replayed("SQ03", SMI_TEXT, H100, {ECC: "unknown", CLEAN: "fail", WIDTH: "pass"}),
    # An idle GPU at P8 says nothing of its PCIe generation.
    Replayed("SQ07", SMI_TEXT, H100, {PERSISTENCE: "fail", ECC: "unknown", GENERATION: "unknown", WIDTH: "pass"}),
    # A row remap is pending, although no error is uncorrectable.
    Replayed("SQ11", SMI_TEXT, A100, {ECC: "fail"}),
    # Four GPUs are attached and one is described.
    Replayed("SX01", SMI, A100, {PRESENT: "fail", PERSISTENCE: "fail", ECC: "unknown", WIDTH: "pass"}),
    Replayed("SX03", SMI, H100, {WIDTH: "fail", PERSISTENCE: "fail"}),
    # What a report does not hold is not zero, and not off.
    Replayed("SX04", SMI, H100, {ECC: "unknown", PERSISTENCE: "unknown"}),
    Replayed("SX06", SMI, H100, {PERSISTENCE: "fail", ECC: "unknown", WIDTH: "pass"}),
    Replayed("SX08", SMI, A100, {PERSISTENCE: "fail", ECC: "unknown", CLEAN: "fail"}),
    # Disabled is not N/A.
    Replayed("SX10", SMI, H100, {ECC: "fail", PERSISTENCE: "pass", GENERATION: "unknown"}),
    Replayed("SX11", SMI, H100, {ECC: "unknown", PERSISTENCE: "unknown", WIDTH: "unknown"}),
    Replayed("SX12", SMI, H100, {WIDTH: "fail", PERSISTENCE: "unknown", ECC: "unknown"}),
    # Cut in the middle of a tag: nothing of it counts.
    Replayed("SX13", SMI, H100, {PRESENT: "unknown", ECC: "unknown", WIDTH: "unknown", PERSISTENCE: "unknown"}),
    Replayed("DM01", KERNEL, H100, {XID: "fail"}),
    # No Xid at all; but a kernel's log alone does not show that a GPU is there.
    Replayed("DM03", KERNEL, H100, {XID: "unknown"}),
    # 13 and 43 are an application's own.
    Replayed("DM05", KERNEL, H100, {XID: "unknown"}),
    Replayed("DM06", KERNEL, H100, {XID: "fail"}),
    Replayed("DM08", KERNEL, H100, {XID: "fail"}),
    Replayed("DM09", KERNEL, H100, {XID: "fail"}),
    # It fell off the bus without a number.
    Replayed("DM11", KERNEL, H100, {XID: "fail"}),
)


def capture_of(case: Replayed, place: Path) -> Path:
    """A capture of one snapshot in which nothing was saved but this output."""
    text = (CASES / LISTED[case.id]["file"]).read_bytes()
    place.mkdir()
    (place / "out").write_bytes(text)
    (place / "err").write_bytes(b"")
    entry: dict[str, Any] = {
        "kind": "run", "key": json.dumps(list(case.argv)), "captured_at": 1.7e9, "outcome": "ok",
        "argv": list(case.argv), "exit_code": 0, "seconds": 0.1, "stdout": "out", "stderr": "err",
    }  # fmt: skip
    snapshot = {"captured_at": 1.7e9, "boottime": 90_000.0, "boot_id": "0b5c", "entries": [entry]}
    index = {
        "format": 1, "agent_version": "0.1.0", "hostname": "case", "context": [None, None], "settings": {},
        "snapshots": [snapshot],
    }  # fmt: skip
    (place / "index.json").write_text(json.dumps(index))
    return place


def replay(case: Replayed, cluster: ClusterOfMine, agent: Agent, tmp_path: Path) -> dict[tuple[str, str], str]:
    """Enrol a node for replays, replay the output, and read the verdicts that the portal gave."""
    enrolled = agent(
        "enroll", "--portal", cluster.portal.url, "--token-file", "-", "--origin", "replay", "--hostname",
        f"re-{case.id.lower()}", stdin=cluster.enrolment_token,
    )  # fmt: skip
    assert enrolled.returncode == 0, enrolled.stderr
    done = agent("replay", str(capture_of(case, tmp_path / "capture")), "--json")
    assert done.returncode in (0, 1, 2), done.stderr
    told = json.loads(done.stdout)
    return {(one["item"], one["subject"]): one["verdict"] for one in told["verdicts"]}


@pytest.mark.parametrize("case", REPLAYED, ids=lambda case: case.id)
def test_a_replayed_output_leads_to_the_verdicts_that_its_reason_asks_for(
    clusters: Mapping[str, ClusterOfMine], agent: Agent, tmp_path: Path, case: Replayed
) -> None:
    told = replay(case, clusters[case.profile], agent, tmp_path)

    assert {key: told.get(key) for key in case.verdicts} == case.verdicts
