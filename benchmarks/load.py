"""HTTP load from wrk: one thread on the same cores, only against a loopback address, bounded in time."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

LOOPBACK = {"127.0.0.1", "localhost", "::1"}
LONGEST_SECONDS = 30
UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0}


class NoLoadTool(SystemExit):
    """wrk is not installed."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one run of wrk saw: answers, answers other than 2xx and 3xx, seconds, and latencies in milliseconds."""

    requests: int
    errors: int
    seconds: float
    p50_ms: float
    p99_ms: float

    @property
    def per_second(self) -> float:
        return self.requests / self.seconds


def load(
    url: str, *, connections: int, seconds: int, script: Path | None = None, headers: tuple[str, ...] = ()
) -> Result:
    """Ask *url* with *connections* at once for *seconds*.

    Raises:
        NoLoadTool: wrk is missing; the message says how to install it.
        ValueError: the address is not a loopback address, or the time is not bounded to 30 s.
    """
    if urlsplit(url).hostname not in LOOPBACK or not 0 < seconds <= LONGEST_SECONDS:
        raise ValueError(
            f"Load goes to a loopback address for at most {LONGEST_SECONDS} s, not to {url} for {seconds} s."
        )
    if shutil.which("wrk") is None:
        raise NoLoadTool("wrk is not installed: apt-get install wrk")
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "--timeout", "20s"]
    for header in headers:
        command += ["-H", header]
    if script is not None:
        command += ["-s", str(script)]
    said = subprocess.run([*command, url], capture_output=True, text=True, check=True, timeout=seconds + 30).stdout
    return _read(said)


def _read(said: str) -> Result:
    requests, seconds = re.search(r"(\d+) requests in ([\d.]+)s", said).groups()  # type: ignore[union-attr]
    wrong = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    broken = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", said)
    errors = int(wrong[1]) if wrong else 0
    errors += sum(map(int, broken.groups())) if broken else 0
    return Result(int(requests), errors, float(seconds), _latency(said, "50%"), _latency(said, "99%"))


def _latency(said: str, percentile: str) -> float:
    number, unit = re.search(rf"{percentile}\s+([\d.]+)(us|ms|s)", said).groups()  # type: ignore[union-attr]
    return float(number) * UNITS[unit]
