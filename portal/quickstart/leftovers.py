"""What an earlier PostgreSQL, killed without warning, left in its data directory.

PostgreSQL refuses to start when ``postmaster.pid`` names a process id that is in use, whoever uses it now. The file is
stale unless that process is a postgres working in this very directory. Orphaned backends still write for a moment
after their postmaster died: nothing is removed before they are gone.
"""

import contextlib
import os
import signal
import time
from pathlib import Path

from portal.quickstart.errors import QuickstartError

PROC = Path("/proc")
PATIENCE = 10.0  # seconds: a killed postmaster may hold its process id as a zombie for about 2


def clear_leftovers(data: Path, *, patience: float = PATIENCE) -> None:
    """Wait for (and end) an earlier server of *data*, then remove its pid file.

    Raises:
        QuickstartError: it is still running after *patience* seconds.
    """
    pid_file = data / "postmaster.pid"
    deadline = time.monotonic() + patience
    while running := servers_of(data):
        if time.monotonic() > deadline:
            pids = ", ".join(str(pid) for pid in sorted(running))
            raise QuickstartError(f"Another PostgreSQL still works in {data} (process {pids}): stop it and try again.")
        postmaster = recorded_pid(pid_file)
        if postmaster in running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(postmaster, signal.SIGINT)
        time.sleep(0.1)
    if PROC.is_dir():
        pid_file.unlink(missing_ok=True)


def servers_of(data: Path) -> frozenset[int]:
    """Process ids of the postgres programs that work in *data*; a zombie has no directory and does not count."""
    return frozenset(int(entry.name) for entry in PROC.glob("[0-9]*") if _is_postgres_in(entry, data))


def recorded_pid(pid_file: Path) -> int:
    """The process id in the file's first line; 0 when there is none."""
    try:
        first = pid_file.read_text(encoding="ascii", errors="replace").partition("\n")[0]
    except FileNotFoundError:
        return 0
    return int(first) if first.strip().isdigit() else 0


def _is_postgres_in(process: Path, data: Path) -> bool:
    try:
        program = (process / "exe").readlink().name.removesuffix(" (deleted)")
        return program == "postgres" and (process / "cwd").samefile(data)
    except OSError:
        return False
