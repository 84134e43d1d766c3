"""The portal's last gate decision about this node, kept on disk and believed only for as long as it may be.

An answer holds for its ``Gate-TTL``, counted by this node's own boot clock from before it was asked for; after a
reboot it is void. No signature and no clock of the portal's is needed for that.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, NamedTuple, Optional
from urllib.parse import quote

from readiness_agent.agent import Agent
from readiness_agent.files import read_json, section, write_json
from readiness_agent.node import Moment, now, stored_age, stored_moment
from readiness_agent.transport import Answer, Limits, Unreachable
from readiness_agent.values import bounded, finite, whole

REFRESH_LIMITS = Limits(silence=2.0, total=5.0)
LONGEST_TTL = 300.0
MOST_RUNS = 16
"""Questions a node remembers: one a job would grow without end, and be asked for anew each minute."""

REMEMBERED = 24 * 3600.0
"""Seconds after its last question for which ticks keep a decision fresh."""


class Decision(NamedTuple):
    """One answer of the gate, and how old it is."""

    answer: Dict[str, Any]
    age: float
    ttl: float

    @property
    def is_fresh(self) -> bool:
        """Whether it may still be acted upon."""
        return bool(self.answer) and self.age < self.ttl

    @property
    def reasons(self) -> List[Dict[str, Any]]:
        """Why it is not *ready*, fresh or not."""
        listed = self.answer.get("reasons")
        return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []

    @property
    def word(self) -> str:
        """``ready``, ``not_ready`` or ``unknown``; whatever is old or odd is unknown."""
        said = self.answer.get("decision")
        return str(said) if self.is_fresh and said in ("ready", "not_ready") else "unknown"


class DecisionCache:
    """Decisions of one node, one a run asked about; the empty run is the node's health."""

    def __init__(self, state: str) -> None:
        self._path = os.path.join(state, "gate.json")

    def read(self, run: str, moment: Moment) -> Decision:
        """The kept decision; one without an answer when there is none of this boot."""
        kept = self._questions().get(run, {})
        asked, answer = stored_moment(kept.get("asked")), kept.get("answer")
        age = stored_age(kept.get("asked"), moment)
        if asked is None or age is None or asked.boot_id != moment.boot_id or not isinstance(answer, dict):
            return Decision({}, 0.0, 0.0)
        return Decision(answer, age, bounded(kept.get("ttl"), 0.0, LONGEST_TTL, 0.0))

    def note_use(self, run: str, moment: Moment) -> None:
        """Somebody asked: ticks refresh this decision for a day, while it is among the last asked for."""
        questions = self._questions()
        section(questions, run)["used"] = list(moment)
        self._write(self._latest(questions, moment))

    def runs_in_use(self, moment: Moment) -> List[str]:
        """Runs asked about within a day, the latest first."""
        return list(self._latest(self._questions(), moment))

    def keep(self, run: str, asked: Moment, ttl: float, answer: Dict[str, Any]) -> None:
        """Keep a new answer."""
        questions = self._questions()
        section(questions, run).update(asked=list(asked), ttl=ttl, answer=answer)
        self._write(questions)

    @staticmethod
    def _latest(questions: Dict[str, Any], moment: Moment) -> Dict[str, Any]:
        ages = {run: stored_age(kept.get("used"), moment) for run, kept in questions.items()}
        recent = sorted((age, run) for run, age in ages.items() if age is not None and age < REMEMBERED)
        return {run: questions[run] for _, run in recent[:MOST_RUNS]}

    def _write(self, questions: Dict[str, Any]) -> None:
        write_json(self._path, {"questions": questions})

    def _questions(self) -> Dict[str, Any]:
        questions = section(read_json(self._path), "questions")
        return {run: kept for run, kept in questions.items() if isinstance(kept, dict)}


def refresh(agent: Agent, cache: DecisionCache, run: str) -> str:
    """Ask the portal once and keep its answer; why not, otherwise. Raises OSError when it cannot be kept anywhere."""
    asked = now()
    try:
        got = agent.portal.get(_question(agent, run), {}, REFRESH_LIMITS)
    except Unreachable as error:
        return str(error)
    answer, ttl = got.json(), _ttl(got)
    if got.status != 200 or answer is None or "decision" not in answer or ttl is None:
        words = got.json() or {}
        return f"the gate answered {got.status}: {words.get('detail') or words.get('title') or 'not a decision'}"
    cache.keep(run, asked, ttl, answer)
    return ""


def _question(agent: Agent, run: str) -> str:
    path = f"/api/v1/clusters/{quote(agent.config.cluster, safe='')}/nodes/{quote(agent.hostname, safe='')}/readiness"
    return f"{path}?run={quote(run, safe='')}" if run else f"{path}?purpose=health"


def _ttl(got: Answer) -> Optional[float]:
    return finite(whole(got.headers.get("gate-ttl", "")))
