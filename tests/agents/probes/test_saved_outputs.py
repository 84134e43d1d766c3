"""``readiness-agent parse KIND FILE`` on outputs that other people saved: facts out, never a guess."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from readiness_agent.commands.parse import main
from tests.adapters import samples
from tests.agents.parsers.inputs import SHARED

CASES = SHARED / "cases"


def parsed(capsys: pytest.CaptureFixture[str], kind: str, file: Path) -> tuple[int, dict[str, Any]]:
    if not file.exists():
        pytest.skip(f"{file.name} is not here")
    code = main([kind, str(file)])
    return code, json.loads(capsys.readouterr().out)


def facts(document: dict[str, Any], item: str) -> dict[str, Any]:
    return {one["name"]: one["value"] for one in document["facts"] if one["item"] == item}


def test_a_plain_text_report_of_a_healthy_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    _, document = parsed(capsys, "nvidia-smi -q", CASES / "smi_q/h100_590_idle_q.txt")

    assert facts(document, "gpu-present") == {"gpus_visible": 1, "gpus_lost": 0}
    assert facts(document, "gpu-ecc")["volatile_uncorrectable"] == 0


def test_a_pending_remap_in_an_excerpt_of_eight_gpus(capsys: pytest.CaptureFixture[str]) -> None:
    _, document = parsed(capsys, "nvidia-smi -q", CASES / "smi_q/a100_remap_pending_510_excerpt.txt")

    assert facts(document, "gpu-present") == {"gpus_visible": 1, "gpus_lost": 7}
    assert facts(document, "gpu-ecc")["remap_pending"] is True


def test_the_soft_limits_of_a_shell_without_hard_ones(capsys: pytest.CaptureFixture[str]) -> None:
    _, document = parsed(capsys, "ulimit", CASES / "system/ulimit_memlock_64.txt")

    assert facts(document, "ulimit-memlock") == {"soft": 65536, "context": "job"}
    assert facts(document, "ulimit-nofile") == {"soft": 1024, "context": "job"}


def test_what_a_search_through_sysctl_d_shows_for_the_next_boot(capsys: pytest.CaptureFixture[str]) -> None:
    _, document = parsed(capsys, "sysctl files", CASES / "system/sysctl_d_grep_override.txt")

    assert facts(document, "sysctl-netdev-backlog") == {
        "configured": 30000, "configured_state": "set", "configured_by": "/etc/sysctl.d/99-gke-overrides.conf:1",
    }  # fmt: skip
    assert "live" not in facts(document, "sysctl-somaxconn")


def test_live_settings_from_a_dump(capsys: pytest.CaptureFixture[str]) -> None:
    _, document = parsed(capsys, "sysctl -a", SHARED / "captures/h200x2/sysctl.txt")

    assert facts(document, "sysctl-file-max") == {"live": 26396503}


@pytest.mark.parametrize("file", sorted((CASES / "smi_xml").glob("*.xml")), ids=lambda path: path.stem)
def test_every_xml_case_ends_in_json(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    code, document = parsed(capsys, "nvidia-smi -q -x", file)

    assert code in (0, 2)
    assert document["facts"] or document["problems"]


def test_a_cut_report_says_where_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = parsed(capsys, "nvidia-smi -q -x", CASES / "smi_xml/gt730_truncated.xml")

    assert (code, document["facts"]) == (2, [])
    assert "byte" in document["problems"][0]["detail"]


def test_a_file_of_settings_says_what_the_next_boot_sets(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "90-net.conf"
    file.write_text("net.core.somaxconn = 65535\nnet.core.rmem_max = 16777216\n")

    _, document = parsed(capsys, "sysctl conf", file)

    assert facts(document, "sysctl-somaxconn")["configured"] == 65535
    assert facts(document, "")["net.core.rmem_max"] == 16777216


def test_facts_of_a_benchmark_support_their_item(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = parsed(capsys, "nccl-tests", CASES / "nccl/h200_8_16G.log")

    assert (code, facts(document, "allreduce-node")["busbw"]) == (0, 479.97)
    assert document["facts"][0].keys() == {"item", "subject", "name", "value", "unit", "observed_at"}


def test_what_went_wrong_is_a_problem_and_the_exit_code_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = parsed(capsys, "perftest", CASES / "perftest/port_down_no_context.txt")

    assert code == 2
    assert document["problems"] == [
        {"item": "rdma-bandwidth", "subject": "*", "kind": "error", "detail": "port 1 is Down"}
    ]


def test_a_driver_version_comes_with_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    _, document = parsed(capsys, "nvidia-smi -q", CASES / "smi_q/rtx2080s_610_idle_q.txt")

    assert facts(document, "")["driver_version"] == "610.57.04"
    assert facts(document, "gpu-pcie-width")["width"] == 16


CASE_LIST = CASES / "cases.json"


@pytest.mark.skipif(not CASE_LIST.exists(), reason="../shared/cases is not here")
def test_every_kind_of_every_known_case_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    for one in json.loads(CASE_LIST.read_text()):
        _, document = parsed(capsys, one["kind"], CASES / one["file"])

        assert document["facts"] or document["problems"], one["id"]
        assert "is no kind" not in str(document["problems"]), one["id"]


@pytest.mark.parametrize(("name", "kind"), [("dcgmi-diag", "dcgmi diag -j"), ("gpud", "gpud states"), ("fio", "fio")])
def test_the_portals_name_of_a_tool_is_a_kind_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, kind: str
) -> None:
    file = tmp_path / "saved"
    file.write_text(samples.SAMPLES[name])

    (code, ours), (same, theirs) = parsed(capsys, name, file), parsed(capsys, kind, file)

    assert (code, ours["kind"], ours["problems"]) == (same, kind, theirs["problems"])
    assert [(one["name"], one["value"]) for one in ours["facts"]] == [
        (one["name"], one["value"]) for one in theirs["facts"]
    ]
