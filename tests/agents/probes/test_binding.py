"""Whether each rank runs beside its GPU: a machine with two NUMA nodes and four GPUs, two on each."""

from __future__ import annotations

from pathlib import Path

from readiness_agent.facts import ERROR, MISSING, CouldNotMeasure
from readiness_agent.probes.binding import COMPUTE_APPS
from readiness_agent.probes.numa import NUMA
from readiness_agent.source import Json, ProbeContext
from tests.agents.probes.fake_source import Answer, FakeSource, ended, problems, values
from tests.agents.probes.test_gpu import pci

GPUS = ("0000:1a:00.0", "0000:3d:00.0", "0000:9b:00.0", "0000:db:00.0")
LOCAL = ("0-31,64-95", "0-31,64-95", "32-63,96-127", "32-63,96-127")
BESIDE = ("0-15", "16-31,80-95", "32-47", "48-63")
ITEM, ASK = "numa-binding", " ".join(COMPUTE_APPS)
NO_POLICY = "7f21c8000000 default anon=12 dirty=12 N0=12 kernelpagesize_kB=4\n"


def apps(*rows: tuple[str, int]) -> str:
    """As nvidia-smi lists them: the driver writes eight digits of the PCI domain."""
    return "".join(f"0000{address}, {pid}\n" for address, pid in rows)


def machine(
    cpus: tuple[str, ...] = BESIDE, said: Answer | None = None, jobs: Json = None, policy: str = NO_POLICY
) -> FakeSource:
    """Rank 500 + n works on GPU n and may run on *cpus* of that place."""
    files: dict[str, str | CouldNotMeasure] = {"/sys/devices/system/node/online": "0-1\n", **pci(*GPUS)}
    calls: dict[str, Json | CouldNotMeasure] = {}
    for place, (address, local) in enumerate(zip(GPUS, LOCAL, strict=True)):
        files[f"/sys/bus/pci/devices/{address}/local_cpulist"] = f"{local}\n"
        files[f"/sys/bus/pci/devices/{address}/numa_node"] = f"{place // 2}\n"
        files[f"/proc/{500 + place}/stat"] = f"{500 + place} (python) R {'0 ' * 18}{9000 + place} 0 0\n"
        calls[f"memory policy of {500 + place}"] = policy
    for place, allowed in enumerate(cpus):
        files[f"/proc/{500 + place}/status"] = f"Name:\tpython\nCpus_allowed_list:\t{allowed}\n"
    calls["jobs"] = [{"pid": 500 + place, "job": "slurm 7"} for place in range(4)] if jobs is None else jobs
    told = said or apps(*((address, 500 + place) for place, address in enumerate(GPUS)))
    return FakeSource(files, {ASK: told}, calls)


def bound(source: FakeSource, context: ProbeContext | None = None) -> list[object]:
    result = NUMA.run(source, context or ProbeContext())
    return [values(result, ITEM, f"gpu{place}").get("bound") for place in range(4)]


def test_ranks_that_may_only_run_beside_their_gpus_are_bound() -> None:
    assert bound(machine()) == [True, True, True, True]


def test_a_rank_that_may_run_on_the_other_socket_is_named_by_its_gpu() -> None:
    assert bound(machine(("0-15", "0-127", "32-47", "0-15"))) == [True, False, True, False]


def test_one_of_two_ranks_of_a_gpu_is_enough_to_fail_it() -> None:
    source = machine(said=apps(*((address, 500 + place) for place, address in enumerate(GPUS)), (GPUS[3], 500)))

    assert bound(source) == [True, True, True, False]


def test_memory_that_is_bound_to_the_other_node_is_not_beside_the_gpu() -> None:
    assert bound(machine(policy="7f21c8000000 bind:0 anon=9 N0=9 kernelpagesize_kB=4\n")) == [True, True, False, False]


def test_memory_that_is_spread_over_all_nodes_is_not_beside_the_gpu() -> None:
    spread = "7f21c8000000 interleave:0-1 anon=9 N0=5 N1=4 kernelpagesize_kB=4\n"

    assert bound(machine(policy=spread)) == [False, False, False, False]


def test_memory_that_is_spread_by_weights_is_spread() -> None:
    spread = "7f21c8000000 weighted interleave:0-1 anon=9 N0=5 N1=4 kernelpagesize_kB=4\n"

    assert bound(machine(policy=spread)) == [False, False, False, False]


def test_a_gpu_of_which_the_kernel_does_not_know_the_node_proves_nothing() -> None:
    source = machine(("0-127", "0-127", "32-47", "48-63"))
    for address in GPUS[:2]:
        source.files[f"/sys/bus/pci/devices/{address}/numa_node"] = "-1\n"
        source.files[f"/sys/bus/pci/devices/{address}/local_cpulist"] = "0-127\n"
    result = NUMA.run(source, ProbeContext())

    assert [values(result, ITEM, f"gpu{place}").get("bound") for place in range(4)] == [None, None, True, True]
    assert problems(result, ITEM) == [("gpu0", MISSING), ("gpu1", MISSING)]


def test_a_gpu_without_a_rank_is_not_judged() -> None:
    result = NUMA.run(machine(said=apps((GPUS[0], 500), (GPUS[1], 501))), ProbeContext())

    assert [values(result, ITEM, f"gpu{place}").get("bound") for place in range(4)] == [True, True, None, None]
    assert problems(result, ITEM) == [("gpu2", MISSING), ("gpu3", MISSING)]


def test_a_process_that_is_no_job_s_is_nobody_s_rank() -> None:
    assert bound(machine(jobs=[{"pid": 500, "job": "slurm 7"}])) == [True, None, None, None]


def test_without_a_job_the_driver_is_not_asked() -> None:
    source = machine(jobs=[])

    result = NUMA.run(source, ProbeContext())

    assert problems(result, ITEM) == [("*", MISSING)]
    assert ASK not in source.asked


def test_a_driver_that_refuses_is_told() -> None:
    result = NUMA.run(machine(said=ended("", 9, "NVIDIA-SMI has failed")), ProbeContext())

    assert problems(result, ITEM) == [("*", ERROR)]


def test_a_rank_that_ended_meanwhile_is_no_rank() -> None:
    source = machine()
    del source.files["/proc/503/status"]

    assert bound(source) == [True, True, True, None]


def test_a_damaged_list_of_processes_is_no_list() -> None:
    result = NUMA.run(machine(said="00000000:1A:00.0, 500\n00000000:3D:00"), ProbeContext())

    assert problems(result, ITEM) == [("*", "unreadable")]


def test_the_same_ranks_are_looked_at_once(tmp_path: Path) -> None:
    context = ProbeContext(memory_dir=str(tmp_path))
    source = machine()
    source.files["/proc/sys/kernel/random/boot_id"] = "boot-1\n"
    assert bound(source, context) == [True, True, True, True]
    source.asked.clear()

    assert bound(source, context) == [True, True, True, True]
    assert not any(one.startswith("memory policy") for one in source.asked)
