"""Captures as files: one ``tar.gz`` (or its unpacked directory) with an index and the raw texts beside it."""

from __future__ import annotations

import io
import json
import os
from typing import Any, Callable, Dict, Protocol, Sequence, Tuple

from readiness_agent import __version__
from readiness_agent.errors import usage_error
from readiness_agent.node import Moment, stored_moment
from readiness_agent.recording import OK
from readiness_agent.replaying import Capture, RecordedSnapshot
from readiness_agent.source import ProbeContext

FORMAT = 1
INDEX = "index.json"
MAX_CAPTURE_BYTES = 256 * 1024 * 1024
MAX_OVERHEAD_BYTES = 16 * 1024 * 1024
TOO_LARGE = "it holds more than 256 MiB"

SETTINGS = ("training_python", "training_image", "rendezvous")
"""What a capture keeps of the node's configuration beside its ``context``; captures of older agents hold none."""

LATEST = 253_402_300_800.0
"""Unix seconds at the end of the year 9999: what a date can be written for."""

UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, EOFError, RecursionError)
"""What reading something else than a capture, or one made to harm, ends in."""


class Redact(Protocol):
    """Takes out of a text what must not leave the machine."""

    def __call__(self, text: str, path: str = "") -> str:
        """*text* without that; *path* is the file that holds it."""
        ...


def write_capture(
    path: str,
    moment: Moment,
    hostname: str,
    context: ProbeContext,
    records: Sequence[Dict[str, Any]],
    redact: Redact,
) -> int:
    """Write what was recorded as one archive; the number of entries. *redact* sees every text that goes in."""
    texts: Dict[str, bytes] = {}
    latest = {(record["kind"], record["key"]): record for record in records}
    entries = [_entry(number, record, texts, redact) for number, record in enumerate(latest.values())]
    clocks = {"captured_at": moment.unix, "boottime": moment.boottime, "boot_id": redact(moment.boot_id)}
    snapshot = {**clocks, "entries": entries}
    index = {
        "format": FORMAT,
        "agent_version": __version__,
        "hostname": hostname,
        "context": [context.job_user, redact(context.checkpoint_dir) if context.checkpoint_dir else None],
        "settings": {name: redact(set_to) for name in SETTINGS if (set_to := getattr(context, name))},
        "snapshots": [snapshot],
    }
    _write_archive(path, {INDEX: json.dumps(index, indent=1).encode(), **texts}, moment.unix)
    return len(entries)


def read_capture(path: str) -> Capture:
    """Read an archive, its unpacked directory, or a directory of loose outputs.

    Raises:
        AgentError: exit 64, when it is none of these.
    """
    try:
        return _read(path)
    except UNREADABLE as error:
        raise usage_error(
            f"{path} is not a capture ({type(error).__name__}: {error}); see `readiness-agent capture`"
        ) from None


def _read(path: str) -> Capture:
    if os.path.isdir(path) and not os.path.exists(os.path.join(path, INDEX)):
        from readiness_agent.loose import read_loose

        return read_loose(path)
    texts = _directory_reader(path) if os.path.isdir(path) else _archive_reader(path)
    return _decode(json.loads(texts(INDEX)), texts)


def _entry(number: int, record: Dict[str, Any], texts: Dict[str, bytes], redact: Redact) -> Dict[str, Any]:
    """One line of the index; long texts go to files of their own."""
    entry = {key: record[key] for key in ("kind", "key", "captured_at", "outcome")}
    entry["key"] = redact(record["key"])
    if record["outcome"] != OK:
        return {**entry, "detail": redact(str(record["detail"]))}
    if record["kind"] == "read":
        entry["file"] = _put(texts, f"files{entry['key']}", redact(record["value"], record["key"]))
    elif record["kind"] == "run":
        exit_code, stdout, stderr, seconds = record["value"]
        entry.update(argv=json.loads(entry["key"]), exit_code=exit_code, seconds=seconds)
        entry["stdout"] = _put(texts, f"commands/{number:03d}.stdout", redact(stdout))
        entry["stderr"] = _put(texts, f"commands/{number:03d}.stderr", redact(stderr))
    else:
        entry["value"] = _redacted(record["value"], redact)
    return entry


def _redacted(value: Any, redact: Redact) -> Any:
    """Every text in *value*, first by itself, since quotes inside it are escaped in JSON, then with its name."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_redacted(one, redact) for one in value]
    if isinstance(value, dict):
        inner = {name: _redacted(one, redact) for name, one in value.items()}
        named: Dict[str, Any] = json.loads(redact(json.dumps(inner)))
        return named
    return value


def _put(texts: Dict[str, bytes], name: str, text: str) -> str:
    texts[name] = text.encode("utf-8", "replace")
    return name


def _write_archive(path: str, files: Dict[str, bytes], when: float) -> None:
    import tarfile

    target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(target, "wb") as out, tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.mode = len(content), int(when), 0o600
            archive.addfile(member, io.BytesIO(content))


def _archive_reader(path: str) -> Callable[[str], str]:
    """Reads the archive into memory: nothing of a stranger's archive is ever written to this disk."""
    import gzip
    import tarfile
    import zlib

    try:
        with gzip.open(path) as unpacked:
            stream: Any = _Bounded(unpacked)
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                contents = _members(archive)
    except (tarfile.TarError, zlib.error) as error:
        raise ValueError(str(error)) from error
    return lambda name: contents[name].decode("utf-8", "replace")


def _members(archive: Any) -> Dict[str, bytes]:
    contents, left = {}, MAX_CAPTURE_BYTES
    for member in archive:
        if not member.isreg() or member.issparse():  # a sparse one is as large as it says it is
            continue
        left -= member.size
        if left < 0:
            raise ValueError(TOO_LARGE)
        contents[member.name] = archive.extractfile(member).read()
    return contents


class _Bounded:
    """A stream that refuses to unpack to more than a capture may hold, headers and what is skipped included."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._left = MAX_CAPTURE_BYTES + MAX_OVERHEAD_BYTES

    def read(self, size: int) -> bytes:
        """At most *size* bytes."""
        piece: bytes = self._stream.read(min(size, self._left + 1))
        self._left -= len(piece)
        if self._left < 0:
            raise ValueError(TOO_LARGE)
        return piece


def _directory_reader(path: str) -> Callable[[str], str]:
    root = os.path.realpath(path)

    def read(name: str) -> str:
        inside = os.path.realpath(os.path.join(root, name))
        if not inside.startswith(root + os.sep):
            raise ValueError(f"the index names a file outside of the capture: {name}")
        with open(inside, "rb") as file:
            text = file.read(MAX_CAPTURE_BYTES + 1)
        if len(text) > MAX_CAPTURE_BYTES:
            raise ValueError(TOO_LARGE)
        return text.decode("utf-8", "replace")

    return read


def _decode(index: Dict[str, Any], text: Callable[[str], str]) -> Capture:
    if index["format"] != FORMAT:
        raise ValueError(f"format {index['format']} is not known to agent {__version__}")
    snapshots = [_snapshot(one, text) for one in index["snapshots"]]
    if not snapshots:
        raise ValueError("it holds no snapshot")
    snapshots.sort(key=lambda snapshot: snapshot.moment.unix)
    return Capture(tuple(snapshots), _context(index), str(index["hostname"]))


def _context(index: Dict[str, Any]) -> ProbeContext:
    job_user, checkpoint_dir = index["context"]
    told = index.get("settings", {})
    python, image, rendezvous = (str(told[name]) if name in told else None for name in SETTINGS)
    return ProbeContext(job_user, checkpoint_dir, training_python=python, training_image=image, rendezvous=rendezvous)


def _snapshot(raw: Dict[str, Any], text: Callable[[str], str]) -> RecordedSnapshot:
    moment = stored_moment([raw["captured_at"], raw["boottime"], raw["boot_id"]])
    if moment is None or not 0 <= moment.unix < LATEST or moment.boottime < 0:
        raise ValueError("a snapshot says no time at which it can have been taken")
    return RecordedSnapshot(moment, [_record(entry, text) for entry in raw["entries"]])


def _record(entry: Dict[str, Any], text: Callable[[str], str]) -> Dict[str, Any]:
    if entry["outcome"] != OK or "value" in entry:
        return entry
    if entry["kind"] == "read":
        return {**entry, "value": text(entry["file"])}
    value: Tuple[Any, ...] = (entry["exit_code"], text(entry["stdout"]), text(entry["stderr"]), entry["seconds"])
    return {**entry, "value": value}
