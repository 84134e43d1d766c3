"""Kinds of saved outputs that no probe of a live node reads, and their readers."""

from __future__ import annotations

from typing import Callable, Dict

from readiness_agent.parsers.dcgmi import read_dcgmi_health, read_dcgmi_json, read_dcgmi_nvlink, read_preflight
from readiness_agent.parsers.fio import read_fio
from readiness_agent.parsers.gpud import read_gpud
from readiness_agent.parsers.health_validation import read_health_validation
from readiness_agent.parsers.ib_tools import (
    read_ib_sysfs,
    read_ibdev2netdev,
    read_ibstat,
    read_lshca,
    read_rdma_link,
)
from readiness_agent.parsers.launch_script import read_launch_script
from readiness_agent.parsers.nccl_tests import read_nccl_tests
from readiness_agent.parsers.nhc import read_nhc
from readiness_agent.parsers.perftest import read_perftest
from readiness_agent.parsers.roce import read_devinfo_gids, read_mlnx_qos, read_show_gids
from readiness_agent.parsers.run_configs import read_deepspeed_config, read_requirements, read_tokenizer_config
from readiness_agent.parsers.saved import Saved, SavedKind
from readiness_agent.parsers.saved_gpu import read_kernel_log, read_lspci, read_nvlink_errors, read_nvlink_status
from readiness_agent.parsers.saved_settings import read_sysctl_conf, read_sysctl_files, read_ulimit_lines
from readiness_agent.parsers.saved_smi import read_smi_details, read_smi_sentence
from readiness_agent.parsers.smi_query import read_smi_query
from readiness_agent.parsers.smi_table import read_smi_table
from readiness_agent.parsers.superbench import read_superbench
from readiness_agent.parsers.topology import read_topology
from readiness_agent.parsers.training_log import read_training_log

SAVED: Dict[str, SavedKind] = {
    "nccl-tests": SavedKind("allreduce-node", read_nccl_tests),
    "perftest": SavedKind("rdma-bandwidth", read_perftest),
    "fio": SavedKind("nvme-fio", read_fio),
    "topo -m": SavedKind("net-topology-map", read_topology),
    "nvidia-smi query csv": SavedKind("gpu-present", read_smi_query),
    "nvidia-smi table": SavedKind("gpu-present", read_smi_table),
    "nvlink -s": SavedKind("gpu-nvlink-links", read_nvlink_status),
    "nvlink -e": SavedKind("gpu-nvlink-errors", read_nvlink_errors),
    "nvidia-smi nvlink -s": SavedKind("gpu-nvlink-links", read_nvlink_status),
    "nvidia-smi nvlink -e": SavedKind("gpu-nvlink-errors", read_nvlink_errors),
    "dmesg/kmsg": SavedKind("gpu-xid", read_kernel_log),
    "lspci -vv": SavedKind("gpu-pcie-width", read_lspci),
    "lspci -vvv": SavedKind("gpu-pcie-width", read_lspci),
    "dcgmi diag -j": SavedKind("", read_dcgmi_json),
    "dcgmi -j": SavedKind("", read_dcgmi_json),
    "dcgmi health": SavedKind("", read_dcgmi_health),
    "dcgmi nvlink -s": SavedKind("gpu-nvlink-links", read_dcgmi_nvlink),
    "ib sysfs": SavedKind("rdma-link", read_ib_sysfs),
    "ibstat": SavedKind("rdma-link", read_ibstat),
    "rdma link": SavedKind("rdma-link", read_rdma_link),
    "ibdev2netdev": SavedKind("rdma-link", read_ibdev2netdev),
    "lshca": SavedKind("rdma-link", read_lshca),
    "ibv_devinfo gids": SavedKind("net-switch-qos", read_devinfo_gids),
    "ibv_devinfo": SavedKind("net-switch-qos", read_devinfo_gids),
    "show_gids": SavedKind("net-switch-qos", read_show_gids),
    "mlnx_qos": SavedKind("net-switch-qos", read_mlnx_qos),
    "training log": SavedKind("loss-guard", read_training_log),
    "DeepSpeed config": SavedKind("zero-offload-compat", read_deepspeed_config),
    "launch script": SavedKind("parallel-layout", read_launch_script),
    "pip requirements": SavedKind("trainer-lib-pinned", read_requirements),
    "tokenizer pair": SavedKind("tokenizer-parity", read_tokenizer_config),
    "preflight json lines": SavedKind("", read_preflight),
    "gpud states": SavedKind("", read_gpud),
    "nhc": SavedKind("", read_nhc),
    "nvidia-health-validation": SavedKind("", read_health_validation),
    "superbench": SavedKind("", read_superbench),
}
"""What stands alone: the reader is all that there is."""

DETAILS: Dict[str, Callable[[str], Saved]] = {
    "nvidia-smi -q": read_smi_details,
    "nvidia-smi -q -x": read_smi_details,
    "nvidia-smi error": read_smi_sentence,
    "ulimit": read_ulimit_lines,
    "sysctl files": read_sysctl_files,
    "sysctl conf": read_sysctl_conf,
}
"""What an output says beyond the facts of the probes that read it as well."""

ALIASES: Dict[str, str] = {"dcgmi-diag": "dcgmi diag -j", "gpud": "gpud states"}
"""Names that the portal has in its addresses, where they are others than the kinds."""
