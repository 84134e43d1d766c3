"""What a tick costs a training loop on a GPU machine: step times with and without ticks, compared in pairs.

Needs PyTorch and at least one NVIDIA GPU, and nothing else of the project. A pair is two blocks of equal length; in one
of them, alternately the first and the second, a full tick runs as cron starts it (every probe, one report to a server
on loopback). That is one full tick in `BLOCK_S` seconds of load, where a cluster's default is one in 300.
"""

import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.agent import enrolled_home, installed, make_due, measure, sink

BLOCK_S = 10.0
PAIRS = 24
AS_CRON = ("nice", "-n", "19")
DEFAULT_INTERVAL_S = 300.0

Step = tuple[float, float]


@dataclass(frozen=True)
class Interval:
    """A median with its 95 % interval."""

    middle: float
    low: float
    high: float


@dataclass(frozen=True)
class Blocks:
    """Step times of one pair, in seconds: without and with a tick."""

    without: list[float]
    with_tick: list[float]


class Training:
    """The loop on every GPU of this machine, in processes of its own."""

    def __init__(self, gpus: int, seconds: float) -> None:
        port = _free_port()
        self._ranks = [_rank(number, gpus, port, seconds) for number in range(gpus)]
        self._first = self._ranks[0].stdout
        self.began = float(json.loads(self._line())["began"])

    def steps(self) -> list[Step]:
        """Wait for the end; start and end of every step."""
        steps = [(float(start), float(end)) for start, end in json.loads(self._line())["steps"]]
        for rank in self._ranks:
            rank.wait()
        return steps

    def _line(self) -> str:
        line = self._first.readline() if self._first else ""
        return line or sys.exit("The training loop ended early; its complaint stands above.")


def _rank(number: int, gpus: int, port: int, seconds: float) -> subprocess.Popen[str]:
    place = {"RANK": str(number), "WORLD_SIZE": str(gpus), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    command = [sys.executable, "-m", "benchmarks.training_loop", str(seconds)]
    return subprocess.Popen(command, env=os.environ | place, stdout=subprocess.PIPE, text=True)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def gpus_here() -> int:
    """GPUs as the driver lists them."""
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return 0
    return listed.count("GPU ")


def has_tick(pair: int, block: int) -> bool:
    """Whether a tick runs in that block: first without, then with, then the other way round, so that drift cancels."""
    return block == (1 - pair % 2)


def run_ticks(agent: str, home: Path, began: float) -> list[float]:
    """Start a tick a second into every block that has one; seconds that each took."""
    taken = []
    for pair in range(PAIRS):
        for block in range(2):
            due = began + (2 * pair + block) * BLOCK_S + 1.0
            time.sleep(max(0.0, due - time.perf_counter()))
            if has_tick(pair, block):
                make_due(home)
                taken.append(measure(agent, "tick", "--home", str(home), before=AS_CRON).wall_s)
    return taken


def paired(steps: Sequence[Step], began: float) -> list[Blocks]:
    """The steps that lie within one block, pair by pair."""
    times: dict[int, list[float]] = {}
    for start, end in steps:
        first, last = int((start - began) // BLOCK_S), int((end - began) // BLOCK_S)
        if first == last:
            times.setdefault(first, []).append(end - start)
    pairs = []
    for pair in range(PAIRS):
        both = [times.get(2 * pair + block, []) for block in range(2)]
        ticked = 0 if has_tick(pair, 0) else 1
        if all(both):
            pairs.append(Blocks(without=both[1 - ticked], with_tick=both[ticked]))
    return pairs


def median_interval(values: Sequence[float], draws: int = 10_000) -> Interval:
    """The median and its 95 % interval by the bootstrap, with a fixed seed."""
    chance = random.Random(20261130)
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(draws))
    return Interval(statistics.median(values), medians[int(0.025 * draws)], medians[int(0.975 * draws)])


def show(name: str, differences: Sequence[float]) -> None:
    """One line, in per cent."""
    found = median_interval(differences)
    print(f"{name:<44} {100 * found.middle:+.3f} % (95 %: {100 * found.low:+.3f} to {100 * found.high:+.3f})")


def main() -> None:
    """Measure and print."""
    gpus = gpus_here()
    if not gpus:
        sys.exit("No NVIDIA GPU here: run this on a GPU machine that has PyTorch.")
    with tempfile.TemporaryDirectory() as directory, sink() as server:
        agent, home = installed(Path(directory)), enrolled_home(Path(directory) / "home", server.url)
        measure(agent, "tick", "--home", str(home))
        training = Training(gpus, 2 * PAIRS * BLOCK_S + 5.0)
        ticks = run_ticks(agent, home, training.began)
        pairs = paired(training.steps(), training.began)
    report(gpus, pairs, ticks)


def report(gpus: int, pairs: Sequence[Blocks], ticks: Sequence[float]) -> None:
    """The figures."""
    usual = statistics.median(one for pair in pairs for one in pair.without)
    print(f"{gpus} GPUs, {len(pairs)} pairs of {BLOCK_S:g} s, step {1000 * usual:.2f} ms without ticks")
    print(f"full tick under load: median {1000 * statistics.median(ticks):.0f} ms, longest {1000 * max(ticks):.0f} ms")
    means = [statistics.fmean(one.with_tick) / statistics.fmean(one.without) - 1 for one in pairs]
    show("median step, one full tick a block", [
        statistics.median(one.with_tick) / statistics.median(one.without) - 1 for one in pairs
    ])  # fmt: skip
    show("mean step, one full tick a block", means)
    share = BLOCK_S / DEFAULT_INTERVAL_S
    show("mean step, one full tick each 300 s (goal: <= 0.1 %)", [share * one for one in means])


if __name__ == "__main__":
    main()
