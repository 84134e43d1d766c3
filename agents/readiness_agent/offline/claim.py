"""Takes this node at the portal before anything disturbs it, and gives it back."""

from __future__ import annotations

import json
from typing import Sequence
from urllib.parse import quote

from readiness_agent.agent import Agent
from readiness_agent.errors import AgentError, log
from readiness_agent.node import now
from readiness_agent.transport import Unreachable
from readiness_agent.values import bounded

LONGEST_MINUTES = 240
REFUSED, AWAY = 2, 3


class Claim:
    """A node taken until a time; counted by this node's own boot clock."""

    def __init__(self, agent: Agent, seconds: float) -> None:
        self._agent = agent
        self._end = now().boottime + seconds

    @property
    def seconds_left(self) -> float:
        """Until the portal lets jobs on this node again."""
        return self._end - now().boottime

    def give_back(self) -> None:
        """Let jobs on this node again at once; with the portal away the claim ends by its time."""
        try:
            answer = self._agent.portal.delete(_path(self._agent))
        except Unreachable as error:
            log(f"the node is given back when its claim ends, in {self.seconds_left:.0f} s: {error}")
            return
        if answer.status not in (204, 200):
            log(f"the portal answered {answer.status} when the node was given back; its claim ends by its time")


def take_node(agent: Agent, items: Sequence[str], seconds: float) -> Claim:
    """Take this node for *items*, for *seconds* at most.

    Raises:
        AgentError: exit 2 when the portal refuses, 3 when it is away; nothing may be measured then.
    """
    minutes = min(max(1, int(seconds / 60) + 1), LONGEST_MINUTES)
    body = json.dumps({"items": list(items), "minutes": minutes}).encode()
    try:
        answer = agent.portal.post(_path(agent), {}, body)
    except Unreachable as error:
        raise AgentError(f"not measured, since the node could not be taken: {error}", AWAY) from None
    words = answer.json() or {}
    if answer.status != 201:
        said = words.get("detail") or words.get("title") or f"the portal answered {answer.status}"
        raise AgentError(f"not measured: {said}", REFUSED)
    return Claim(agent, bounded(words.get("seconds"), 0.0, LONGEST_MINUTES * 60.0, 0.0))


def _path(agent: Agent) -> str:
    return f"/api/v1/nodes/{quote(agent.hostname, safe='')}/claim"
