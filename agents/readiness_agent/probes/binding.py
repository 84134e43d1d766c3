"""Ranks beside their GPUs: the CPUs on which each may run, and the NUMA nodes that its memory is bound to."""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Set, Tuple

from readiness_agent.facts import ERROR, MISSING, CouldNotMeasure, Findings, Unreadable
from readiness_agent.parsers.cpulist import parse_cpulist
from readiness_agent.parsers.process import parse_allowed_cpus, parse_task_stat
from readiness_agent.parsers.smi_query import parse_compute_apps
from readiness_agent.probes.jobs import find_jobs
from readiness_agent.probes.memory_file import load_memory, save_memory
from readiness_agent.probes.subjects import PCI_DEVICES
from readiness_agent.source import Json, ProbeContext, Source

ITEM = "numa-binding"
COMPUTE_APPS = ("nvidia-smi", "--query-compute-apps=gpu_bus_id,pid", "--format=csv,noheader")
BOOT_ID = "/proc/sys/kernel/random/boot_id"
MEMORY_FILE = "policies-of-ranks.json"

MOST_BYTES = 1 << 16
"""Of ``numa_maps``, once a rank: the kernel walks the page tables of whatever is read, and a trainer has terabytes."""

_ELSEWHERE = re.compile(r"^[0-9a-f]+ (?:bind|(?:weighted )?interleave)(?:=\w+)?:([0-9,-]+) ", re.MULTILINE)


class Rank(NamedTuple):
    """One process of a job on a GPU."""

    pid: int
    started: int
    cpus: Tuple[int, ...]


def measure_binding(findings: Findings, source: Source, context: ProbeContext, gpus: Dict[str, str]) -> None:
    """Whether all ranks of each GPU run beside it. *gpus*: PCI address to name.

    Raises:
        CouldNotMeasure: there is no job, or the driver does not tell who uses its GPUs.
    """
    jobs = set(find_jobs(source, context.job_user))
    if not jobs:
        raise CouldNotMeasure(MISSING, "no job seen whose ranks could be looked at")
    policies = _Policies(source, context.memory_dir)
    users = _users(source)
    for address, name in gpus.items():
        with findings.attempt(ITEM, subject=name):
            ranks = [rank for pid in users.get(address, ()) if pid in jobs and (rank := _rank(source, pid))]
            if not ranks:
                raise CouldNotMeasure(MISSING, f"no rank of a job uses the GPU at {address}")
            beside, node = _place(source, address)
            bound = all(beside.issuperset(rank.cpus) and policies.allow(rank, node) for rank in ranks)
            findings.fact(ITEM, "bound", bound, "bool", name)
    policies.keep()


def _place(source: Source, address: str) -> Tuple[Set[int], str]:
    """The CPUs and the NUMA node beside a GPU.

    Raises:
        CouldNotMeasure: the firmware does not tell (-1, as on many virtual machines): the kernel then calls all CPUs
            near, and every rank would be beside its GPU.
    """
    node = source.read(f"{PCI_DEVICES}/{address}/numa_node").strip()
    beside = set(parse_cpulist(source.read(f"{PCI_DEVICES}/{address}/local_cpulist")))
    if not node.isdigit() or not beside:
        raise CouldNotMeasure(MISSING, f"the kernel does not know beside which NUMA node the GPU at {address} is")
    return beside, node


def _users(source: Source) -> Dict[str, List[int]]:
    result = source.run(COMPUTE_APPS)
    if result.exit_code != 0:
        said = (result.stderr or result.stdout).strip()[:160]
        raise CouldNotMeasure(ERROR, f"nvidia-smi ended with {result.exit_code}: {said}")
    return parse_compute_apps(result.stdout)


def _rank(source: Source, pid: int) -> Optional[Rank]:
    """None where it ended meanwhile."""
    try:
        stat, status = source.read(f"/proc/{pid}/stat"), source.read(f"/proc/{pid}/status")
    except CouldNotMeasure as error:
        if error.kind == MISSING:
            return None
        raise
    return Rank(pid, parse_task_stat(stat).started, parse_allowed_cpus(status))


class _Policies:
    """Nodes to which the memory of ranks is bound, each rank looked at once in its life."""

    def __init__(self, source: Source, directory: Optional[str]) -> None:
        self._source = source
        self._directory = directory
        self._boot_id = source.read(BOOT_ID).strip() if directory else ""
        known = load_memory(directory, MEMORY_FILE, self._boot_id)
        self._known: Dict[str, Json] = known if isinstance(known, dict) else {}
        self._seen: Dict[str, Json] = {}

    def allow(self, rank: Rank, node: str) -> bool:
        """Whether no memory of *rank* is bound to, or spread over, other nodes than *node*."""
        key = f"{rank.pid}/{rank.started}"
        nodes = self._known.get(key)
        if not isinstance(nodes, list):
            nodes = _nodes_bound_to(self._source, rank.pid)
        self._seen[key] = nodes
        return set(nodes) <= {node}

    def keep(self) -> None:
        """For the next tick; of ranks that have ended nothing is kept."""
        if self._seen != self._known:
            save_memory(self._directory, MEMORY_FILE, self._boot_id, self._seen)


def _nodes_bound_to(source: Source, pid: int) -> List[Json]:
    text = source.call(f"memory policy of {pid}", lambda: _head_of_maps(pid))
    if not isinstance(text, str):
        raise Unreadable(f"the memory policy of process {pid} was not saved as text")
    told = {str(node) for nodes in _ELSEWHERE.findall(text) for node in parse_cpulist(f"{nodes}\n")}
    return [*sorted(told)]


def _head_of_maps(pid: int) -> Json:
    try:
        with open(f"/proc/{pid}/numa_maps", "rb", buffering=0) as file:
            return file.read(MOST_BYTES).decode("ascii", "replace")
    except FileNotFoundError:
        raise CouldNotMeasure(MISSING, f"process {pid} ended meanwhile") from None
    except OSError as error:
        raise CouldNotMeasure(ERROR, f"/proc/{pid}/numa_maps: {error.strerror}") from error
