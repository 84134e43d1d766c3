"""Whether the gate is answered while a whole fleet reports within one second, and how soon all is stored.

The portal is served as ``make run`` and the container serve it. ``manage.py fleet simulate --herd --known`` enrols the
fleet, lets each node measure once, sends one round of reports within a second, one in ten of them twice, and asks the
gate four times a second meanwhile; it ends with an error when a report was lost or doubled, or an answer wrong. Sender
and portal share the cores.
"""

import os
import re
import subprocess
import sys
import time

from benchmarks.machine import describe
from benchmarks.portal import CHECKOUT, database, served
from benchmarks.replicas import load_our_catalogue
from benchmarks.results import Figure, show

AGENTS = int(os.environ.get("HERD_AGENTS", "4096"))
MOST_GATE_MS, MOST_STORED_MS = 250, 10_000


def main() -> None:
    """Run and print."""
    print(f"herd · {describe()}")
    with database() as postgres:
        load_our_catalogue()
        with served(postgres) as bench:
            said = _simulate(bench.url)
    stored, answered = re.findall(r"until (?:accepted|answered): .*?p99 (\d+) ms, longest (\d+) ms", said)
    lost = re.search(r"(\d+) reports: (\d+) lost, (\d+) doubled", said)
    asked = re.search(r"(\d+) gate questions: (\d+) wrong answers, (\d+) not answered", said)
    if lost is None or asked is None:
        raise SystemExit(said)
    show(
        "herd",
        [
            Figure(f"gate p99 during a herd of {AGENTS:,} agents", float(answered[0]), "ms", most=MOST_GATE_MS),
            Figure("gate answers that were wrong", float(asked[2]), f"of {asked[1]}", most=0),
            Figure("reports lost or doubled", float(lost[2]) + float(lost[3]), f"of {lost[1]}", most=0),
            Figure("until the last report was stored", float(stored[1]), "ms", most=MOST_STORED_MS),
        ],
    )


def _simulate(url: str) -> str:
    command = [sys.executable, "manage.py", "fleet", "simulate", f"--agents={AGENTS}", "--rounds=1", "--herd",
               "--known", "--faults=0.05", "--skew=600", "--keep", f"--portal={url}"]  # fmt: skip
    done = subprocess.run(command, cwd=CHECKOUT, env=dict(os.environ), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return done.stdout


if __name__ == "__main__":
    started = time.monotonic()
    main()
    print(f"  took {time.monotonic() - started:.0f} s")
