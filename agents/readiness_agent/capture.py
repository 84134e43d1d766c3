"""Captures as files: one ``tar.gz`` (or its unpacked directory) with an index and the raw texts beside it."""

from __future__ import annotations

import io
import json
import os
from typing import Any, Callable, Dict, Sequence, Tuple

from readiness_agent import __version__
from readiness_agent.errors import usage_error
from readiness_agent.node import Moment
from readiness_agent.recording import OK
from readiness_agent.replaying import Capture, RecordedSnapshot
from readiness_agent.source import ProbeContext

FORMAT = 1
INDEX = "index.json"
MAX_CAPTURE_BYTES = 256 * 1024 * 1024

Redaction = Callable[[str], str]


def write_capture(
    path: str,
    moment: Moment,
    hostname: str,
    context: ProbeContext,
    records: Sequence[Dict[str, Any]],
    redact: Redaction,
) -> int:
    """Write what was recorded as one archive; the number of entries. *redact* sees every text that goes in."""
    texts: Dict[str, bytes] = {}
    latest = {(record["kind"], record["key"]): record for record in records}
    entries = [_entry(number, record, texts, redact) for number, record in enumerate(latest.values())]
    snapshot = {"captured_at": moment.unix, "boottime": moment.boottime, "boot_id": moment.boot_id, "entries": entries}
    index = {
        "format": FORMAT,
        "agent_version": __version__,
        "hostname": hostname,
        "context": [context.job_user, context.checkpoint_dir],
        "snapshots": [snapshot],
    }
    _write_archive(path, {INDEX: json.dumps(index, indent=1).encode(), **texts}, moment.unix)
    return len(entries)


def read_capture(path: str) -> Capture:
    """Read an archive, its unpacked directory, or a directory of loose outputs.

    Raises:
        AgentError: exit 64, when it is none of these.
    """
    if os.path.isdir(path) and not os.path.exists(os.path.join(path, INDEX)):
        from readiness_agent.loose import read_loose

        return read_loose(path)
    try:
        texts = _directory_reader(path) if os.path.isdir(path) else _archive_reader(path)
        return _decode(json.loads(texts(INDEX)), texts)
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        raise usage_error(
            f"{path} is not a capture ({type(error).__name__}: {error}); see `readiness-agent capture`"
        ) from None


def _entry(number: int, record: Dict[str, Any], texts: Dict[str, bytes], redact: Redaction) -> Dict[str, Any]:
    """One line of the index; long texts go to files of their own."""
    entry = {key: record[key] for key in ("kind", "key", "captured_at", "outcome")}
    entry["key"] = redact(record["key"])
    if record["outcome"] != OK:
        return {**entry, "detail": redact(str(record["detail"]))}
    if record["kind"] == "read":
        entry["file"] = _put(texts, f"files{record['key']}", redact(record["value"]))
    elif record["kind"] == "run":
        exit_code, stdout, stderr, seconds = record["value"]
        entry.update(argv=json.loads(entry["key"]), exit_code=exit_code, seconds=seconds)
        entry["stdout"] = _put(texts, f"commands/{number:03d}.stdout", redact(stdout))
        entry["stderr"] = _put(texts, f"commands/{number:03d}.stderr", redact(stderr))
    else:
        entry["value"] = json.loads(redact(json.dumps(record["value"])))
    return entry


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
    import tarfile

    try:
        with tarfile.open(path, mode="r:gz") as archive:
            contents = _members(archive)
    except tarfile.TarError as error:
        raise ValueError(str(error)) from error
    return lambda name: contents[name].decode("utf-8", "replace")


def _members(archive: Any) -> Dict[str, bytes]:
    contents, total = {}, 0
    for member in archive:
        if not member.isfile():
            continue
        total += member.size
        if total > MAX_CAPTURE_BYTES:
            raise ValueError("it holds more than 256 MiB")
        contents[member.name] = archive.extractfile(member).read()
    return contents


def _directory_reader(path: str) -> Callable[[str], str]:
    root = os.path.realpath(path)

    def read(name: str) -> str:
        inside = os.path.realpath(os.path.join(root, name))
        if not inside.startswith(root + os.sep):
            raise ValueError(f"the index names a file outside of the capture: {name}")
        with open(inside, "rb") as file:
            return file.read(MAX_CAPTURE_BYTES).decode("utf-8", "replace")

    return read


def _decode(index: Dict[str, Any], text: Callable[[str], str]) -> Capture:
    if index["format"] != FORMAT:
        raise ValueError(f"format {index['format']} is not known to agent {__version__}")
    snapshots = [_snapshot(one, text) for one in index["snapshots"]]
    snapshots.sort(key=lambda snapshot: snapshot.moment.unix)
    job_user, checkpoint_dir = index["context"]
    return Capture(tuple(snapshots), ProbeContext(job_user, checkpoint_dir), str(index["hostname"]))


def _snapshot(raw: Dict[str, Any], text: Callable[[str], str]) -> RecordedSnapshot:
    moment = Moment(float(raw["captured_at"]), float(raw["boottime"]), str(raw["boot_id"]))
    return RecordedSnapshot(moment, [_record(entry, text) for entry in raw["entries"]])


def _record(entry: Dict[str, Any], text: Callable[[str], str]) -> Dict[str, Any]:
    if entry["outcome"] != OK or "value" in entry:
        return entry
    if entry["kind"] == "read":
        return {**entry, "value": text(entry["file"])}
    value: Tuple[Any, ...] = (entry["exit_code"], text(entry["stdout"]), text(entry["stderr"]), entry["seconds"])
    return {**entry, "value": value}
