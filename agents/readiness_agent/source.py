"""The only way a probe sees the world: files, commands and system calls, live or from a capture.

Every method answers, or raises :class:`~readiness_agent.facts.CouldNotMeasure` with the reason. On a replayed
capture, what was not saved raises ``not_captured``: it never looks absent or empty.
"""

from __future__ import annotations

import errno
import os
import stat as stat_bits
import time
from io import FileIO
from typing import Callable, Dict, List, NamedTuple, Optional, Protocol, Sequence, Tuple, Union

from readiness_agent.facts import DENIED, ERROR, MISSING, NOT_CAPTURED, UNREADABLE, CouldNotMeasure, ProbeResult

Json = Union[None, bool, int, float, str, List["Json"], Dict[str, "Json"]]

MAX_FILE_BYTES = 8 * 1024 * 1024
"""No file a probe reads is longer; what is longer is unreadable, since half of it could pass for all."""

PIECE_BYTES = 64 * 1024

COMMAND_DEADLINE = 8.0
"""Seconds a command may take unless its probe says otherwise; the whole tick has 20."""

JOB_LIMITS = "/proc/job/limits"
"""Where a capture keeps the limits of the job that ran, when its pid is not known. Missing on a live system."""


class CommandResult(NamedTuple):
    """One finished command. A command that hangs, is missing or denied raises instead."""

    argv: Tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str
    seconds: float


class FileStat(NamedTuple):
    """The part of ``os.stat`` that means the same on another machine."""

    mode: int
    size: int
    uid: int
    mtime: float

    @property
    def is_directory(self) -> bool:
        return stat_bits.S_ISDIR(self.mode)


class Source(Protocol):
    """What a probe may ask. Text is decoded as UTF-8 with replacement, so no byte can stop a parser."""

    def now_boottime(self) -> float:
        """CLOCK_BOOTTIME seconds of the measured boot (of the snapshot, in a replay)."""
        ...

    def now_unix(self) -> float:
        """Wall clock of the measured node: only to compare with times in its files."""
        ...

    def read(self, path: str) -> str:
        """The text of one file."""
        ...

    def listdir(self, path: str) -> List[str]:
        """Sorted names in a directory."""
        ...

    def glob(self, pattern: str) -> List[str]:
        """Sorted paths that match; an empty list means: looked, and there is none."""
        ...

    def exists(self, path: str) -> bool:
        """Whether the path is there; raises when that cannot be known."""
        ...

    def stat(self, path: str) -> FileStat:
        """Mode, size, owner and time of a path, links followed."""
        ...

    def readlink(self, path: str) -> str:
        """Where a symbolic link points."""
        ...

    def run(self, argv: Sequence[str], deadline: float = COMMAND_DEADLINE) -> CommandResult:
        """Run one command (an argument list, never a shell line); any exit code is an answer."""
        ...

    def call(self, name: str, function: Callable[[], Json]) -> Json:
        """The answer of a system or library call that is neither file nor command.

        *function* runs only on a live system; *name* (``adjtimex``, ``nvml``, ``statvfs /data``) is the key in a
        capture. It may raise ``OSError`` or ``CouldNotMeasure``.
        """
        ...


class ProbeContext(NamedTuple):
    """What the node's own configuration says to probes; the portal cannot set any of it."""

    job_user: Optional[str] = None
    checkpoint_dir: Optional[str] = None
    allow_disruptive: bool = False
    is_known: bool = True
    """False for a capture that does not hold the captured node's configuration: what is not set was not captured."""
    memory_dir: Optional[str] = None
    """Directory in which a probe may keep what it saw on an earlier tick; None: nothing is remembered."""
    training_python: Optional[str] = None
    """The Python interpreter of the training environment."""
    training_image: Optional[str] = None
    """The container image that jobs of this node run in, as the container engine knows it."""
    rendezvous: Optional[str] = None
    """Where ranks meet: ``HOST``, or ``HOST:PORT``."""


def not_configured(context: ProbeContext, setting: str) -> CouldNotMeasure:
    """Why a *setting* that a probe needs is not there: nobody set it, or a capture does not hold what was set."""
    if context.is_known:
        return CouldNotMeasure(MISSING, f"agent.json names no {setting}")
    return CouldNotMeasure(NOT_CAPTURED, f"{setting} of agent.json: not in this capture")


class Probe(NamedTuple):
    """A subject that is measured in one go. ``readiness_agent.probes.PROBES`` is the tuple of all of them.

    ``cadence`` is ``tick`` or ``daily``: run when the plan lists one of ``items``. ``run`` means that the plan does
    not schedule it and that it rides with every full tick. A probe may also cover items of another cadence that it
    measures on the way; they are reported whenever it runs.
    """

    name: str
    items: Tuple[str, ...]
    cadence: str
    run: Callable[[Source, ProbeContext], ProbeResult]
    deadline: float = 12.0
    """Seconds for all of it, after which its processes are ended and its items are ``hung``."""


def from_os_error(error: OSError, what: str) -> CouldNotMeasure:
    """Say in our words why the system refused *what*."""
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO):
        return CouldNotMeasure(MISSING, f"{what}: not there")
    if error.errno in (errno.EACCES, errno.EPERM):
        return CouldNotMeasure(DENIED, f"{what}: not allowed for this user")
    if error.errno in (errno.EIO, errno.EINVAL, errno.EISDIR):
        return CouldNotMeasure(UNREADABLE, f"{what}: {reason}")
    return CouldNotMeasure(ERROR, f"{what}: {reason}")


def _read_in_pieces(file: FileIO) -> bytes:
    """Up to ``MAX_FILE_BYTES``. Files below ``/proc/sys`` refuse one large read for want of memory."""
    pieces, left = [], MAX_FILE_BYTES
    while left > 0:
        piece = file.read(min(PIECE_BYTES, left))
        if not piece:
            break
        pieces.append(piece)
        left -= len(piece)
    if left == 0 and file.read(1):
        raise CouldNotMeasure(UNREADABLE, f"{file.name}: longer than {MAX_FILE_BYTES // 1024 // 1024} MiB")
    return b"".join(pieces)


class LiveSource:
    """This machine, now.

    ``stuck`` collects the pid and start time of every command that ignored KILL; ``records`` stays empty here.
    """

    def __init__(self) -> None:
        self.stuck: List[Tuple[int, int]] = []
        self.records: List[Dict[str, Json]] = []

    def now_boottime(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def now_unix(self) -> float:
        return time.time()

    def read(self, path: str) -> str:
        try:
            with open(path, "rb", buffering=0) as file:
                return _read_in_pieces(file).decode("utf-8", "replace")
        except OSError as error:
            raise from_os_error(error, path) from error

    def listdir(self, path: str) -> List[str]:
        try:
            return sorted(os.listdir(path))
        except OSError as error:
            raise from_os_error(error, path) from error

    def glob(self, pattern: str) -> List[str]:
        import glob

        found = sorted(glob.glob(pattern))
        if not found:
            self._require_searchable(pattern)
        return found

    def exists(self, path: str) -> bool:
        try:
            os.stat(path)
        except OSError as error:
            reason = from_os_error(error, path)
            if reason.kind == MISSING:
                return False
            raise reason from error
        return True

    def stat(self, path: str) -> FileStat:
        try:
            found = os.stat(path)
        except OSError as error:
            raise from_os_error(error, path) from error
        return FileStat(found.st_mode, found.st_size, found.st_uid, found.st_mtime)

    def readlink(self, path: str) -> str:
        try:
            return os.readlink(path)
        except OSError as error:
            raise from_os_error(error, path) from error

    def run(self, argv: Sequence[str], deadline: float = COMMAND_DEADLINE) -> CommandResult:
        from readiness_agent.command import Hung, run_command

        try:
            return run_command(argv, deadline)
        except Hung as error:
            self.stuck += error.stuck
            raise

    def call(self, name: str, function: Callable[[], Json]) -> Json:
        try:
            return function()
        except OSError as error:
            raise from_os_error(error, name) from error
        except CouldNotMeasure as error:
            self.stuck += getattr(error, "stuck", ())  # of a command that the call ran
            raise

    def _require_searchable(self, pattern: str) -> None:
        """Nothing found counts as nothing there only when the directory could be searched."""
        directory = os.path.dirname(pattern.partition("*")[0].partition("?")[0].partition("[")[0])
        try:
            os.listdir(directory or ".")
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise from_os_error(error, directory) from error
