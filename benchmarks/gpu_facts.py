"""Whether the agent's facts about GPUs are what ``nvidia-smi`` says, on a GPU machine, idle and under load.

Needs at least one NVIDIA GPU, for the load PyTorch too, and nothing else of the project. ``nvidia-smi`` is asked before
and after the agent: what does not move must be equal, a reading that moves must lie between the two or within its
slack, a counter must not have gone back. What the agent says of the training environment, which is that of the
interpreter that runs this, is printed as it is. Ends with 1 where anything differs.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.agent import installed

LOAD_S = 90
WARM_S = 20
LOAD = """
import sys, threading, time, torch
def work(device):
    one = torch.randn(8192, 8192, device=device, dtype=torch.bfloat16)
    while time.monotonic() < end:
        for _ in range(50):
            torch.mm(one, one)
        torch.cuda.synchronize(device)
end = time.monotonic() + float(sys.argv[1])
threads = [threading.Thread(target=work, args=(f"cuda:{place}",)) for place in range(torch.cuda.device_count())]
[one.start() for one in threads]; [one.join() for one in threads]
"""
COLUMNS = (
    "pci.bus_id", "ecc.mode.current", "ecc.errors.uncorrected.volatile.total", "ecc.errors.corrected.volatile.total",
    "pcie.link.width.current", "pcie.link.width.max", "pcie.link.gen.current", "pcie.link.gen.max", "vbios_version",
    "inforom.img", "persistence_mode", "compute_mode", "mig.mode.current", "fabric.state", "fabric.status",
    "temperature.gpu", "utilization.gpu", "clocks.sm", "memory.used", "clocks_event_reasons.hw_slowdown",
    "clocks_event_reasons_counters.sw_power_cap", "clocks_event_reasons_counters.sw_thermal_slowdown",
    "clocks_event_reasons_counters.hw_thermal_slowdown", "clocks_event_reasons_counters.hw_power_brake_slowdown",
)  # fmt: skip
TRAINING = ("trainer-lib-pinned", "python-env-uniform", "nccl-cuda-match", "nccl-no-system", "driver-cuda-match")
REMAPPED = ("gpu_bus_id", "remapped_rows.pending", "remapped_rows.failure")

Row = Mapping[str, str]
Fact = str | int | float | bool


@dataclass(frozen=True)
class Pair:
    """One fact and the column that says the same; *slack* is what a reading may move, None where it must not."""

    item: str
    name: str
    column: str
    read: Callable[[str], Fact] = str
    slack: float | None = None


def _count(cell: str) -> int:
    return int(cell.split()[0])


def _yes(cell: str) -> bool:
    return cell in ("Enabled", "Active", "Yes", "Pending")


THROTTLE = "gpu-clock-throttle"
PAIRS = (
    Pair("gpu-ecc", "ecc_enabled", "ecc.mode.current", _yes),
    Pair("gpu-ecc", "volatile_uncorrectable", "ecc.errors.uncorrected.volatile.total", _count),
    Pair("gpu-ecc", "volatile_correctable", "ecc.errors.corrected.volatile.total", _count),
    Pair("gpu-ecc", "remap_pending", "remapped_rows.pending", _yes),
    Pair("gpu-ecc", "remap_failed", "remapped_rows.failure", _yes),
    Pair("gpu-pcie-width", "width", "pcie.link.width.current", _count),
    Pair("gpu-pcie-width", "width_max", "pcie.link.width.max", _count),
    Pair("gpu-pcie-generation", "generation", "pcie.link.gen.current", _count),
    Pair("gpu-pcie-generation", "generation_max", "pcie.link.gen.max", _count),
    Pair("gpu-firmware", "vbios", "vbios_version"),
    Pair("gpu-firmware", "inforom", "inforom.img"),
    Pair("gpu-clean", "compute_mode", "compute_mode"),
    Pair("gpu-clean", "mig_enabled", "mig.mode.current", _yes),
    Pair("gpu-clean", "memory_used", "memory.used", _count, slack=64),
    Pair("gpu-temperature", "temperature", "temperature.gpu", _count, slack=3),
    Pair("gpu-temperature", "utilization", "utilization.gpu", _count, slack=10),
    Pair(THROTTLE, "sm_clock", "clocks.sm", _count, slack=300),
    Pair(THROTTLE, "hw_slowdown_active", "clocks_event_reasons.hw_slowdown", _yes),
    Pair(THROTTLE, "sw_power_cap", "clocks_event_reasons_counters.sw_power_cap", _count, slack=0),
    Pair(THROTTLE, "sw_thermal", "clocks_event_reasons_counters.sw_thermal_slowdown", _count, slack=0),
    Pair(THROTTLE, "hw_thermal", "clocks_event_reasons_counters.hw_thermal_slowdown", _count, slack=0),
    Pair(THROTTLE, "power_brake", "clocks_event_reasons_counters.hw_power_brake_slowdown", _count, slack=0),
)


def said() -> list[dict[str, str]]:
    """One row a GPU, in the order of PCI addresses."""
    rows = _query("--query-gpu", COLUMNS)
    remapped = _query("--query-remapped-rows", REMAPPED)
    for row, more in zip(rows, remapped, strict=True):
        row.update(more)
    return sorted(rows, key=lambda row: row["pci.bus_id"])


def _query(option: str, columns: tuple[str, ...]) -> list[dict[str, str]]:
    argv = ["nvidia-smi", f"{option}={','.join(columns)}", "--format=csv,noheader"]
    lines = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.splitlines()
    return [dict(zip(columns, [cell.strip() for cell in line.split(",")], strict=True)) for line in lines]


def links_up() -> list[int]:
    """Links with a speed, a GPU."""
    text = subprocess.run(["nvidia-smi", "nvlink", "-s"], check=True, capture_output=True, text=True).stdout
    return [part.count("GB/s") for part in text.split("GPU ")[1:]]


def facts_of(agent: str, home: str, *items: str) -> tuple[dict[tuple[str, str, str], Fact], list[str]]:
    """Facts by item, subject and name; and what could not be measured, as the agent says it."""
    argv = [sys.executable, "-I", agent, "check", *items, "--no-push", "--json", "--home", home]
    run = subprocess.run(argv, capture_output=True, text=True, check=False)
    document = json.loads(run.stdout)
    problems = [f"{one['item']} {one['subject']}: {one['kind']}, {one['detail']}" for one in document["problems"]]
    return {(one["item"], one["subject"], one["name"]): one["value"] for one in document["facts"]}, problems


def differences(facts: Mapping[tuple[str, str, str], Fact], before: list[Row], after: list[Row]) -> Iterator[str]:
    """A line for each fact that is not what nvidia-smi said around it, and for each that is missing."""
    visible = facts.get(("gpu-present", "", "gpus_visible"))
    if visible != len(before):
        yield f"gpu-present: {visible} visible, nvidia-smi lists {len(before)}"
    without = sum(row["persistence_mode"] != "Enabled" for row in before)
    if facts.get(("persistence-mode", "", "gpus_without_persistence")) != without:
        yield f"persistence-mode: nvidia-smi shows {without} GPUs without"
    for place, up in enumerate(links_up()):
        if facts.get(("gpu-nvlink-links", f"gpu{place}", "links_up")) != up:
            yield f"gpu{place} links: nvidia-smi shows {up} with a speed"
    for place, (first, last) in enumerate(zip(before, after, strict=True)):
        for pair in PAIRS:
            fact = facts.get((pair.item, f"gpu{place}", pair.name))
            if not _fits(pair, fact, first[pair.column], last[pair.column]):
                seen = f"{first[pair.column]} … {last[pair.column]}"
                yield f"gpu{place} {pair.item} {pair.name}: {fact}, nvidia-smi {seen}"


def _fits(pair: Pair, fact: Fact | None, first: str, last: str) -> bool:
    if first in ("N/A", "[N/A]"):
        return fact is None
    low, high = pair.read(first), pair.read(last)
    if pair.slack is None or isinstance(fact, str | bool) or fact is None:
        return fact in (low, high)
    ends = sorted((float(low), float(high)))
    return ends[0] - pair.slack <= fact <= ends[1] + pair.slack


@contextmanager
def under_load() -> Iterator[None]:
    """A bf16 product on every GPU, warm."""
    load = subprocess.Popen([sys.executable, "-c", LOAD, str(LOAD_S)])
    try:
        time.sleep(WARM_S)
        yield
    finally:
        load.terminate()
        load.wait()


def compare(what: str, agent: str, home: str) -> int:
    """Print how many facts were compared, and each that differs; returns how many do."""
    before = said()
    facts, problems = facts_of(agent, home)
    found = list(differences(facts, before, said()))
    told = ", ".join(f"{row['temperature.gpu']} °C {row['utilization.gpu']} {row['clocks.sm']}" for row in before)
    print(f"{what} ({told}): {len(PAIRS) * len(before) + len(before) + 2} comparisons, {len(found)} differ")
    print("\n".join([*(f"  {one}" for one in found), *(f"  not measured: {one}" for one in problems)]))
    return len(found)


def main() -> None:
    """Idle, then under load."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / "home"
        home.mkdir(mode=0o700)
        config = {"portal": "http://127.0.0.1:1", "training_python": sys.executable}
        (home / "agent.json").write_text(json.dumps(config))
        (home / "agent.json").chmod(0o600)
        agent = installed(Path(place))
        differing = compare("idle", agent, str(home))
        with under_load():
            differing += compare("under load", agent, str(home))
        for (item, _, name), value in facts_of(agent, str(home), *TRAINING)[0].items():
            print(f"{item} {name}: {value}")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
