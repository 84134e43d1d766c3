"""Directories of loose outputs, as people save them by hand, read as captures.

Two shapes are known. *Flat*: ``nvidia-smi-q*.xml`` (one snapshot each, at the time it states), ``sysctl.txt``,
``limits.txt`` (those of a job), ``topo.txt`` and so on. *Mirror*: ``files/`` with real paths, ``commands/`` with
outputs, and ``NAME.SNAPSHOT`` where ``unixtime.SNAPSHOT`` says when.
"""

from __future__ import annotations

import calendar
import fnmatch
import json
import os
import time
from typing import Any, Dict, List, Optional

from readiness_agent.errors import usage_error
from readiness_agent.facts import MISSING, CouldNotMeasure
from readiness_agent.node import BOOT_ID, Moment
from readiness_agent.parsers.sysctl import DIRECTORIES as SYSCTL_DIRECTORIES
from readiness_agent.recording import command_key
from readiness_agent.replaying import Capture, Snapshot, not_captured
from readiness_agent.source import JOB_LIMITS, MAX_FILE_BYTES, ProbeContext

SMI_XML = ("nvidia-smi", "-q", "-x")

FLAT_COMMANDS = {
    "nvidia-smi.txt": ("nvidia-smi",),
    "nvidia-smi-L.txt": ("nvidia-smi", "-L"),
    "nvidia-smi-q.txt": ("nvidia-smi", "-q"),
    "nvlink-s.txt": ("nvidia-smi", "nvlink", "-s"),
    "nvlink-e.txt": ("nvidia-smi", "nvlink", "-e"),
    "topo.txt": ("nvidia-smi", "topo", "-m"),
    "numactl.txt": ("numactl", "--hardware"),
    "nvcc.txt": ("nvcc", "--version"),
    "pipfreeze.txt": ("pip", "freeze"),
    "sysctl.txt": ("sysctl", "-a"),
}

FLAT_QUERY = "nvidia-smi-q*.xml"

FLAT_FILES = {"cpuinfo.txt": "/proc/cpuinfo", "limits.txt": JOB_LIMITS}

MIRROR_COMMANDS = {
    "lscpu": ("lscpu",),
    "numactl": ("numactl", "--hardware"),
    "topo": ("nvidia-smi", "topo", "-m"),
    "pip": ("pip", "freeze"),
    "sysctl-a": ("sysctl", "-a"),
}

MIRROR_CALLS = {"adjtimex": "adjtimex", "trainenv": "training environment"}

MIRROR_SNAPSHOT_COMMANDS = {
    "smi-q-x.{}.xml": SMI_XML,
    "nvlink-s.{}": ("nvidia-smi", "nvlink", "-s"),
    "nvlink-e.{}": ("nvidia-smi", "nvlink", "-e"),
}

MIRROR_SNAPSHOT_FILES = {
    "softnet.{}": "/proc/net/softnet_stat",
    "netdev.{}": "/proc/net/dev",
    "uptime.{}": "/proc/uptime",
}

UNKNOWN_BOOT = "00000000-0000-0000-0000-000000000000"

FIRST_UPTIME = 3600.0
"""Where a capture tells no uptime, its first snapshot counts as an hour after boot: only differences matter."""


class LooseSnapshot:
    """Texts by path and by command; directories exist only as far as files in them were saved."""

    def __init__(self, moment: Moment, files: Dict[str, str], commands: Dict[str, str], calls: Dict[str, Any]) -> None:
        self._moment = moment
        self._files = files
        self._commands = commands
        self._calls = calls

    @property
    def moment(self) -> Moment:
        return self._moment

    def answer(self, kind: str, key: str) -> Any:
        if kind == "read" and key in self._files:
            return self._files[key]
        if kind == "run" and key in self._commands:
            return (0, self._commands[key], "", 0.0)
        if kind == "call" and key in self._calls:
            return self._calls[key]
        if kind == "exists" and (key in self._files or self._names_in(key)):
            return True
        if kind == "listdir" and self._was_absent(key):
            raise CouldNotMeasure(MISSING, f"{key}: not there")
        found = self._names_in(key) if kind == "listdir" else self._matches(key) if kind == "glob" else []
        if not found:
            raise not_captured(json.loads(key)[0] if kind == "run" else key)
        return found

    def _was_absent(self, directory: str) -> bool:
        """Whoever saved one directory of kernel settings saved all that there were."""
        saved = [one for one in SYSCTL_DIRECTORIES if self._names_in(one)]
        return directory in SYSCTL_DIRECTORIES and bool(saved) and directory not in saved

    def _names_in(self, directory: str) -> List[str]:
        prefix = directory.rstrip("/") + "/"
        return sorted({path[len(prefix) :].partition("/")[0] for path in self._files if path.startswith(prefix)})

    def _matches(self, pattern: str) -> List[str]:
        """Saved files and directories that match; ``*`` does not cross a slash."""
        parts = pattern.split("/")
        candidates = {"/".join(path.split("/")[: len(parts)]) for path in self._files}
        return sorted(one for one in candidates if _matches_parts(one.split("/"), parts))


def read_loose(path: str) -> Capture:
    """The capture in a directory of loose outputs.

    Raises:
        AgentError: exit 64, when the directory has neither shape.
    """
    snapshots = _mirror(path) if os.path.isdir(os.path.join(path, "files")) else _flat(path)
    if not snapshots:
        raise usage_error(f"{path} holds no capture: no index.json, no nvidia-smi-q.xml, no files/unixtime.*")
    snapshots.sort(key=lambda snapshot: snapshot.moment.unix)
    return Capture(tuple(snapshots), ProbeContext(is_known=False), "")


def _flat(path: str) -> List[Snapshot]:
    known = (*FLAT_COMMANDS, *FLAT_FILES, FLAT_QUERY)
    names = [name for name in sorted(os.listdir(path)) if any(fnmatch.fnmatch(name, one) for one in known)]
    texts = {name: _text(os.path.join(path, name)) for name in names}
    commands = {command_key(argv): texts[name] for name, argv in FLAT_COMMANDS.items() if name in texts}
    files = _kernel_settings(texts.get("sysctl.txt", ""))
    files.update({path_: texts[name] for name, path_ in FLAT_FILES.items() if name in texts})
    boot_id = files.get(BOOT_ID, UNKNOWN_BOOT).strip()
    queries = [(_timestamp(text), text) for name, text in texts.items() if fnmatch.fnmatch(name, FLAT_QUERY)]
    times = [when for when, _ in queries if when is not None]
    return [
        LooseSnapshot(
            Moment(when, when - min(times) + FIRST_UPTIME, boot_id), files, {**commands, command_key(SMI_XML): text}, {}
        )
        for when, text in queries
        if when is not None
    ]


def _mirror(path: str) -> List[Snapshot]:
    files = _mirrored_files(os.path.join(path, "files"))
    texts = {name: _text(os.path.join(path, "commands", name)) for name in os.listdir(os.path.join(path, "commands"))}
    files = {**_kernel_settings(texts.get("sysctl-a", "")), **files}
    if "/job.limits" in files:
        files[JOB_LIMITS] = files["/job.limits"]
    calls = {call: json.loads(texts[name]) for name, call in MIRROR_CALLS.items() if name in texts}
    commands = {command_key(argv): texts[name] for name, argv in MIRROR_COMMANDS.items() if name in texts}
    names = [path.partition(".")[2] for path in files if path.startswith("/unixtime.")]
    return [_mirror_snapshot(name, files, commands, texts, calls) for name in names]


def _mirror_snapshot(
    name: str, files: Dict[str, str], commands: Dict[str, str], texts: Dict[str, str], calls: Dict[str, Any]
) -> Snapshot:
    own_files = {
        path: files["/" + saved.format(name)]
        for saved, path in MIRROR_SNAPSHOT_FILES.items()
        if "/" + saved.format(name) in files
    }
    own_commands = {
        command_key(argv): texts[saved.format(name)]
        for saved, argv in MIRROR_SNAPSHOT_COMMANDS.items()
        if saved.format(name) in texts
    }
    uptime = float(own_files.get("/proc/uptime", str(FIRST_UPTIME)).split()[0])
    moment = Moment(float(files[f"/unixtime.{name}"]), uptime, files.get(BOOT_ID, UNKNOWN_BOOT).strip())
    return LooseSnapshot(moment, {**files, **own_files}, {**commands, **own_commands}, calls)


def _mirrored_files(root: str) -> Dict[str, str]:
    files = {}
    for directory, _, names in os.walk(root):
        for name in names:
            full = os.path.join(directory, name)
            files[full[len(root) :]] = _text(full)
    return files


def _kernel_settings(listing: str) -> Dict[str, str]:
    """The files below ``/proc/sys`` that the output of ``sysctl -a`` stands for."""
    pairs = (line.partition(" = ") for line in listing.splitlines() if " = " in line)
    return {_setting_path(name): value + "\n" for name, _, value in pairs}


def _setting_path(name: str) -> str:
    """``net.ipv4.conf.eth0/1.mtu`` is ``/proc/sys/net/ipv4/conf/eth0.1/mtu``: sysctl swaps the two signs."""
    return "/proc/sys/" + name.translate({ord("."): "/", ord("/"): "."})


def _timestamp(xml: str) -> Optional[float]:
    """When ``nvidia-smi -q -x`` was run, read as UTC: the text has no zone."""
    text = xml.partition("<timestamp>")[2].partition("</timestamp>")[0]
    try:
        return float(calendar.timegm(time.strptime(text, "%a %b %d %H:%M:%S %Y")))
    except ValueError:
        return None


def _matches_parts(path: List[str], pattern: List[str]) -> bool:
    return len(path) == len(pattern) and all(map(fnmatch.fnmatchcase, path, pattern))


def _text(path: str) -> str:
    if not os.path.isfile(path):
        return ""
    with open(path, "rb") as file:
        return file.read(MAX_FILE_BYTES).decode("utf-8", "replace")
