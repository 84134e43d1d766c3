"""What the node agent costs a node: time, CPU, memory, bytes; against the bare start of Python with one POST.

Every run is a fresh process of the agent as ``install.sh`` leaves it: unpacked and compiled. The other side is a server
on loopback that accepts everything, so the figures are the agent's and not a portal's.
"""

import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent
ROUNDS = 15

TELL_PEAK = """
import atexit, pathlib, runpy, sys
peak = lambda: next(l.split()[1] for l in pathlib.Path("/proc/self/status").read_text().splitlines() if "VmHWM" in l)
atexit.register(lambda: print("peak", peak(), file=sys.stderr))
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""The process tells its own peak: ``ru_maxrss`` would count the memory of the one that started it."""

BARE = """
import http.client, sys
host, port = sys.argv[1].rpartition("/")[2].split(":")
connection = http.client.HTTPConnection(host, int(port))
connection.request("POST", "/bare", body=b"x" * 10_000)
connection.getresponse().read()
"""
"""What any agent in Python pays at least."""


@dataclass(frozen=True)
class Cost:
    """Of one process and all that it waited for."""

    wall_s: float
    cpu_s: float


class Sink(ThreadingHTTPServer):
    """Accepts every report and hands out one plan."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[bytes] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Sink

    def do_GET(self) -> None:
        self._answer(200, {"schemas": [1], "interval": 300, "poll_after": 60})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/api/v1/reports":
            self._answer(200, {})
            return
        self.server.bodies.append(body)
        self._answer(202, {"report_id": json.loads(gzip.decompress(body))["report_id"], "verdicts": []})

    def _answer(self, status: int, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silence: a line a request would be measured, too."""


@contextmanager
def sink() -> Iterator[Sink]:
    """A running sink."""
    server = Sink()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def measure(*command: str, environment: dict[str, str] | None = None, before: tuple[str, ...] = ()) -> Cost:
    """Run *command* once, after the words *before* it; CPU time is that of its whole tree, as ``wait4`` tells it."""
    started = time.perf_counter()
    process = subprocess.Popen([*before, sys.executable, "-I", *command], stdout=subprocess.DEVNULL, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command[0]} ended with {process.returncode}")
    return Cost(wall, used.ru_utime + used.ru_stime)


def enrolled_home(directory: Path, url: str) -> Path:
    """The files of a node that enrolled at *url*."""
    directory.mkdir(mode=0o700)
    (directory / "agent.json").write_text(json.dumps({"portal": url, "cluster": "bench", "hostname": "bench-1"}))
    (directory / "token").write_text("cs_agent_bench_bench\n")
    for file in directory.iterdir():
        file.chmod(0o600)
    return directory


def cold_ticks(agent: str, place: Path, url: str) -> list[Cost]:
    """Ticks of nodes that never ticked: every probe, the plan, a full and a daily report."""
    return [measure(agent, "tick", "--home", str(enrolled_home(place / f"cold-{n}", url))) for n in range(ROUNDS)]


def idle_ticks(agent: str, place: Path, url: str) -> list[Cost]:
    """Ticks in which nothing is due: what cron starts four minutes of five."""
    home = str(enrolled_home(place / "idle", url))
    measure(agent, "tick", "--home", home)
    return [measure(agent, "tick", "--home", home) for _ in range(ROUNDS)]


def full_ticks(agent: str, place: Path, url: str) -> tuple[list[Cost], list[Cost]]:
    """What cron starts each fifth minute: every probe of the tick and one report; the plan is held already.

    By turns with what any agent in Python pays at least, which comes first.
    """
    home = enrolled_home(place / "full", url)
    measure(agent, "tick", "--home", str(home))
    bare, full = [], []
    for _ in range(ROUNDS):
        bare.append(measure("-c", BARE, url))
        make_due(home)
        full.append(measure(agent, "tick", "--home", str(home)))
    return bare, full


def make_due(home: Path) -> None:
    """As if the last tick had been long ago."""
    path = home / "state" / "state.json"
    state = json.loads(path.read_text())
    del state["moments"]["tick"]
    path.write_text(json.dumps(state))


def peak_mib(agent: str, place: Path, url: str) -> float:
    """Peak memory of a cold tick's own process."""
    home = str(enrolled_home(place / "peak", url))
    command = [sys.executable, "-I", "-c", TELL_PEAK, agent, "tick", "--home", home]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stderr.rpartition("peak ")[2]) / 1024


def installed(place: Path) -> str:
    """The agent as ``install.sh`` leaves it."""
    pyz, unpacked = place / "readiness-agent.pyz", place / "agent"
    build = [sys.executable, str(CHECKOUT / "agents" / "build_pyz.py"), "-o", str(pyz)]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([sys.executable, "-m", "zipfile", "-e", str(pyz), str(unpacked)], check=True)
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(unpacked)], check=True)
    return str(unpacked)


def hung_tick(agent: str, place: Path, url: str) -> Cost:
    """A tick while ``nvidia-smi`` never answers and ignores TERM."""
    tools = place / "tools"
    tools.mkdir()
    (tools / "nvidia-smi").write_text("#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 1; done\n")
    (tools / "nvidia-smi").chmod(0o755)
    home = str(enrolled_home(place / "hung", url))
    return measure(agent, "tick", "--home", home, environment={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})


def show(name: str, costs: list[Cost], goal: str) -> None:
    """One line: median and 95th percentile of wall time, medians of the rest."""
    walls = sorted(cost.wall_s for cost in costs)
    cpu = statistics.median(cost.cpu_s for cost in costs)
    p95 = walls[min(len(walls) - 1, round(0.95 * len(walls)))]
    print(
        f"{name:<34} wall {statistics.median(walls) * 1000:6.0f} ms (p95 {p95 * 1000:6.0f})  "
        f"CPU {cpu * 1000:5.0f} ms  {goal}"
    )


def main() -> None:
    """Measure and print."""
    from benchmarks.machine import describe  # here: `benchmarks.steps` uses the rest where there is no Django

    print(describe())
    with tempfile.TemporaryDirectory() as directory, sink() as server:
        place = Path(directory)
        agent = installed(place)
        bare, full = full_ticks(agent, place, server.url)
        show("python3 -I, start and one POST", bare, "")
        show("cold tick, plan and 2 reports", cold_ticks(agent, place, server.url), "goal: p95 < 2000 ms, CPU < 500 ms")
        show("full tick", full, "")
        show("tick with nothing due", idle_ticks(agent, place, server.url), "")
        largest = max(server.bodies, key=len)
        show("cold tick while nvidia-smi hangs", [hung_tick(agent, place, server.url)], "goal: < 20000 ms")
        print(f"peak memory of a cold tick: {peak_mib(agent, place, server.url):.1f} MiB (goal: < 32)")
    ratio = statistics.median(one.cpu_s for one in full) / statistics.median(one.cpu_s for one in bare)
    print(f"CPU of a full tick / bare start and POST: {ratio:.1f} (goal: <= 3.5)")
    facts = len(json.loads(gzip.decompress(largest))["facts"])
    print(f"largest report: {len(largest)} bytes gzipped for {facts} facts (goal: < 10 kB for 60)")


if __name__ == "__main__":
    main()
