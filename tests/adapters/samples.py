"""Outputs of every tool, written for these tests with values of their own, about a node of eight GPUs."""

import json
from typing import Any

from checks.adapters.reading import NodeOnFile, Reading
from checks.adapters.tools import read_output
from checks.domain.units import Scalar

UUIDS = [f"GPU-{place}a5e5ff0-0000-4000-8000-00000000000{place}" for place in range(8)]
NODE = NodeOnFile(
    "gpu001", 8, {uuid: f"gpu{place}" for place, uuid in enumerate(UUIDS)}, {"mlx5_0": "nic0", "mlx5_1": "nic1"}
)
LOOKED_AT = "2026-11-30T11:58:00Z"


def read(tool: str, text: str, node: NodeOnFile = NODE) -> Reading:
    """What the adapter makes of *text*."""
    return read_output(tool, text, node)


def told(reading: Reading, item: str, subject: str = "") -> dict[str, Scalar]:
    """Values of one row by name."""
    return {one.name: one.value for one in reading.facts if (one.item, one.subject) == (item, subject)}


def problems(reading: Reading, item: str) -> list[tuple[str, str]]:
    """Kind and subject of each problem of an item."""
    return [(one.kind.value, one.subject) for one in reading.problems if one.item == item]


def a_test(name: str, *results: dict[str, Any], category: str = "Hardware") -> dict[str, Any]:
    """One test of a diagnostic in a category of its own."""
    return {"category": category, "tests": [{"name": name, "results": list(results)}]}


def result(gpu: int, status: str = "Pass", info: str = "", *warnings: str) -> dict[str, Any]:
    """One result of DCGM 4."""
    said: dict[str, Any] = {"entity_group": "GPU", "entity_group_id": 1, "entity_id": gpu, "status": status}
    if info:
        said["info"] = [info]
    if warnings:
        said["warnings"] = [{"error_id": 1000 + place, "warning": one} for place, one in enumerate(warnings)]
    return said


def diagnostic(*categories: dict[str, Any], root: str = "DCGM Diagnostic") -> str:
    """A document of ``dcgmi diag -j``."""
    return json.dumps({root: {"test_categories": list(categories)}, "metadata": {"version": "4.4.1"}}, indent=2)


DCGMI = diagnostic(
    a_test("memory", *(result(gpu, "Pass", f"Allocated {130_000_000_000 + gpu} bytes (91.5%)") for gpu in range(8))),
    a_test("pcie", *(result(gpu, "Pass", f"GPU {gpu} Host to GPU bandwidth:\t\t55.{gpu} GB/s") for gpu in range(8))),
    a_test("targeted_stress", *(result(gpu) for gpu in range(8)), category="Stress"),
    a_test("memory_bandwidth", *(result(gpu, "Skip") for gpu in range(8)), category="Stress"),
)
DCGMI_3 = diagnostic(
    a_test("Persistence Mode", {"status": "Fail", "warnings": "Persistence mode for GPU 3 is disabled."}),
    a_test("GPU Memory", {"gpu_ids": "2", "status": "Fail", "warnings": "Two blocks read back wrong."}),
    root="DCGM GPU Diagnostic",
)


def component(name: str, health: str, reason: str, data: Any = None, at: str = LOOKED_AT) -> dict[str, Any]:
    """One component of gpud with one state."""
    state: dict[str, Any] = {"time": at, "component": name, "name": name, "health": health, "reason": reason}
    if data is not None:
        state["extra_info"] = {"data": json.dumps(data)}
    return {"component": name, "states": [state]}


def ecc_of(uncorrected: int = 0, *, on: bool = True) -> dict[str, Any]:
    """Data of gpud about errors of memory; GPU 5 has *uncorrected* ones since boot."""

    def errors(place: int) -> dict[str, Any]:
        return {"corrected": 0, "uncorrected": uncorrected if place == 5 else 0}

    return {
        "ecc_modes": [{"uuid": uuid, "enabled_current": on, "enabled_pending": on} for uuid in UUIDS],
        "ecc_errors": [
            {"uuid": uuid, "aggregate": {"total": errors(place)}, "volatile": {"total": errors(place)}}
            for place, uuid in enumerate(UUIDS)
        ],
    }


def modes_of(*off: int) -> dict[str, Any]:
    """Data of gpud about persistence; *off* are the GPUs without."""
    return {"persistence_modes": [{"uuid": uuid, "enabled": place not in off} for place, uuid in enumerate(UUIDS)]}


GPUD = json.dumps([
    component("cpu", "Healthy", "no blocked process"),
    component("accelerator-nvidia-ecc", "Healthy", "8 GPUs looked at", ecc_of()),
    component("accelerator-nvidia-persistence-mode", "Healthy", "all on", modes_of()),
    component("accelerator-nvidia-infiniband", "Healthy", "no data yet"),
], indent=1)  # fmt: skip

NHC = """SUCCESS:  nhc:  Health check passed:  check_gpu_count: Expected 8 and found 8
H2D_GPU_0: 55.4 GB/s
H2D_GPU_1: 31.2 GB/s
P2P_GPU_0_1: 391.5 GB/s
P2P_GPU_0_2: 388.25 GB/s
ERROR:  nhc:  Health check failed:  check_gpu_ecc: GPU id 6: SRAM Uncorrectable ECC error count detected, (2,3). FaultCode: NHC2019
ERROR:  nhc:  Health check failed:  check_nvlink_status: GPU 4 has nvlinks inactive: Link 2: Inactive. FaultCode: NHC2016
ERROR:  nhc:  Health check failed:  check_fs_mount: /scratch is not mounted
"""  # noqa: E501

NCCL = """# nThread 1 nGpus 8 minBytes 8589934592 maxBytes 17179869184 step: 2(factor) iters: 20 validation: 1
#
# Using devices
""" + "".join(f"#  Rank  {rank} Group  0 Pid   91{rank} on     gpu001 device  {rank} [0x0{rank}] NVIDIA H200\n"
              for rank in range(8)) + """#
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
  8589934592    2147483648     float     sum      -1    31561  272.17  476.30      0    31540  272.35  476.61      0
 17179869184    4294967296     float     sum      -1    62502  274.87  481.02      0    62470  275.01  481.27      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 478.8
#
"""  # fmt: skip

PERFTEST = f"""                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_1
 Mtu             : 4096[B]
 Link type       : IB
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 8388608    5000             392.45             391.77             0.005838
{"-" * 87}
"""
PERFTEST_JSON = """{
test_info: {
test: Write_BW,
Device: mlx5_1,
Mtu: 4096,
},
results: {
MsgSize: 8388608,
n_iterations: 5000,
BW_peak: 392.45,
BW_average: 391.77,
MsgRate: 0.005838
}
}
"""

FIO = json.dumps({
    "fio version": "fio-3.36", "timestamp": 1796039880,  # 2026-11-30 11:58:00 UTC
    "global options": {"rw": "randread", "bs": "128k", "direct": "1", "size": "10g", "numjobs": "16"},
    "jobs": [{
        "jobname": "read", "error": 0,
        "read": {"total_ios": 36_000_000, "bw_bytes": 16_200_000_000, "iops": 123_600.5, "runtime": 300_000},
        "write": {"total_ios": 0, "bw_bytes": 0, "iops": 0.0, "runtime": 0},
    }],
}, indent=1)  # fmt: skip

VERDICT = json.dumps({
    "hostname": "gpu001", "timestamp": LOOKED_AT, "severity": "CRITICAL",
    "check_verdicts": [
        {"check_id": "gpu_count", "severity": "CRITICAL", "message": "Expected 8 GPUs, found 7.",
         "signals": {"gpu_count": 7}},
        {"check_id": "nvlink_bandwidth_count_speed", "severity": "PASS", "entity": "GPU 0",
         "signals": {"gpu_id": 0, "link_count": 18, "speed_mbytes_per_sec": 26562}},
        {"check_id": "gpu_xid_79", "severity": "CRITICAL", "entity": "GPU 2", "message": "Xid 79 was logged."},
        {"check_id": "cpu_count", "severity": "PASS"},
        {"check_id": "nvlink_fabric_health", "severity": "UNKNOWN", "message": "not collected"},
    ],
}, indent=1)  # fmt: skip

SUPERBENCH = "".join(
    json.dumps(line) + "\n"
    for line in (
        {
            "node": "gpu001", "nccl-bw:nvlink/allreduce_8589934592_busbw:0": 470.5,
            "nccl-bw:nvlink/allreduce_17179869184_busbw:0": 479.5, "nccl-bw:nvlink/return_code": 0,
            "gpu-burn/time": 120, "gpu-burn/return_code": 0,
            **{f"gpu-burn/gpu_{gpu}_pass": int(gpu != 3) for gpu in range(8)},
            "gpu-copy-bw:perf/cpu_to_gpu0_by_dma_under_numa0_bw": 55.2,
            "gpu-copy-bw:perf/cpu_to_gpu0_by_dma_under_numa1_bw": 41.0,
            "gpu-copy-bw:perf/gpu0_to_gpu1_read_by_dma_bw": 391.0,
            "gpu-copy-bw:perf/gpu0_to_gpu2_read_by_dma_bw": 389.5,
            "gpu-copy-bw:perf/return_code": 0, "disk-benchmark/return_code": 2, "kernel-launch/event_time:0": 0.0055,
        },
        {"node": "gpu002", "gpu-burn/time": 1200, "gpu-burn/gpu_0_pass": 1},
    )
)  # fmt: skip

SAMPLES = {
    "dcgmi-diag": DCGMI, "fio": FIO, "gpud": GPUD, "nccl-tests": NCCL, "nhc": NHC, "nvidia-health-validation": VERDICT,
    "perftest": PERFTEST, "superbench": SUPERBENCH,
}  # fmt: skip
