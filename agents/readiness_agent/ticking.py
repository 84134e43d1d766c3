"""One tick: ask the plan if it is time, measure what is due, spool, push, remember."""

from __future__ import annotations

import random
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from readiness_agent.agent import Agent
from readiness_agent.files import remove_leftovers
from readiness_agent.node import Moment, now
from readiness_agent.plan import (
    DAY,
    Due,
    checked_plan,
    due_reports,
    fingerprint_due,
    jitter,
    note_outcome,
    should_ask,
    wanted_reports,
)
from readiness_agent.push import Flushed, flush, lose, store
from readiness_agent.report import Measured, build_report, choose_evidence, is_job_running
from readiness_agent.source import Probe
from readiness_agent.spool import Entry
from readiness_agent.transport import LONGEST_WAIT, Answer, Unreachable, retry_after
from readiness_agent.values import bounded

BACK_OFF_FIRST, BACK_OFF_LONGEST = 60.0, 300.0
"""Seconds without a try after the second, third … failed tick in a row; never longer than one usual interval."""

LONGEST_ETAG = 128
"""Characters; what the report's schema takes."""


class TickResult(NamedTuple):
    """What a tick did, for its log line and ``--json``."""

    reports: List[Dict[str, Any]]
    sent: int
    waiting: int
    messages: List[str]


def bare_etag(etag: str) -> str:
    """An entity tag without quotes and weakness mark: a compressing proxy changes those, not the tag."""
    return (etag[2:] if etag.startswith("W/") else etag).strip('"')


class Tick:
    """One run of ``tick`` on one node."""

    def __init__(self, agent: Agent, load_probes: Callable[[], Sequence[Probe]], spread: float) -> None:
        self.agent = agent
        self._state = agent.state
        self._load_probes = load_probes
        self._spread = spread
        self._messages: List[str] = []
        self._reports: List[Dict[str, Any]] = []
        self._unspooled: List[Entry] = []

    def run(self) -> TickResult:
        """Do it. The portal being away is no error: what was measured waits in the spool."""
        self._open_spool()
        started = now()
        due = self.due(started)
        may_talk = not self._is_held(started)
        if may_talk and should_ask(self.agent.plan(), self._state, started, bool(due)):
            may_talk = self._ask_plan(started)
            due = self.due(started)
        self._measure(due)
        self._trim_spool()
        sent = self._push() if may_talk else self._keep_silent()
        if sent:
            self._refresh_decisions()
        if may_talk and fingerprint_due(self.agent.plan(), self._state, started):
            self._tell_settings(started)
        self.agent.portal.close()
        self._save()
        return TickResult(self._reports, sent, self._waiting(), self._messages)

    def due(self, moment: Moment) -> List[Due]:
        """The reports to make at *moment*."""
        wanted = wanted_reports(self.agent.plan(), self._state, moment, self.agent.hostname)
        return due_reports(wanted, self.agent.with_settings(self._load_probes())) if wanted else []

    def _open_spool(self) -> None:
        try:
            remove_leftovers(self.agent.paths.state)
            self.agent.spool.open()
        except OSError as error:
            self._messages.append(f"spool unwritable ({error.strerror}): reports are sent from memory only")

    def _waiting(self) -> int:
        return len(self.agent.spool.waiting())

    def _is_held(self, moment: Moment) -> bool:
        """Whether the portal, or repeated failure, said to wait longer."""
        age = self._state.age("hold", moment)
        return age is not None and age < min(self._state.number("hold_seconds"), LONGEST_WAIT)

    def _ask_plan(self, moment: Moment) -> bool:
        """One conditional GET; False when the portal is away or asked to be left alone.

        One that only refuses the plan may still take reports: the last good plan goes on.
        """
        etag = self._state.text("plan_etag") if self._state.plan() else ""
        try:
            answer = self.agent.portal.get("/api/v1/agent/plan", {"If-None-Match": etag} if etag else {})
        except Unreachable as error:
            self._failed(str(error), None, moment)
            return False
        if answer.status not in (200, 304):
            wait = retry_after(answer)
            self._failed(f"the portal answered {answer.status} when asked for the plan", wait, moment)
            return wait is None and answer.status < 500
        self._state.mark("asked", moment)
        if answer.status == 200:
            self._keep_plan(answer)
        return True

    def _keep_plan(self, answer: Answer) -> None:
        raw = answer.json()
        plan = None if raw is None else checked_plan(raw)
        if plan is None:
            self._messages.append(
                "the plan cannot be used (no JSON, too long, or no report schema in common): update this agent"
            )
            return
        self._state.set_plan(plan.as_sent())
        self._state.set_text("plan_etag", answer.headers.get("etag", "")[:LONGEST_ETAG])

    def _measure(self, due: List[Due]) -> None:
        """Run each probe once, whichever reports need it: no counter is read twice in a tick."""
        if not due:
            return
        measured = self.agent.measure(tuple({probe.name: probe for one in due for probe in one.probes}.values()))
        for one in due:
            if one.probes:
                self._report(one, measured.of_probes(one.probes))
            else:  # a re-check of what another report of this tick measures, or of what no probe can measure
                self._state.add_rechecks_done(list(one.rechecks))

    def _report(self, due: Due, measured: Measured) -> None:
        report = build_report(
            due.cadence,
            measured,
            self.agent.origin(),
            evidence=choose_evidence(measured.outcomes, self._state, measured.finished),
            lost=self.agent.spool.lost(),
            plan_etag=self._plan_etag() or None,
        )
        entry, complaint = store(self.agent.spool, report)
        if complaint:
            self._messages.append(complaint)
            self._unspooled.append(entry)
        self._reports.append({key: report[key] for key in ("report_id", "cadence", "covered")})
        note_outcome(self._state, due, measured.covered(), measured.failed_items(), measured.finished)
        if due.cadence == "tick":
            self._state.set_number("job_running", is_job_running(measured.facts()))

    def _push(self) -> int:
        """Send what waits; the number delivered."""
        if not self._unspooled and not self._waiting():
            return 0
        time.sleep(jitter(self.agent.hostname, self._spread))
        flushed = flush(self.agent.portal, self.agent.spool, self._unspooled)
        self._learn(flushed)
        return flushed.sent

    def _keep_silent(self) -> int:
        """Not a word to the portal; what no disk took is lost with that."""
        lose(self.agent.spool, self._unspooled)
        return 0

    def _trim_spool(self) -> None:
        try:
            self.agent.spool.trim(now())
        except OSError as error:
            self._messages.append(f"spool cannot be trimmed ({error.strerror}): old reports stay")

    def _refresh_decisions(self) -> None:
        """Keep the decisions fresh that ``gate`` was asked for lately: a Prolog must find one, and must not wait."""
        from readiness_agent.decision import DecisionCache, refresh

        cache = DecisionCache(self.agent.paths.state)
        for run in cache.runs_in_use(now()):
            complaint = refresh(self.agent, cache, run)
            if complaint:
                self._messages.append(complaint)

    def _tell_settings(self, moment: Moment) -> None:
        """Read all settings, and tell the portal of them where they changed, or once a day that they did not."""
        from readiness_agent.fingerprint import FINGERPRINT, decoded
        from readiness_agent.fingerprint.sending import tell

        self._state.mark("fingerprint", moment)
        self._state.set_text("fingerprint_boot", moment.boot_id)
        outcomes = self.agent.measure((FINGERPRINT,)).outcomes
        found = next((decoded(one.result) for one in outcomes if one.probe.name == FINGERPRINT.name), None)
        if found is None:
            self._messages.append("settings not told: they could not be read in time")
            return
        told = self._state.age("fingerprint_told", moment)
        if found.sha256 == self._state.text("fingerprint") and told is not None and told < DAY:
            return
        complaint = tell(self.agent.portal, found)
        if complaint:
            self._messages.append(complaint)
            return
        self._state.set_text("fingerprint", found.sha256)
        self._state.mark("fingerprint_told", moment)

    def _learn(self, flushed: Flushed) -> None:
        """What the portal's answers mean for later ticks."""
        moment = now()
        if flushed.message and not flushed.sent:
            self._failed(flushed.message, flushed.retry_after, moment)
        else:
            self._state.set_number("failed_ticks", 0)
            self._messages += [flushed.message] if flushed.message else []
            if flushed.retry_after is not None:
                self._hold(flushed.retry_after, moment)
        for answer in flushed.answers.values():
            etag = answer.get("plan_etag")
            if answer.get("recheck") or (etag and bare_etag(str(etag)) != self._plan_etag().partition(".")[0]):
                self._state.forget("asked")
            wait = bounded(answer.get("retry_after"), 0.0, LONGEST_WAIT, 0.0)
            if wait > 0:
                self._hold(wait, moment)

    def _plan_etag(self) -> str:
        return bare_etag(self._state.text("plan_etag"))

    def _failed(self, message: str, wait: Optional[float], moment: Moment) -> None:
        self._messages.append(message)
        failures = self._state.number("failed_ticks") + 1
        self._state.set_number("failed_ticks", failures)
        if wait is not None:
            self._hold(wait, moment)
        elif failures > 1:
            longest = min(BACK_OFF_LONGEST, BACK_OFF_FIRST * 2 ** min(failures - 2, 10))
            self._hold(random.uniform(0, longest), moment)  # noqa: S311  spreads a fleet; it guards nothing

    def _hold(self, seconds: float, moment: Moment) -> None:
        self._state.mark("hold", moment)
        self._state.set_number("hold_seconds", seconds)

    def _save(self) -> None:
        try:
            if not self._state.save():
                self._messages.append("state unwritable: what this agent remembers lies in memory only")
        except OSError as error:
            self._messages.append(f"state unwritable ({error.strerror}): the next tick measures everything again")
