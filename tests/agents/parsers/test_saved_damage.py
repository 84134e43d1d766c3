"""Damaged outputs: no reader ever stops on them, and none states what they do not hold."""

from __future__ import annotations

import json
import math
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from readiness_agent.facts import Unreadable
from readiness_agent.parsers.cuda import parse_driver_version
from readiness_agent.parsers.ethtool import parse_channels, parse_rings, parse_statistics
from readiness_agent.parsers.infiniband import parse_counter, parse_rate, parse_state
from readiness_agent.parsers.kernel_log import parse_kernel_log
from readiness_agent.parsers.kinds import DETAILS, SAVED
from readiness_agent.parsers.lspci import parse_lspci
from readiness_agent.parsers.nvlink import parse_nvlink_errors, parse_nvlink_status
from readiness_agent.parsers.nvme import parse_smart_log, parse_smartctl
from readiness_agent.parsers.nvml import parse_nvml
from readiness_agent.parsers.pcie import parse_width
from readiness_agent.parsers.saved import Saved
from readiness_agent.parsers.xid import gpu_events
from tests.adapters import samples as tools
from tests.agents.parsers.inputs import SHARED
from tests.agents.parsers.test_damage import DEEP, OUTLINE, ULIMIT, Parser, answer, damaged
from tests.agents.parsers.test_network_cards import CHANNELS, RINGS, STATISTICS
from tests.agents.parsers.test_nvme import SMART_LOG, SMARTCTL
from tests.agents.parsers.test_nvml import CAPTURE
from tests.agents.parsers.test_saved_gpu_outputs import DCGMI_NVLINK
from tests.agents.parsers.test_saved_network_outputs import IBDEV2NETDEV, SHOW_GIDS

UUID = "GPU-00000000-0000-4000-8000-000000000001"
NVLINK = f"GPU 0: NVIDIA H200 (UUID: {UUID})\n\t Link 0: 26.562 GB/s\n\t Link 1: 26.562 GB/s\n"
NVLINK_ERRORS = f"GPU 0: NVIDIA H200 (UUID: {UUID})\n\t Link 0: Replay Errors: 12\n\t Link 0: CRC Errors: 34\n"
XID = "[ 4000.500100] NVRM: Xid (PCI:0000:3b:00): 79, pid=7, name=python, GPU has fallen off the bus.\n"
NCCL = """# nThread 1 nGpus 2 minBytes 1024 maxBytes 2048 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
#  Rank  0 Group  0 Pid   26 on node device  0 [0x00] NVIDIA H200
#  Rank  1 Group  0 Pid   26 on node device  1 [0x00] NVIDIA H200
        1024           256     float     sum      -1    34.48   97.32  170.31      0    34.95   95.99  167.99      0
        2048           512     float     sum      -1    55.74  120.39  210.68      0    55.62  120.67  211.17      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 190.04
#
"""
PERFTEST = f""" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 1048576    5000             391.25             390.84   		   0.046592
 2097152    5000             392.25             391.84   		   0.023355
{"-" * 87}
"""
FIO = """{
  "fio version" : "fio-3.36",
  "global options" : {"direct" : "1"},
  "jobs" : [{"jobname" : "a", "error" : 0,
    "read" : {"total_ios" : 36000, "bw_bytes" : 15728640000, "iops" : 120000.25, "runtime" : 300000},
    "write" : {"total_ios" : 0, "bw_bytes" : 0, "iops" : 0.0, "runtime" : 0}}]
}
"""
TOPOLOGY = "\tGPU0\tGPU1\tNIC0\tCPU Affinity\nGPU0\t X \tNV18\tPIX\t0-31\nGPU1\tNV18\t X \tSYS\t32-63\n"
QUERY = "index, pci.bus_id, temperature.gpu, memory.used [MiB]\n0, 00000000:0A:00.0, 74, 80620 MiB\n"
TABLE = """|   0  NVIDIA H200                    On  |   00000000:00:06.0 Off |                    0 |
| N/A   39C    P0            125W /  700W |     112MiB / 143771MiB |     93%      Default |
|                                         |                        |             Disabled |
"""
LSPCI = """65:00.0 3D controller: NVIDIA Corporation Device 2335 (rev a1)
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1
\t\tLnkSta:\tSpeed 32GT/s, Width x16
"""
DIAGNOSTIC = json.dumps({
    "DCGM Diagnostic": {"test_categories": [{"category": "Hardware", "tests": [
        {"name": "memory", "results": [{"status": "Pass", "info": ["Allocated 112427837082 bytes (87.5%)"]}]},
        {"name": "pcie", "results": [{"status": "Fail", "warnings": [{"error_id": 29, "warning": "slow"}]}]},
    ]}]},
    "metadata": {"version": "4.5.2"},
})  # fmt: skip
LINK_COUNTERS = '{"body": {"Link 0": {"children": {"CRC Data Error": {"value": "12"}}}}, "header": ["x", "GPU 0"]}'
HEALTH = "| Overall Health            | Failure              |\n| -> 0                      | Failure              |\n"
PREFLIGHT = '{"event": "Diagnostic summary", "passed": 3, "failed": 0, "warned": 1, "skipped": 2, "total": 6}\n'
SYSFS = (
    "/sys/class/infiniband/mlx5_0/ports/1/state:4: ACTIVE\n/sys/class/infiniband/mlx5_0/ports/1/phys_state:5: LinkUp\n"
    "/sys/class/infiniband/mlx5_0/ports/1/rate:400 Gb/sec (4X NDR)\n"
    "/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed:12\n"
)
IBSTAT = "CA 'mlx5_0'\n\tCA type: MT4129\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n"
RDMA = "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens1f0np0 \n"
LSHCA = """  PCI_addr   |  RDMA  | Net | Numa | LnkStat | Link | Rate | LnkCapWidth | LnkStaWidth | HCA_Type
000a:11:00.0 | mlx5_0 | ib0 |  2   |  up     |  IB  | 100  |   x16 G3    |   x16 G3    |  MT4119
"""
GIDS = "\t\t\tphys_state:\t\tLINK_UP (5)\n\t\t\tGID[  3]:\t\t::ffff:192.0.2.6, RoCE v2\n"
QOS = "Priority trust state: dscp\nprio:3 dscp:31,30,29,28,27,26,25,24,\npriority 0 1 2\nenabled 0 0 0 1 0 0 0 0\n"
TRAINING = (
    " iteration     3384/    8000 | consumed samples:       216576 | elapsed time per iteration (ms): 7845.5 |"
    " learning rate: 6.678E-06 | global batch size:    64 | lm loss: 7.072597E-01 | loss scale: 1.0 |"
    " grad norm: 0.741 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
)
DEEPSPEED = '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}, "train_batch_size": 2048}\n'
SCRIPT = "#SBATCH --nodes=24\n#SBATCH --gres=gpu:8\nTP=4\n  --tensor-model-parallel-size $TP \\\n  --bf16 \\\n"
PINS = "numpy==1.26.4\ndeepspeed @ git+https://host.example/d.git@" + "a" * 40 + "\nsix\n"
TOKENIZER = '{"tokenizer_class": "LlamaTokenizer", "pad_token": null, "model_max_length": 4096}\n'

SAMPLES: dict[str, str] = {
    "nccl-tests": NCCL, "perftest": PERFTEST, "fio": FIO, "topo -m": TOPOLOGY, "nvidia-smi query csv": QUERY,
    "nvidia-smi table": TABLE, "nvlink -s": NVLINK, "nvlink -e": NVLINK_ERRORS, "nvidia-smi nvlink -s": NVLINK,
    "nvidia-smi nvlink -e": NVLINK_ERRORS, "dmesg/kmsg": XID, "lspci -vv": LSPCI, "lspci -vvv": LSPCI,
    "dcgmi diag -j": DIAGNOSTIC, "dcgmi -j": LINK_COUNTERS, "dcgmi health": HEALTH, "dcgmi nvlink -s": DCGMI_NVLINK,
    "ib sysfs": SYSFS, "ibstat": IBSTAT, "rdma link": RDMA, "ibdev2netdev": IBDEV2NETDEV, "lshca": LSHCA,
    "ibv_devinfo gids": GIDS, "ibv_devinfo": GIDS, "show_gids": SHOW_GIDS, "mlnx_qos": QOS, "training log": TRAINING,
    "DeepSpeed config": DEEPSPEED, "launch script": SCRIPT, "pip requirements": PINS, "tokenizer pair": TOKENIZER,
    "preflight json lines": PREFLIGHT, "gpud states": tools.GPUD, "nhc": tools.NHC,
    "nvidia-health-validation": tools.VERDICT, "superbench": tools.SUPERBENCH,
}  # fmt: skip

DETAIL_SAMPLES: dict[str, str] = {
    "nvidia-smi error": "Unable to determine the device handle for GPU0000:01:00.0: Unknown Error\n",
    "nvidia-smi -q": OUTLINE, "nvidia-smi -q -x": "<nvidia_smi_log><gpu id='0'/></nvidia_smi_log>", "ulimit": ULIMIT,
    "sysctl files": "/etc/sysctl.d/a.conf:vm.swappiness = 1\n", "sysctl conf": "vm.swappiness = 1\n",
}  # fmt: skip

RECORDS: dict[str, tuple[Parser, str]] = {
    "nvlink": (parse_nvlink_status, NVLINK),
    "nvlink errors": (parse_nvlink_errors, NVLINK_ERRORS),
    "xid": (lambda text: gpu_events(parse_kernel_log(text)), XID),
    "lspci": (parse_lspci, LSPCI),
    "width": (parse_width, "16\n"),
    "driver": (parse_driver_version, "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb 24\n"),
    "rate": (parse_rate, "400 Gb/sec (4X NDR)\n"),
    "state": (parse_state, "4: ACTIVE\n"),
    "counter": (parse_counter, "317548853677\n"),
    "statistics": (parse_statistics, STATISTICS),
    "rings": (parse_rings, RINGS),
    "channels": (parse_channels, CHANNELS),
    "smart log": (parse_smart_log, SMART_LOG),
    "smartctl": (parse_smartctl, SMARTCTL),
    "nvml": (lambda text: parse_nvml(_json(text)), CAPTURE.read_text()),
}

GROWS = {"rows", "lines", "records", "requirements", "ports", "ports_active", "ports_up", "gids", "links", "links_up"}
"""Counts of what is there: a shorter text has fewer."""

CUT_AT_WILL = (
    "nccl-tests", "perftest", "fio", "topo -m", "nvidia-smi query csv", "nvidia-smi table", "lspci -vv",
    "dcgmi diag -j", "dcgmi -j", "ib sysfs", "rdma link", "lshca", "ibv_devinfo gids", "mlnx_qos", "DeepSpeed config",
    "tokenizer pair", "preflight json lines", "training log", "gpud states", "nhc", "nvidia-health-validation",
    "superbench",
)  # fmt: skip
"""Kinds of which a beginning never states another value than the whole. (Of a list of distributions it may: a file
need not end with a new line.)"""


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def stated(saved: Saved) -> dict[tuple[str, str], object]:
    return {(one.subject, one.name): one.value for one in saved.facts if not _is_of_a_part(one.name)}


def _is_of_a_part(name: str) -> bool:
    """Whether a fact speaks of as much as there is, and not of the whole."""
    return name in GROWS or name.startswith("row_")


def test_every_kind_has_a_sample() -> None:
    assert SAMPLES.keys() == SAVED.keys()
    assert DETAIL_SAMPLES.keys() == DETAILS.keys()


@pytest.mark.parametrize("kind", SAMPLES)
def test_every_sample_is_read_without_a_complaint_or_says_why(kind: str) -> None:
    assert SAVED[kind].read(SAMPLES[kind]).facts


def check(saved: Saved) -> None:
    for one in saved.facts:
        assert isinstance(one.value, (bool, int, float, str))
        assert not isinstance(one.value, float) or math.isfinite(one.value)
        assert not isinstance(one.value, int) or abs(one.value) < 2**63
    assert all(isinstance(problem, str) and problem for problem in saved.problems)
    json.dumps(saved, allow_nan=False)


@pytest.mark.parametrize("kind", SAMPLES)
@DEEP
@given(data=st.data())
def test_no_damage_stops_a_reader_or_makes_it_state_what_is_no_value(kind: str, data: st.DataObject) -> None:
    check(SAVED[kind].read(data.draw(damaged(SAMPLES[kind]))))


@pytest.mark.parametrize("kind", DETAIL_SAMPLES)
@DEEP
@given(data=st.data())
def test_no_damage_stops_a_reader_of_details(kind: str, data: st.DataObject) -> None:
    check(DETAILS[kind](data.draw(damaged(DETAIL_SAMPLES[kind]))))


@pytest.mark.parametrize("name", RECORDS)
@DEEP
@given(data=st.data())
def test_no_damage_stops_a_parser_of_records(name: str, data: st.DataObject) -> None:
    parser, original = RECORDS[name]

    answer(parser, data.draw(damaged(original)))


@pytest.mark.parametrize("kind", SAMPLES)
def test_numbers_of_5000_digits_and_nests_of_5000_brackets_stop_no_reader(kind: str) -> None:
    check(SAVED[kind].read(re.sub(r"[0-9]+", "9" * 5000, SAMPLES[kind])))
    check(SAVED[kind].read("[" * 5000))
    check(SAVED[kind].read('{"a":' * 5000))


@pytest.mark.parametrize("kind", CUT_AT_WILL)
def test_a_beginning_states_no_other_value_than_the_whole(kind: str) -> None:
    whole = stated(SAVED[kind].read(SAMPLES[kind]))

    for end in range(len(SAMPLES[kind])):
        part = stated(SAVED[kind].read(SAMPLES[kind][:end]))
        assert {key: value for key, value in part.items() if value}.items() <= whole.items(), end


@pytest.mark.parametrize("name", ["driver", "rate", "state", "counter", "width", "rings", "channels", "smart log"])
def test_a_beginning_of_a_record_is_unreadable_or_the_whole(name: str) -> None:
    parser, original = RECORDS[name]

    for end in range(len(original)):
        try:
            assert parser(original[:end]) == parser(original), end
        except Unreadable:
            continue


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_damaged_answer_of_nvml_never_shows_more_gpus_than_it_has(data: st.DataObject) -> None:
    raw = _json(data.draw(damaged(CAPTURE.read_text())))

    try:
        log = parse_nvml(raw)
    except Unreadable:
        return
    assert len(log.smi.gpus) <= 2


@pytest.mark.skipif(not SHARED.exists(), reason="../shared is not here")
def test_real_outputs_of_other_kinds_stop_no_reader() -> None:
    texts = [
        file.read_bytes().decode("utf-8", "replace")
        for file in sorted((SHARED / "cases").rglob("*"))
        if file.is_file() and file.stat().st_size < 60_000
    ]
    for kind in SAVED.values():
        for text in texts:
            check(kind.read(text))


def test_a_row_of_nccl_tests_that_cannot_be_read_is_told_whatever_else_was_spoiled() -> None:
    """Its size may have been the largest, and its values wrong."""
    spoiled = NCCL.replace("maxBytes 2048", "maxBytes?2048").replace("120.39  210.68      0", "120~39  110.68     17")

    problems = SAVED["nccl-tests"].read(spoiled).problems

    assert any(told.startswith("a row of the table cannot be read: 2048 512 float") for told in map(str, problems))
