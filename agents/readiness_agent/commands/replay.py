"""``replay``: runs the probes on a capture instead of this machine and pushes what they find, said to be a replay."""

from __future__ import annotations

import argparse
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from readiness_agent.agent import measure_elsewhere
from readiness_agent.capture import read_capture
from readiness_agent.commands.check import print_verdicts
from readiness_agent.config import Config, check_portal, load_config, read_token
from readiness_agent.errors import AgentError, config_error, log, usage_error
from readiness_agent.fingerprint import read_fingerprint
from readiness_agent.fingerprint.sending import tell
from readiness_agent.lines import fact_line, problem_line
from readiness_agent.node import Moment, now, seconds_since
from readiness_agent.options import answer, make_parser, parse, paths_of
from readiness_agent.plan import DAY, Plan, checked_plan
from readiness_agent.probes import PROBES
from readiness_agent.probes.settings import setting_probes
from readiness_agent.push import DELIVERED, KEPT, pack, send
from readiness_agent.replaying import Capture, ReplaySource, Snapshot, merged
from readiness_agent.report import Measured, Origin, all_evidence, build_report
from readiness_agent.source import Probe
from readiness_agent.spool import Entry
from readiness_agent.transport import Portal, Unreachable

EXIT_CODES = "0 all delivered (--no-push: measured), 1 refused, 2 unknown (--no-push), 3 portal away"
REFUSED, UNKNOWN, AWAY = 1, 2, 3


class Step(NamedTuple):
    """One report of a replay."""

    cadence: str
    measured: Measured
    moment: Moment


def main(argv: Sequence[str]) -> int:
    """Push one report a snapshot, oldest first; the last snapshot counts as now."""
    options = _options(argv)
    capture = read_capture(options.capture)
    if options.dry_run:
        times = [snapshot.moment.unix for snapshot in capture.snapshots]
        answer(options, {"snapshots": times}, f"would push {len(times)} snapshot(s) of {options.capture}")
        return 0
    if options.no_push:
        return _show(options, capture)
    config, token = _node(options)
    return _push(options, capture, config, token)


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = make_parser("replay", "Run the probes on a capture instead of this machine, and push.", EXIT_CODES)
    parser.add_argument("capture", metavar="FILE", help="archive of `capture`, its directory, or one of loose outputs")
    parser.add_argument("--as-node", metavar="N", help="hostname to report as (default: the enrolled one)")
    parser.add_argument("--portal", metavar="URL", help="portal (default: the enrolled one)")
    parser.add_argument("--token-file", metavar="FILE", help="that node's token (default: the enrolled one)")
    parser.add_argument("--no-push", action="store_true", help="print facts and problems of the last snapshot only")
    return parse(parser, argv)


def _node(options: argparse.Namespace) -> Tuple[Config, str]:
    """As which node to push: an enrolled replay node, or all of portal, name and token on the command line."""
    paths = paths_of(options)
    if options.portal and options.as_node and options.token_file:
        config = Config(portal=check_portal(options.portal), hostname=options.as_node, origin="replay")
        return config, read_token(options.token_file)
    config = load_config(paths)
    if config.origin != "replay":
        raise config_error(
            "a live node is never replayed: enrol another one with "
            "`readiness-agent enroll --home DIR --origin replay --hostname NAME …` and replay with --home DIR"
        )
    if options.as_node and options.as_node != config.hostname:
        raise usage_error(
            f"{paths.config} is of {config.hostname}: name the --home in which {options.as_node} is enrolled"
        )
    return config, read_token(options.token_file or paths.token)


def _show(options: argparse.Namespace, capture: Capture) -> int:
    measured = _measure(PROBES, capture, capture.snapshots[-1], Config(portal=""))
    document = {
        "facts": [fact._asdict() for fact in measured.facts()],
        "problems": [problem._asdict() for problem in measured.problems()],
    }
    lines = [fact_line(fact) for fact in measured.facts()] + [problem_line(one) for one in measured.problems()]
    answer(options, document, "\n".join(lines))
    return UNKNOWN if measured.problems() else 0


def _push(options: argparse.Namespace, capture: Capture, config: Config, token: str) -> int:
    portal = Portal(config, token)
    try:
        plan = _plan(portal)
        last = _push_steps(portal, capture, config, plan)
        if plan.fingerprint:
            _tell_settings(portal, capture)
    finally:
        portal.close()
    if last is not None:
        print_verdicts(options, last, None, ())
    return 0


def _plan(portal: Portal) -> Plan:
    """The plan of that node; the defaults where the portal gives none: the reports will say why."""
    try:
        answer = portal.get("/api/v1/agent/plan", {})
    except Unreachable:
        return Plan()
    return checked_plan(answer.json() or {}) or Plan() if answer.status == 200 else Plan()


def _tell_settings(portal: Portal, capture: Capture) -> None:
    """What the last snapshot holds of the node's settings; a capture without any tells nothing."""
    found = read_fingerprint(ReplaySource(capture.snapshots[-1]))
    complaint = tell(portal, found) if found.kinds else ""
    if complaint:
        log(complaint)


def _push_steps(portal: Portal, capture: Capture, config: Config, plan: Plan) -> Optional[Dict[str, Any]]:
    """Send all reports, oldest first; the portal's answer to the last full tick."""
    started, latest = now(), capture.snapshots[-1].moment
    last: Optional[Dict[str, Any]] = None
    for step in _steps(capture, config, plan):
        report = _report(step, config)
        age = latest.unix - step.moment.unix + seconds_since(started, now())
        entry = Entry("", report["report_id"], step.moment, report["lost"], pack(report))
        delivery = send(portal, entry, age)
        if delivery.outcome != DELIVERED:
            raise AgentError(delivery.message, AWAY if delivery.outcome == KEPT else REFUSED)
        log(f"{step.cadence} report of {config.hostname}, {age:.0f} s old, delivered")
        last = delivery.answer if step.cadence == "tick" else last
    return last


def _steps(capture: Capture, config: Config, plan: Plan) -> List[Step]:
    """A full tick a snapshot, and a full daily report at the first snapshot of each day.

    Without a plan nobody knows which items are daily, and a probe may cover those beside others: all are measured.
    """
    steps: List[Step] = []
    probes = (*PROBES, *setting_probes(plan.settings))
    often = [probe for probe in probes if probe.cadence in ("tick", "run")]
    last_daily: Optional[float] = None
    for snapshot in capture.snapshots:
        moment = snapshot.moment
        steps.append(Step("tick", _measure(often, capture, snapshot, config), moment))
        if last_daily is None or moment.unix - last_daily >= DAY:
            steps.append(Step("daily", _measure(probes, capture, snapshot, config), moment))
            last_daily = moment.unix
    return [step for step in steps if step.measured.covered()]


def _measure(probes: Sequence[Probe], capture: Capture, snapshot: Snapshot, config: Config) -> Measured:
    context = merged(config.probe_context(), capture.context)
    return measure_elsewhere(probes, context, lambda: ReplaySource(snapshot), snapshot.moment)


def _report(step: Step, config: Config) -> Dict[str, Any]:
    return build_report(
        step.cadence,
        step.measured,
        Origin(config.hostname, "replay", step.moment.unix),
        evidence=[entry for outcome in step.measured.outcomes for entry in all_evidence(outcome)],
        lost={"spool": 0, "bad": 0},
        plan_etag=None,
    )
