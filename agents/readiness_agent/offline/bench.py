"""What an offline probe is, and what it may use."""

from __future__ import annotations

import os
import shutil
from typing import Callable, NamedTuple, Optional, Tuple

from readiness_agent.config import Config
from readiness_agent.facts import ERROR, CouldNotMeasure, ProbeResult
from readiness_agent.offline.turns import Turns
from readiness_agent.source import LiveSource, from_os_error

WORK = ".readiness-agent-offline"
"""The directory that an offline probe makes for its files, below the one that the configuration names."""


class Bench(NamedTuple):
    """The node as an offline probe finds it: what is configured, and for how many seconds it may work."""

    source: LiveSource
    config: Config
    seconds: float
    memory_dir: str
    """Where a probe may keep what it measured in an earlier window."""
    turns: Optional[Turns] = None
    """Names partners to measure with; None without a portal."""


class OfflineProbe(NamedTuple):
    """One measurement. ``seconds`` is what it takes in full; with less time it measures less, and says so."""

    name: str
    items: Tuple[str, ...]
    seconds: float
    run: Callable[[Bench], ProbeResult]
    overhead: float = 120.0
    """Seconds for setting up and cleaning up, beside what is measured."""


def make_work_directory(parent: str) -> str:
    """An empty directory of our own below *parent*; what an earlier run left there is deleted.

    Raises:
        CouldNotMeasure: it cannot be made, or something else than a directory of this user stands there.
    """
    path = os.path.join(parent, WORK)
    remove_work_directory(path)
    try:
        os.mkdir(path, 0o700)
    except OSError as error:
        raise from_os_error(error, path) from error
    return path


def remove_work_directory(path: str) -> None:
    """Delete *path* with all that is in it, if it is a directory of this user's own; a link is never followed."""
    if os.path.basename(path) != WORK or not os.path.lexists(path):
        return
    if os.path.islink(path) or not os.path.isdir(path) or os.stat(path).st_uid != os.geteuid():
        raise CouldNotMeasure(ERROR, f"{path} is no directory of this agent's: move it away")
    shutil.rmtree(path, ignore_errors=True)


def configured_directories(config: Config) -> Tuple[str, ...]:
    """Where offline probes leave files while they run."""
    return tuple(one for one in (config.fio_dir,) if one)
