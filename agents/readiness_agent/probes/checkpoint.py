"""The directory of training checkpoints: what it is mounted from, and whether the training user may write there."""

from __future__ import annotations

import os
from typing import Optional, Tuple

from readiness_agent.facts import DENIED, ERROR, CouldNotMeasure, Findings, ProbeResult
from readiness_agent.parsers.mountinfo import Mount, mount_of, parse_mountinfo
from readiness_agent.probes.jobs import find_user
from readiness_agent.source import Probe, ProbeContext, Source, not_configured

MOUNT_ITEM, ATIME_ITEM = "checkpoint-mount", "checkpoint-atime"
ITEMS = (MOUNT_ITEM, ATIME_ITEM)
MOUNTINFO = "/proc/self/mountinfo"
DEADLINE = 3.0
NOT_TRUE = 1
"""Exit code of test(1) for *no*."""


def measure(source: Source, context: ProbeContext) -> ProbeResult:
    """Looks the directory up in the table of mounts; nothing is written anywhere."""
    findings = Findings(source.now_boottime())
    with findings.attempt(*ITEMS):
        directory = _directory(source, context)
        table = source.read(MOUNTINFO)
        mount = mount_of(parse_mountinfo(table), directory)
        if mount is None:
            raise CouldNotMeasure(ERROR, f"{directory} is below no mount that this process can see")
        _mounted(findings, mount)
        findings.fact(ATIME_ITEM, "atime", mount.atime, "text")
        findings.fact(ATIME_ITEM, "fstype", mount.fstype, "text")
        with findings.attempt(MOUNT_ITEM, subject=""):
            writable = not mount.read_only and _may_write(source, context.job_user, directory)
            findings.fact(MOUNT_ITEM, "writable", writable, "bool")
    return findings.result()


def _directory(source: Source, context: ProbeContext) -> str:
    """The configured directory with links resolved."""
    configured = context.checkpoint_dir
    if configured is None:
        raise not_configured(context, "checkpoint_dir")
    return str(source.call(f"realpath {configured}", lambda: os.path.realpath(configured)))


def _mounted(findings: Findings, mount: Mount) -> None:
    """On the root file system it is not mounted: a missing mount fills the root disk instead."""
    findings.fact(MOUNT_ITEM, "mounted", mount.point != "/", "bool")
    findings.fact(MOUNT_ITEM, "device", mount.device, "text")
    findings.fact(MOUNT_ITEM, "fstype", mount.fstype, "text")


def _may_write(source: Source, job_user: Optional[str], directory: str) -> bool:
    """Asks the kernel with the rights of the user who trains, in a process of its own that a dead mount may keep."""
    argv = (*_as_user(source, job_user), "test", "-w", directory)
    result = source.run(argv, DEADLINE)
    if result.exit_code == 0:
        return True
    if result.exit_code == NOT_TRUE and not result.stderr.strip():
        return False
    raise CouldNotMeasure(ERROR, f"{argv[0]} ended with {result.exit_code}: {result.stderr.strip()[:200]}")


def _as_user(source: Source, job_user: Optional[str]) -> Tuple[str, ...]:
    """What to put before a command to run it as *job_user*; nothing when none is configured or it is ourselves."""
    if job_user is None:
        return ()
    user = find_user(source, job_user)
    if user.agent_uid == user.uid:
        return ()
    if user.agent_uid != 0:
        raise CouldNotMeasure(DENIED, f"only root can try to write as {job_user}")
    groups = ",".join(str(gid) for gid in user.gids)
    return ("setpriv", f"--reuid={user.uid}", f"--regid={user.gid}", f"--groups={groups}")


CHECKPOINT = Probe("checkpoint", ITEMS, "tick", measure)
