"""Whose process it is: a job's, found by the cgroup of its scheduler or by the user who trains."""

from __future__ import annotations

import os
from typing import Dict, List, NamedTuple, Optional, Tuple

from readiness_agent.facts import MISSING, NOT_CAPTURED, CouldNotMeasure, Unreadable
from readiness_agent.parsers.process import job_of_cgroup
from readiness_agent.source import JOB_LIMITS, Json, Source

MOST_PROCESSES = 64
"""Processes of jobs that are looked at: enough for every rank of a node, few enough for a tick."""

HELPERS = ("slurmstepd", "pause", "sleep")
"""Processes inside the cgroup of a job that belong to the scheduler; their limits are not the trainer's."""


class User(NamedTuple):
    """The account of the configured ``job_user``, and who asks."""

    uid: int
    gid: int
    groups: Tuple[str, ...]
    gids: Tuple[int, ...]
    agent_uid: int


def is_job(source: Source, pid: int, job_user: Optional[str]) -> bool:
    """Whether *pid* runs in the cgroup of a scheduler's job, or as the configured user.

    Raises:
        CouldNotMeasure: neither can be told, for instance because the capture lacks it.
    """
    try:
        if job_of_cgroup(source.read(f"/proc/{pid}/cgroup")):
            return True
    except CouldNotMeasure as error:
        if error.kind == NOT_CAPTURED and _shows_a_job(source):
            return True
        raise
    return job_user is not None and source.stat(f"/proc/{pid}").uid == find_user(source, job_user).uid


def _shows_a_job(source: Source) -> bool:
    """Whether a capture says that a job ran and only lacks its pid: its GPUs are then *not judged*, never clean."""
    try:
        return bool(source.read(JOB_LIMITS))
    except CouldNotMeasure:
        return False


def find_jobs(source: Source, job_user: Optional[str]) -> List[int]:
    """Pids of running jobs, the newest first. One system call's worth in a capture, not one file a process."""
    uid = find_user(source, job_user).uid if job_user else None
    answer = source.call("jobs", lambda: _running_jobs(uid))
    jobs = answer if isinstance(answer, list) else []
    return [job["pid"] for job in jobs if isinstance(job, dict) and isinstance(job["pid"], int)]


def find_user(source: Source, name: str) -> User:
    """The account *name*, from wherever the node looks up its users.

    Raises:
        CouldNotMeasure: there is no such user.
    """
    answer = source.call(f"account {name}", lambda: _look_up(name))
    if not isinstance(answer, dict):
        raise Unreadable(f"the account of {name} was not saved as one")
    uid, gid, agent = (answer.get(key) for key in ("uid", "gid", "agent_uid"))
    groups, gids = answer.get("groups"), answer.get("gids", [])
    if (
        not isinstance(uid, int)
        or not isinstance(gid, int)
        or not isinstance(groups, list)
        or not isinstance(gids, list)
    ):
        raise Unreadable(f"the account of {name} lacks its ids")
    return User(
        uid=uid,
        gid=gid,
        groups=tuple(str(group) for group in groups),
        gids=tuple(one for one in gids if isinstance(one, int)) or (gid,),
        agent_uid=agent if isinstance(agent, int) else -1,
    )


def _look_up(name: str) -> Json:
    import grp

    uid, gid, gids = _ids_of(name)
    groups: Dict[int, str] = {one.gr_gid: one.gr_name for one in grp.getgrall()}
    return {
        "uid": uid,
        "gid": gid,
        "groups": [groups[one] for one in gids if one in groups],
        "gids": list(gids),
        "agent_uid": os.geteuid(),
    }


def _ids_of(name: str) -> Tuple[int, int, List[int]]:
    """User, group and all groups of *name*; a container's own user is often a number without an entry."""
    import pwd

    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        if name == str(os.getuid()):
            return os.getuid(), os.getgid(), os.getgroups()
        raise CouldNotMeasure(MISSING, f"there is no user {name} (job_user of agent.json)") from None
    return entry.pw_uid, entry.pw_gid, os.getgrouplist(name, entry.pw_gid)


def _running_jobs(uid: Optional[int]) -> Json:
    """Processes of jobs on this machine. One that ends meanwhile is passed over."""
    found: List[Json] = []
    for pid in sorted((int(name) for name in os.listdir("/proc") if name.isdigit()), reverse=True):
        try:
            job = _job_of(pid, uid)
            if job and _text(f"/proc/{pid}/comm").strip() not in HELPERS:
                found.append({"pid": pid, "job": job})
        except OSError:
            continue
        if len(found) == MOST_PROCESSES:
            break
    return found


def _job_of(pid: int, uid: Optional[int]) -> Optional[str]:
    job = job_of_cgroup(_text(f"/proc/{pid}/cgroup"))
    if job is None and uid is not None and os.stat(f"/proc/{pid}").st_uid == uid:
        return "user"
    return job


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
