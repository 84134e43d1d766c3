"""What a Kubernetes manifest of a job tells of ``scheduler-fit``: how long it may run, and whether it comes back.

Read line by line, in either style of YAML: two or three words count, and the agent has no reader of YAML.
"""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional

from readiness_agent.audits import Notes
from readiness_agent.audits.configs.policies import FIT_ITEM, UNLIMITED
from readiness_agent.audits.configs.sources import Source
from readiness_agent.facts import ERROR
from readiness_agent.values import whole

_KEY = re.compile(
    r"(?<![\w.-])[\"']?(activeDeadlineSeconds|backoffLimit|restartPolicy)[\"']?[ \t]*:[ \t]*(\{\{.*?\}\}|[^,}\]]*)"
)
_COMMENT = re.compile(r"(?:^|[ \t])#.*")


class _Said(NamedTuple):
    place: str
    key: str
    value: str


def audit_manifests(manifests: List[Source], notes: Notes) -> None:
    """The shortest deadline of all counts. Kubernetes ends a job at none unless one is set, and starts pods again
    unless it is told not to."""
    said = [one for source in manifests for one in _read(source)]
    deadlines = [one for one in said if one.key == "activeDeadlineSeconds"]
    limits = [_number(one, notes) for one in deadlines]
    if None not in limits:
        seconds = min((one for one in limits if one is not None), default=UNLIMITED)
        notes.fact(FIT_ITEM, "time_limit", seconds, "seconds")
    tries = [_number(one, notes) for one in said if one.key == "backoffLimit"]
    if None not in tries:  # without one Kubernetes tries again; with 0 no policy of its pods brings a job back
        notes.fact(FIT_ITEM, "requeue", 0 not in tries, "bool")
    notes.fact(FIT_ITEM, "reservation_covers", True, "bool")
    for one in said:
        notes.finding(FIT_ITEM, one.place, f"{one.key}: {one.value}")


def _read(source: Source) -> List[_Said]:
    return [
        _Said(f"{source.name}:{number}", found[1], found[2].strip().strip("\"'"))
        for number, line in enumerate(source.text.splitlines(), 1)
        for found in _KEY.finditer(_COMMENT.sub("", line))
    ]


def _number(said: _Said, notes: Notes) -> Optional[int]:
    """None, and a problem, for what a template fills in."""
    number = whole(said.value)
    if number is None:
        notes.problem(FIT_ITEM, ERROR, f"{said.place}: {said.key} is {said.value[:80] or 'empty'}, which no file tells")
    return number
