"""Tasks that wait for a device without end, and mounts of other machines that do not answer."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from readiness_agent.facts import ERROR, HUNG, CouldNotMeasure, Findings, ProbeResult, Unreadable
from readiness_agent.parsers.mountinfo import parse_mountinfo
from readiness_agent.parsers.process import parse_switches, parse_task_stat
from readiness_agent.probes.memory_file import load_memory, save_memory
from readiness_agent.source import Json, Probe, ProbeContext, Source
from readiness_agent.values import finite

ITEM = "hung-io"
MOUNT_DEADLINE = 3.0
"""Seconds after which a mount is not waited for any longer."""
MOST_LATE = 3
"""Mounts that may use up their time before the probe stops asking."""
MOUNTINFO = "/proc/self/mountinfo"

REMOTE = (
    "9p afs beegfs ceph cifs daos dfuse fhgfs gcsfuse glusterfs goofys gpfs juicefs lustre moosefs mountpoint-s3 nfs "
    "nfs4 orangefs panfs pvfs2 quobyte s3fs smb3 virtiofs wekafs"
)
"""File systems that live on other machines; any ``fuse.*`` may, too."""
_LOCAL_FUSE = ("fuse.lxcfs", "fuse.gvfsd-fuse", "fuse.portal", "fuse.snapfuse", "fuse.squashfuse")

MEMORY_FILE = "blocked-tasks.json"


class Blocked(NamedTuple):
    """A task in state D."""

    name: str
    switches: int
    """Context switches so far: unchanged since an earlier look means that it has waited since then."""


Memory = Dict[str, Tuple[float, int]]
"""``pid:start time`` to since when (seconds after boot) it was seen waiting, and its context switches then."""


def measure(source: Source, context: ProbeContext) -> ProbeResult:
    """Both halves, each with a problem of its own."""
    findings = Findings(source.now_boottime())
    with findings.attempt(ITEM, subject=""):
        tasks = _blocked(source, context)
        findings.fact(ITEM, "longest_wait", max((task["seconds"] for task in tasks), default=0.0), "seconds")
        if tasks:
            findings.evidence(json.dumps(tasks), ITEM)
    with findings.attempt(ITEM, subject=""):
        _mounts(findings, source)
    return findings.result()


def _blocked(source: Source, context: ProbeContext) -> List[Dict[str, Any]]:
    """Tasks in state D, and for how many seconds we know that they wait."""
    answer = source.call("blocked tasks", lambda: _look(context.memory_dir, source))
    tasks = [one for one in answer if isinstance(one, dict)] if isinstance(answer, list) else []
    told = [finite(one.get("seconds")) for one in tasks]
    if not isinstance(answer, list) or len(tasks) < len(answer) or None in told:
        raise Unreadable("the saved list of blocked tasks is no such list")
    return tasks


def _look(directory: Optional[str], source: Source) -> Json:
    waiting, now = waiting_tasks(), source.now_boottime()
    if directory is None:
        if waiting:
            raise CouldNotMeasure(
                ERROR, "tasks wait in state D, and there is no state directory to remember since when"
            )
        return []
    return look_at_blocked(directory, source.read("/proc/sys/kernel/random/boot_id").strip(), now, waiting)


def waiting_tasks() -> Dict[str, Blocked]:
    """All processes of this machine in state D; one that ends meanwhile is passed over."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            task = parse_task_stat(_text(f"/proc/{pid}/stat"))
            if task.state == "D":
                switches = parse_switches(_text(f"/proc/{pid}/status"))
                found[f"{task.pid}:{task.started}"] = Blocked(task.name, switches)
        except (OSError, Unreadable):
            continue
    return found


def look_at_blocked(directory: str, boot_id: str, now: float, waiting: Mapping[str, Blocked]) -> Json:
    """Compare *waiting* with what an earlier tick of the same boot left in *directory*, and leave this look there."""
    if not waiting and not os.path.exists(os.path.join(directory, MEMORY_FILE)):
        return []
    memory = update_blocked(_as_memory(load_memory(directory, MEMORY_FILE, boot_id)), waiting, now)
    save_memory(directory, MEMORY_FILE, boot_id, {key: [since, switches] for key, (since, switches) in memory.items()})
    return [
        {"pid": int(key.partition(":")[0]), "name": waiting[key].name, "seconds": round(now - since, 1)}
        for key, (since, _) in memory.items()
    ]


def update_blocked(before: Mapping[str, Tuple[float, int]], waiting: Mapping[str, Blocked], now: float) -> Memory:
    """Since when each task waits: since it was first seen with the same number of context switches."""
    return {
        key: before[key] if key in before and before[key][1] == task.switches else (now, task.switches)
        for key, task in waiting.items()
    }


def _as_memory(look: Json) -> Memory:
    """What is usable of an earlier look; a task that it tells badly is waited for anew."""
    pairs = {key: held for key, held in look.items() if isinstance(held, list)} if isinstance(look, dict) else {}
    numbers = {key: [number for number in map(finite, held) if number is not None] for key, held in pairs.items()}
    return {key: (held[0], int(held[1])) for key, held in numbers.items() if len(held) == 2}


def _mounts(findings: Findings, source: Source) -> None:
    """How long the slowest mount of another machine takes to answer; each is asked in a process of its own."""
    slowest, failing, late = 0.0, 0, 0
    for point in _remote_points(source):
        try:
            answer = source.run(("stat", "-f", point), MOUNT_DEADLINE)
            slowest, failing = max(slowest, answer.seconds), failing + (answer.exit_code != 0)
        except CouldNotMeasure as error:
            if error.kind != HUNG:
                raise
            slowest, late = max(slowest, MOUNT_DEADLINE), late + 1
        if late == MOST_LATE:
            break
    findings.fact(ITEM, "slowest_mount", round(slowest, 1), "seconds")
    findings.fact(ITEM, "failing_mounts", failing, "count")


def _remote_points(source: Source) -> List[str]:
    mounts = parse_mountinfo(source.read(MOUNTINFO))
    return sorted({mount.point for mount in mounts if _is_remote(mount.fstype)})


def _is_remote(fstype: str) -> bool:
    return fstype in REMOTE.split() or (fstype.startswith("fuse.") and fstype not in _LOCAL_FUSE)


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


STORAGE = Probe("storage", (ITEM,), "tick", measure)
