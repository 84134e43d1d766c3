"""Runs what belongs to a user as that user, and never as root."""

from __future__ import annotations

import os
from typing import Optional, Tuple

from readiness_agent.facts import DENIED, CouldNotMeasure, Unreadable
from readiness_agent.probes.jobs import find_user
from readiness_agent.source import Json, Source

NOBODY = 65534
"""Whoever runs something that root owns while no ``job_user`` is configured."""


def as_owner(source: Source, directory: str, job_user: Optional[str]) -> Tuple[str, ...]:
    """What to put before a command to run it as the owner of *directory*; nothing when that is the agent itself.

    What root owns is run as *job_user*, else as nobody: an agent that runs as root lends its rights to no program that
    others may have written.

    Raises:
        CouldNotMeasure: *directory* cannot be looked at, or this agent may not become its owner.
    """
    owner = source.stat(directory).uid
    agent = source.call("who measures", os.geteuid)
    if not isinstance(agent, int):
        raise Unreadable("who measured was not saved")
    if agent != 0:
        if owner not in (0, agent):
            raise CouldNotMeasure(DENIED, f"{directory} belongs to user {owner}: only an agent of root can run it so")
        return ()
    uid, groups = _job_user(source, job_user) if owner == 0 else _account(source, owner)
    return ("setpriv", f"--reuid={uid}", f"--regid={groups.partition(',')[0]}", f"--groups={groups}",
            "--inh-caps=-all", "--no-new-privs")  # fmt: skip


def _job_user(source: Source, job_user: Optional[str]) -> Tuple[int, str]:
    user = find_user(source, job_user) if job_user is not None else None
    if user is None or user.uid == 0:
        return NOBODY, str(NOBODY)
    return user.uid, ",".join(str(gid) for gid in (user.gid, *user.gids))


def _account(source: Source, uid: int) -> Tuple[int, str]:
    groups = source.call(f"groups of {uid}", lambda: _groups(uid))
    numbers = [one for one in groups if isinstance(one, int)] if isinstance(groups, list) else []
    return uid, ",".join(str(gid) for gid in numbers) or str(uid)


def _groups(uid: int) -> Json:
    import pwd

    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return [uid]  # a number without an entry, as in containers
    return [entry.pw_gid, *os.getgrouplist(entry.pw_name, entry.pw_gid)]
