"""Child processes that never outlive their parent.

Each runs in a process group of its own, so that it can be ended with all that it started; the kernel signals it when
the parent dies, even by ``kill -9``; and it is reaped here, so that no zombie keeps its process id.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from portal.quickstart.unprivileged import Identity

_SETPRIV = ("setpriv", "--pdeathsig")
# prctl(PR_SET_PDEATHSIG, signal), then the program itself in our place.
_ASK_AND_BECOME = (
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, int(sys.argv[1])); os.execvp(sys.argv[2], sys.argv[2:])"
)
LOG_LIMIT = 10 * 1024 * 1024  # bytes; a longer log is set aside at the next start


class Child:
    """One running program with its log."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str],
        identity: Identity = Identity(),  # noqa: B008  (immutable)
        stop_signal: signal.Signals = signal.SIGTERM,
    ) -> None:
        self.log = log
        self.stop_signal = stop_signal
        _set_aside(log)
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [*identity.prefix, *_dies_with_us(stop_signal), *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                start_new_session=True,
                user=identity.uid,
                group=identity.uid,
                extra_groups=None if identity.uid is None else [],
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """``None`` while it runs; negative when a signal ended it."""
        return self._process.poll()

    def wait(self, seconds: float) -> None:
        """Wait until it ends, at most *seconds*."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def ask_to_stop(self) -> None:
        """Send the stop signal, without waiting."""
        if self.exit_status is None:
            self._process.send_signal(self.stop_signal)

    def stop(self, *, patience: float = 10.0) -> None:
        """End it and all that it started; after *patience* seconds without asking."""
        self.ask_to_stop()
        self.wait(patience)
        self.sweep_group()
        self._process.wait()

    def sweep_group(self) -> None:
        """End what is left of the process group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def last_words(self) -> str:
        """The last line of the log."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return lines[-1].strip() if lines else "it said nothing"


def _dies_with_us(stop_signal: signal.Signals) -> tuple[str, ...]:
    """The kernel sends *stop_signal* when we die: util-linux's setpriv asks for that, a few lines of Python where there
    is none (or busybox's, which knows no such option); macOS has no such thing.
    """
    if _setpriv_knows_how():
        return (*_SETPRIV, stop_signal.name.removeprefix("SIG"))
    if sys.platform != "linux":
        return ()
    return (sys.executable, "-I", "-c", _ASK_AND_BECOME, str(int(stop_signal)))


@cache
def _setpriv_knows_how() -> bool:
    if shutil.which(_SETPRIV[0]) is None:
        return False
    return subprocess.run([*_SETPRIV, "TERM", "true"], capture_output=True, check=False).returncode == 0


def _set_aside(log: Path) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size > LOG_LIMIT:
        log.replace(log.with_suffix(".log.1"))
