"""Kinds of saved outputs that no probe of a live node reads, and their readers."""

from __future__ import annotations

from typing import Dict

from readiness_agent.parsers.fio import read_fio
from readiness_agent.parsers.nccl_tests import read_nccl_tests
from readiness_agent.parsers.perftest import read_perftest
from readiness_agent.parsers.saved import SavedKind

SAVED: Dict[str, SavedKind] = {
    "nccl-tests": SavedKind("allreduce-node", read_nccl_tests),
    "perftest": SavedKind("rdma-bandwidth", read_perftest),
    "fio": SavedKind("nvme-fio", read_fio),
}
