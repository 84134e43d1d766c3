"""Small files that survive a crash: written whole or not at all, readable by the agent's user only."""

from __future__ import annotations

import json
import os
from typing import Any, Dict


def write_bytes(path: str, content: bytes, mode: int = 0o600) -> None:
    """Write *content* so that a reader, or a power cut, sees all of the old or all of the new."""
    temporary = f"{path}.{os.getpid()}.tmp"
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
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


def write_json(path: str, value: Dict[str, Any]) -> None:
    """Write a JSON object, whole or not at all."""
    write_bytes(path, json.dumps(value, sort_keys=True).encode())


def read_json(path: str) -> Dict[str, Any]:
    """The JSON object in a file of the agent's own; an empty one when the file is absent or damaged.

    Only for files the agent can do without: what is lost is measured, asked or counted again.
    """
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def make_private_directory(path: str) -> None:
    """Create a directory that only its owner may enter; one that exists is left as it is."""
    os.makedirs(path, mode=0o700, exist_ok=True)


def json_bytes(value: Any) -> bytes:
    """Compact JSON; refuses NaN and infinities, which are no JSON."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


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
