"""What other tools printed, as it comes in over REST: judged as a report is, kept whole, and nothing half-written."""

import gzip
import hashlib
import json
import zlib
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from checks.adapters.tools import TOOLS
from checks.models import (
    Evidence,
    LedgerEntry,
    Node,
    NodeItemState,
    NodeReadiness,
    Report,
    ReportReceipt,
    TokenKind,
    ToolEvidence,
)
from checks.services.nodes import retire_node
from tests.adapters import samples
from tests.fleet import Fleet, healthy_nodes, make_fleet
from tests.lab import HOUR, MINUTE, NOON, bearer
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_noon")]

EARLIER = "2026-11-30T11:58:00Z"
HOSTILE = {
    "empty": b"", "blank": b" \n\t", "no text": bytes(range(256)) * 20, "NUL": b"\0" * 500,
    "nest": b"[" * 100_000, "objects": b'{"a":' * 100_000, "NaN": b'{"DCGM Diagnostic": NaN}',
    "digits": b'{"DCGM Diagnostic": ' + b"9" * 50_000 + b"}", "half": samples.DCGMI.encode()[:-200],
    "gzip unannounced": gzip.compress(samples.DCGMI.encode()), "utf-16": samples.DCGMI.encode("utf-16"),
    "page": b"<html><body>502 Bad Gateway</body></html>",
}  # fmt: skip


@pytest.fixture
def fleet() -> Fleet:
    """Two nodes whose agents reported everything three minutes ago, under load."""
    made = make_fleet(at=NOON - 2 * HOUR)
    healthy_nodes(made, ["gpu001", "gpu002"], at=NOON - 3 * MINUTE)
    serials = {"system": "S-gpu001"} | {f"gpu{place}": uuid for place, uuid in enumerate(samples.UUIDS)}
    Node.objects.filter(hostname="gpu001").update(serials=serials)
    return made


@pytest.fixture
def headers(fleet: Fleet) -> dict[str, str]:
    return bearer(TokenKind.OPERATOR, fleet.cluster)


def send(headers: dict[str, str], tool: str, body: bytes | str = "", query: str = "", **extra: str) -> Any:
    content = body or samples.SAMPLES[tool]
    stated = tool in ("fio", "gpud", "nvidia-health-validation")
    asked = query or ("node=gpu001" if stated else f"node=gpu001&measured_at={EARLIER}")
    return Client().post(
        f"/api/v1/evidence/{tool}?{asked}", data=content, content_type="text/plain", headers=headers | extra
    )


def verdicts(answer: Any, item: str) -> dict[str, tuple[str, bool]]:
    """Verdict, and whether the row stands on the file, by subject."""
    lines = answer.json()["verdicts"]
    return {line["subject"]: (line["verdict"], line["taken"]) for line in lines if line["item"] == item}


def everything() -> list[object]:
    """What must not change by a refusal."""
    rows = NodeItemState.objects.order_by("node_id", "item", "subject").values_list("raw", "observed_at", "epoch")
    counts = [model.objects.count() for model in (ToolEvidence, Evidence, Report, ReportReceipt, LedgerEntry)]
    return [*counts, list(rows)]


@pytest.mark.parametrize("tool", TOOLS)
def test_the_output_of_every_tool_is_taken_and_kept_as_it_was_sent(
    fleet: Fleet, headers: dict[str, str], tool: str
) -> None:
    answer = send(headers, tool)
    kept = ToolEvidence.objects.get()

    assert answer.status_code == 202, answer.content
    assert zlib.decompress(kept.body).decode() == samples.SAMPLES[tool]
    assert answer.json()["digest"] == kept.digest == hashlib.sha256(samples.SAMPLES[tool].encode()).hexdigest()
    assert (kept.node.hostname, kept.by, kept.token != "") == ("gpu001", None, True)


def test_an_all_reduce_that_reaches_the_floor_passes(fleet: Fleet, headers: dict[str, str]) -> None:
    assert verdicts(send(headers, "nccl-tests"), "allreduce-node") == {"": ("pass", True)}


def test_fio_at_the_rate_of_the_array_passes(fleet: Fleet, headers: dict[str, str]) -> None:
    assert verdicts(send(headers, "fio"), "nvme-fio") == {"": ("pass", True)}


def test_two_minutes_of_burning_are_unknown_too_short_and_wrong_results_fail(
    fleet: Fleet, headers: dict[str, str]
) -> None:
    answer = send(headers, "superbench")
    lines = {line["subject"]: line for line in answer.json()["verdicts"] if line["item"] == "gpu-burn"}

    assert lines["gpu3"]["verdict"] == "fail"
    assert (lines["gpu0"]["verdict"], lines["gpu0"]["reason"]) == ("unknown", "not_judged")
    assert "too short: 2 of 20 min" in lines["gpu0"]["detail"]


def test_a_diagnostic_that_passed_proves_no_hours_of_memory_test(fleet: Fleet, headers: dict[str, str]) -> None:
    answer = send(headers, "dcgmi-diag")

    assert set(verdicts(answer, "gpu-memtest").values()) == {("unknown", True)}
    assert set(verdicts(answer, "gpu-burn").values()) == {("unknown", True)}


def test_a_failed_check_of_nhc_fails_the_item_and_takes_a_pass_away_where_it_has_no_figure(
    fleet: Fleet, headers: dict[str, str]
) -> None:
    answer = send(headers, "nhc")

    assert verdicts(answer, "gpu-ecc") == {"gpu6": ("fail", True)}
    assert verdicts(answer, "gpu-nvlink-links") == {"gpu4": ("unknown", True)}
    row = NodeItemState.objects.get(node__hostname="gpu001", item="gpu-ecc", subject="gpu5")
    assert (row.raw, row.observed_at) != ("fail", NOON - 2 * MINUTE)


def test_a_figure_that_tells_less_than_is_known_takes_nothing_away(fleet: Fleet, headers: dict[str, str]) -> None:
    answer = send(headers, "gpud")
    lines = {line["subject"]: line for line in answer.json()["verdicts"] if line["item"] == "gpu-ecc"}

    assert {(line["verdict"], line["taken"], line["why"]) for line in lines.values()} == {
        ("pass", False, "leaves_open")
    }


def test_what_the_agent_measured_later_stands(fleet: Fleet, headers: dict[str, str]) -> None:
    answer = send(headers, "nhc", query="node=gpu001&measured_at=2026-11-30T11:50:00Z")
    lines = [line for line in answer.json()["verdicts"] if line["item"] == "gpu-ecc"]

    assert [(line["verdict"], line["taken"], line["why"]) for line in lines] == [("pass", False, "older")]


def test_an_upload_shows_nothing_of_whether_the_agent_lives(fleet: Fleet, headers: dict[str, str]) -> None:
    stamps = ("tick_at", "tick_until", "daily_at", "daily_until", "last_report_at", "last_observed_at", "lost_reports")
    before = NodeReadiness.objects.values(*stamps).get(node__hostname="gpu001")
    send(headers, "nhc")

    assert NodeReadiness.objects.values(*stamps).get(node__hostname="gpu001") == before


def test_a_failure_closes_the_gate_of_that_node_and_of_no_other(fleet: Fleet, headers: dict[str, str]) -> None:
    send(headers, "nhc")
    bad = NodeReadiness.objects.values_list("node__hostname", "health_failed").order_by("node__hostname")

    assert list(bad) == [("gpu001", 1), ("gpu002", 0)]


def test_the_same_output_twice_is_one_piece_of_evidence(fleet: Fleet, headers: dict[str, str]) -> None:
    first, second = send(headers, "nccl-tests"), send(headers, "nccl-tests")

    assert (first.json()["duplicate"], second.json()["duplicate"]) == (False, True)
    assert second.json() | {"duplicate": False} == first.json()
    assert ToolEvidence.objects.count() == 1


def test_gzip_is_one_with_plain(fleet: Fleet, headers: dict[str, str]) -> None:
    send(headers, "nccl-tests")
    packed = gzip.compress(samples.NCCL.encode())
    answer = send(headers, "nccl-tests", packed, **{"Content-Encoding": "gzip"})

    assert (answer.status_code, answer.json()["duplicate"]) == (202, True)


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [("nobody", 401, "token_required"), ("gate", 403, "missing_scope"), ("enrolment", 403, "missing_scope")],
)
def test_no_other_caller_brings_evidence(fleet: Fleet, kind: str, status: int, code: str) -> None:
    made = {
        "nobody": dict, "gate": lambda: bearer(TokenKind.GATE, fleet.cluster),
        "enrolment": lambda: bearer(TokenKind.ENROLMENT, cluster=fleet.cluster),
    }  # fmt: skip
    refused = send(made[kind](), "fio")

    assert (refused.status_code, refused.json()["code"]) == (status, code)


def test_a_persons_session_is_no_token(fleet: Fleet, client: Client, admin_user: Any) -> None:
    client.force_login(admin_user)

    assert client.post("/api/v1/evidence/fio?node=gpu001", data="x", content_type="text/plain").status_code == 401


@pytest.mark.parametrize("method", ["get", "put", "patch", "delete"])
def test_evidence_is_only_added(fleet: Fleet, headers: dict[str, str], method: str) -> None:
    assert getattr(Client(), method)("/api/v1/evidence/fio", headers=headers).status_code == 405


def test_an_agents_token_speaks_for_its_own_node_and_need_not_name_it(fleet: Fleet) -> None:
    own = bearer(TokenKind.AGENT, node=fleet.node("gpu001"))

    assert send(own, "fio", query="measured_at=").json()["node"] == "gpu001"
    refused = send(own, "fio", query="node=gpu002")
    assert (refused.status_code, refused.json()["code"]) == (403, "wrong_node")


def test_a_node_of_another_cluster_does_not_exist(fleet: Fleet, headers: dict[str, str]) -> None:
    make_fleet("boreas", at=NOON - HOUR).enrol("gpu077", at=NOON - HOUR)
    refused = send(headers, "fio", query="node=gpu077")

    assert (refused.status_code, refused.json()["code"]) == (404, "not_found")


def test_a_name_in_two_clusters_needs_the_cluster(fleet: Fleet) -> None:
    other = make_fleet("boreas", at=NOON - HOUR)
    other.enrol("gpu001", at=NOON - HOUR)
    both = bearer(TokenKind.OPERATOR, fleet.cluster, other.cluster)
    refused = send(both, "fio", query="node=gpu001")

    assert (refused.status_code, refused.json()["code"]) == (422, "ambiguous_node")
    assert send(both, "fio", query="node=gpu001&cluster=boreas").json()["cluster"] == "boreas"


def test_nothing_is_taken_about_a_node_that_was_taken_out(fleet: Fleet, headers: dict[str, str]) -> None:
    retire_node(node=fleet.node("gpu001"), by=None, reason="sold", now=NOON)
    refused = send(headers, "fio")

    assert (refused.status_code, refused.json()["code"]) == (403, "node_retired")


@pytest.mark.parametrize(
    ("tool", "query", "says"),
    [
        ("nccl-tests", "node=gpu001", "does not say when the tool ran"),
        ("nccl-tests", "node=gpu001&measured_at=yesterday", "2026-11-30T12:00:00Z"),
        ("nccl-tests", "node=gpu001&measured_at=2026-11-30T11:00:00", "with a time zone"),
        ("nccl-tests", "node=gpu001&measured_at=2026-11-30T12:03:00Z", "lies in the future"),
        ("nccl-tests", "node=gpu001&measured_at=2026-10-30T12:00:00Z", "over 30 days ago"),
        ("fio", "node=gpu001&measured_at=2026-11-30T09:00:00Z", "leave measured_at out"),
        ("nccl-tests", "node=gpu001&measured_at=9999-99-99T12:00:00Z", "with a time zone"),
    ],
)
def test_a_time_that_cannot_be_is_refused(
    fleet: Fleet, headers: dict[str, str], tool: str, query: str, says: str
) -> None:
    before = everything()
    refused = send(headers, tool, query=query)

    assert (refused.status_code, refused.json()["code"]) == (422, "bad_measured_at")
    assert says in refused.json()["detail"]
    assert everything() == before


def test_a_zone_is_a_zone(fleet: Fleet, headers: dict[str, str]) -> None:
    answer = send(headers, "nccl-tests", query="node=gpu001&measured_at=2026-11-30T19:58:00%2B08:00")

    assert answer.json()["measured_at"] == "2026-11-30T11:58:00Z"


def test_the_time_of_the_upload_is_never_that_of_the_measurement(fleet: Fleet, headers: dict[str, str]) -> None:
    send(headers, "nccl-tests", query="node=gpu001&measured_at=2026-11-29T12:00:00Z")
    row = NodeItemState.objects.get(node__hostname="gpu001", item="allreduce-node")

    assert (row.observed_at, row.valid_until) == (NOON - timedelta(days=1), NOON + timedelta(days=6))


@pytest.mark.parametrize("tool", TOOLS)
def test_what_is_no_output_of_the_tool_is_refused_in_a_sentence(
    fleet: Fleet, headers: dict[str, str], tool: str
) -> None:
    before, address = everything(), f"/api/v1/evidence/{tool}?node=gpu001&measured_at={EARLIER}"
    for name, body in HOSTILE.items():
        refused = Client().post(address, data=body, content_type="text/plain", headers=headers)
        assert (refused.status_code, refused.json()["code"]) in {(422, "wrong_tool"), (422, "unreadable_output")}, name
        assert refused.json()["detail"].endswith("."), name
    assert everything() == before


@pytest.mark.parametrize(
    ("body", "extra", "status", "code"),
    [
        (b"x" * (8 * 1024 * 1024 + 1), {}, 413, "too_large"),
        (gzip.compress(b"x" * (8 * 1024 * 1024 + 1)), {"Content-Encoding": "gzip"}, 413, "too_large"),
        (b"no gzip", {"Content-Encoding": "gzip"}, 400, "bad_gzip"),
        (gzip.compress(b"cut short")[:-6], {"Content-Encoding": "gzip"}, 400, "truncated_gzip"),
        (b"x", {"Content-Encoding": "br"}, 415, "bad_body"),
    ],
)
def test_what_is_too_large_or_badly_packed_is_refused(
    fleet: Fleet, headers: dict[str, str], body: bytes, extra: dict[str, str], status: int, code: str
) -> None:
    before = everything()
    refused = send(headers, "fio", body, **extra)

    assert (refused.status_code, refused.json()["code"]) == (status, code)
    assert everything() == before


def test_a_tool_that_nobody_reads_is_named(fleet: Fleet, headers: dict[str, str]) -> None:
    refused = Client().post("/api/v1/evidence/memtest86?node=gpu001", data="x", content_type="a/b", headers=headers)

    assert (refused.status_code, refused.json()["code"]) == (404, "unknown_tool")
    assert "dcgmi-diag" in refused.json()["detail"]


def test_another_hosts_output_is_refused(fleet: Fleet, headers: dict[str, str]) -> None:
    refused = send(headers, "nccl-tests", samples.NCCL.replace("gpu001", "gpu044"))

    assert (refused.status_code, refused.json()["code"]) == (422, "other_host")


def test_a_body_that_curl_sends_as_a_form_is_read_as_it_is(fleet: Fleet, headers: dict[str, str]) -> None:
    answer = Client().post(
        f"/api/v1/evidence/nccl-tests?node=gpu001&measured_at={EARLIER}", data=samples.NCCL,
        content_type="application/x-www-form-urlencoded", headers=headers,
    )  # fmt: skip

    assert answer.status_code == 202


def test_numbers_beyond_reason_prove_nothing(fleet: Fleet, headers: dict[str, str]) -> None:
    huge = samples.FIO.replace("16200000000", "9" * 40).replace("123600.5", "1e400")
    answer = send(headers, "fio", huge)

    assert verdicts(answer, "nvme-fio") == {"": ("unknown", True)}


def test_an_item_that_the_profile_does_not_have_is_named(headers: dict[str, str], fleet: Fleet) -> None:
    bare = make_fleet("bare", at=NOON - HOUR, profile="virtual")
    bare.enrol("gpu001", at=NOON - HOUR)
    answer = send(bearer(TokenKind.OPERATOR, bare.cluster), "fio")

    assert [(line["item"], line["verdict"], line["why"]) for line in answer.json()["verdicts"]] == [
        ("nvme-fio", "na", "not_applicable")
    ]


def test_a_program_leaves_no_entry_in_the_ledger_of_people(fleet: Fleet, headers: dict[str, str]) -> None:
    person("ember", fleet.cluster)
    send(headers, "nhc")

    assert not LedgerEntry.objects.filter(what="evidence_uploaded").exists()


def test_the_answer_names_what_was_read_and_what_nobody_judges(fleet: Fleet, headers: dict[str, str]) -> None:
    body = json.loads(send(headers, "nhc").content)

    assert {"item": "gpu-peer-bandwidth", "subject": "gpu0", "name": "host_to_device", "value": 55.4,
            "unit": "GB/s"} in body["facts"]  # fmt: skip
    assert [one for one in body["remarks"] if one["name"] == "check_fs_mount"] == [
        {"name": "check_fs_mount", "value": "failed: /scratch is not mounted", "code": "no_item",
         "why": "No item of the checklist asks for it."}
    ]  # fmt: skip
