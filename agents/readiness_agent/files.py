"""Small files that survive a crash: written whole or not at all, readable by the agent's user only."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import zlib
from typing import Any, Dict

MAX_OWN_BYTES = 16 * 1024 * 1024
"""A longer file is none that the agent wrote."""

MEMORY = "/dev/shm"  # noqa: S108  files of others there are neither read nor written

TEMPORARY = ".tmp"
LEFTOVER = re.compile(r"\.json\.([0-9]+)(?:\.tmp)?\Z")
"""A file that a process, named by its number, had begun to write: the agent's, or a probe's memory."""


def write_bytes(path: str, content: bytes, mode: int = 0o600) -> None:
    """Write *content* so that a reader, or a power cut, sees all of the old or all of the new."""
    temporary = f"{path}.{os.getpid()}{TEMPORARY}"
    _remove_if_there(temporary)
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(file, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, path)
    except OSError:
        _remove_if_there(temporary)
        raise
    _sync_directory(os.path.dirname(path) or ".")


def write_json(path: str, value: Dict[str, Any]) -> bool:
    """Write a JSON object, whole or not at all: to *path*, or into memory when the disk is full or read-only.

    Returns:
        Whether it lies on the disk.

    Raises:
        OSError: it lies nowhere.
    """
    content, in_memory = json.dumps(value, sort_keys=True).encode(), place_in_memory(path)
    try:
        write_bytes(path, content)
    except OSError:
        write_bytes(in_memory, content)
        return False
    if _is_own(in_memory):
        os.unlink(in_memory)
    return True


def read_json(path: str) -> Dict[str, Any]:
    """The JSON object last written to *path*; an empty one when there is none, or a damaged one.

    Only for files the agent can do without: what is lost is measured, asked or counted again.
    """
    in_memory = place_in_memory(path)
    try:
        with open(in_memory if _is_own(in_memory) else path, "rb") as file:
            value = json.loads(file.read(MAX_OWN_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def section(document: Dict[str, Any], name: str) -> Dict[str, Any]:
    """An object inside *document*, to read and to fill; made anew when there is none, or something else."""
    found = document.get(name)
    if not isinstance(found, dict):
        found = document[name] = {}
    return found


def place_in_memory(path: str) -> str:
    """Where *path* lies while its disk takes nothing: the same place for every process of this user."""
    return f"{MEMORY}/readiness-agent-{os.geteuid()}-{zlib.crc32(os.path.abspath(path).encode()):08x}"


def open_own(path: str) -> int:
    """Open a file of this user's, made if need be; raises OSError for one that somebody else put there."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    if os.fstat(file).st_uid != os.geteuid():
        os.close(file)
        raise PermissionError(errno.EPERM, f"{path} belongs to another user")
    return file


def make_private_directory(path: str) -> None:
    """Create a directory that only its owner may enter; one that exists is left as it is."""
    os.makedirs(path, mode=0o700, exist_ok=True)


def remove_leftovers(directory: str) -> None:
    """Delete what processes that are no more left half written."""
    for name in os.listdir(directory):
        left = LEFTOVER.search(name)
        if left and not os.path.exists(f"/proc/{left[1]}"):
            os.unlink(os.path.join(directory, name))


def json_bytes(value: Any) -> bytes:
    """Compact JSON; refuses NaN and infinities, which are no JSON."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def _is_own(path: str) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()


def _sync_directory(path: str) -> None:
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _remove_if_there(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # the error that brought us here is the one to tell
