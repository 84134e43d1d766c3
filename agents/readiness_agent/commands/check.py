"""``check``: measure now, push, and print the verdicts as the portal judged them."""

from __future__ import annotations

import argparse
from typing import Any, Dict, List, Optional, Sequence, Tuple

from readiness_agent.agent import Agent, measure
from readiness_agent.config import Config, Paths, load_config
from readiness_agent.errors import AgentError, log, usage_error
from readiness_agent.files import make_private_directory
from readiness_agent.lines import fact_line, problem_line, verdict_lines
from readiness_agent.lock import TickLock
from readiness_agent.options import answer, make_parser, parse, paths_of
from readiness_agent.plan import checked_plan
from readiness_agent.probes import PROBES
from readiness_agent.probes.settings import setting_probes
from readiness_agent.push import flush, store
from readiness_agent.report import Measured, all_evidence, build_report
from readiness_agent.source import Probe
from readiness_agent.state import State

EXIT_CODES = "0 pass, warn or na (--no-push: measured), 1 fail, 2 unknown or stale, 3 portal away"
FAIL, UNKNOWN, AWAY = 1, 2, 3
LONGEST_TICK = 60.0
LONGEST_OFFLINE = 14400
LAYERS = ("physical", "system", "framework", "data", "operations")


def main(argv: Sequence[str]) -> int:
    """Run probes now; the portal judges."""
    options = _options(argv)
    if options.offline:
        return _measure_offline(options)
    paths = paths_of(options)
    probes = probes_for(options.items, (*PROBES, *_of_settings(paths)))
    if options.dry_run:
        names = [probe.name for probe in probes]
        answer(options, {"probes": names}, f"would run: {', '.join(names)}")
        return 0
    return _measure_only(options, paths, probes) if options.no_push else _measure_and_push(options, paths, probes)


def probes_for(items: Sequence[str], probes: Sequence[Probe] = PROBES) -> Tuple[Probe, ...]:
    """Those of *probes* that cover *items*; all of them when none is named. An unknown item is wrong usage."""
    known = {item for probe in probes for item in probe.items}
    unknown = sorted(set(items) - known)
    if unknown:
        raise usage_error(f"no probe measures {', '.join(unknown)}; known items: {', '.join(sorted(known))}")
    return tuple(probe for probe in probes if not items or set(items) & set(probe.items))


def _of_settings(paths: Paths) -> Tuple[Probe, ...]:
    """Probes of the settings that the last plan named."""
    plan = checked_plan(State(paths.in_state("state.json")).plan())
    return setting_probes(plan.settings) if plan else ()


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = make_parser("check", "Measure now, push, and print the verdicts as the portal judged them.", EXIT_CODES)
    parser.add_argument("items", nargs="*", metavar="ITEM", help="items to measure (default: all)")
    parser.add_argument("--layer", choices=LAYERS, help="print and count this layer's verdicts only")
    parser.add_argument("--no-push", action="store_true", help="print facts and problems; nothing is judged or sent")
    parser.add_argument(
        "--offline", action="store_true",
        help="measure what disturbs a job: the node is taken at the portal first, and given back after",
    )  # fmt: skip
    parser.add_argument("--seconds", type=float, metavar="S", help="with --offline: at most S seconds an item")
    options = parse(parser, argv)
    if options.seconds is not None and not (options.offline and 1 <= options.seconds <= LONGEST_OFFLINE):
        raise usage_error(f"--seconds goes with --offline, and is a number from 1 to {LONGEST_OFFLINE}")
    if options.layer and options.no_push:
        raise usage_error("--layer needs the portal, which knows the layers: leave out --no-push or --layer")
    return options


def _measure_offline(options: argparse.Namespace) -> int:
    """The same for offline items, which only a node that allows it measures."""
    from readiness_agent.offline.probes import offline_items, probes_of
    from readiness_agent.offline.taking import measure_alone, measure_and_push

    unknown = sorted(set(options.items) - set(offline_items()))
    if unknown:
        known = ", ".join(sorted(offline_items()))
        raise usage_error(f"no offline probe measures {', '.join(unknown)}; known items: {known}")
    probes, paths = probes_of(options.items), paths_of(options)
    if options.dry_run:
        names = [probe.name for probe in probes]
        answer(options, {"probes": names}, f"would take this node and run: {', '.join(names)}")
        return 0
    if options.no_push:
        return _tell(options, measure_alone(probes, config_if_any(paths), paths, options.seconds))
    agent = Agent(paths)
    agent.require_live()
    pushed = measure_and_push(agent, probes, options.seconds)
    if pushed.answer is None:
        log("measured, not judged: the report waits and goes with a later tick")
        return AWAY
    return print_verdicts(options, pushed.answer, options.layer, options.items)


def _measure_only(options: argparse.Namespace, paths: Paths, probes: Sequence[Probe]) -> int:
    """Facts and problems. Works on a node that is not enrolled, for whoever may run it."""
    return _tell(options, measure(probes, config_if_any(paths), paths))


def _tell(options: argparse.Namespace, measured: Measured) -> int:
    """What was measured, unjudged."""
    facts, problems = _asked(measured, options.items)
    document = {"facts": [fact._asdict() for fact in facts], "problems": [problem._asdict() for problem in problems]}
    lines = [fact_line(fact) for fact in facts] + [problem_line(problem) for problem in problems]
    answer(options, document, "\n".join(lines))
    return UNKNOWN if problems else 0


def config_if_any(paths: Paths) -> Config:
    """The node's configuration, or the defaults on a node that has none."""
    try:
        return load_config(paths)
    except AgentError:
        return Config(portal="")


def _asked(measured: Measured, items: Sequence[str]) -> Tuple[List[Any], List[Any]]:
    facts = [fact for fact in measured.facts() if not items or fact.item in items]
    problems = [problem for problem in measured.problems() if not items or problem.item in items]
    return facts, problems


def _measure_and_push(options: argparse.Namespace, paths: Paths, probes: Sequence[Probe]) -> int:
    agent = Agent(paths)
    agent.require_live()
    make_private_directory(paths.state)
    lock = TickLock(paths.in_state("lock"))
    if not lock.acquire_within(LONGEST_TICK):
        raise AgentError("a tick has been running for more than a minute: try again when it has ended", UNKNOWN)
    try:
        agent.spool.open()
    except OSError as error:
        log(f"spool unwritable ({error.strerror}): the report is sent from memory only")
    measured = agent.measure(probes)
    report = build_report(
        "check",
        measured,
        agent.origin(),
        evidence=[entry for outcome in measured.outcomes for entry in all_evidence(outcome)],
        lost=agent.spool.lost(),
        plan_etag=None,
    )
    entry, complaint = store(agent.spool, report)
    flushed = flush(agent.portal, agent.spool, [] if entry.path else [entry])
    agent.portal.close()
    for message in filter(None, (complaint, flushed.message)):
        log(message)
    if report["report_id"] not in flushed.answers:
        log("measured, not judged: the report waits and goes with a later tick")
        return AWAY
    return print_verdicts(options, flushed.answers[report["report_id"]], options.layer, options.items)


def print_verdicts(options: argparse.Namespace, got: Dict[str, Any], layer: Optional[str], items: Sequence[str]) -> int:
    """Print the portal's verdicts and return the exit code of the worst; no verdict at all proves nothing."""
    listed = got.get("verdicts")
    verdicts = [
        one
        for one in (listed if isinstance(listed, list) else [])
        if isinstance(one, dict)
        and (not layer or one.get("layer") == layer)
        and (not items or one.get("item") in items)
    ]
    answer(options, {**got, "verdicts": verdicts}, "\n".join(verdict_lines(verdicts)) or "the portal judged nothing")
    found = {str(one.get("verdict")) for one in verdicts}
    if "fail" in found:
        return FAIL
    return UNKNOWN if not found or not found <= {"pass", "warn", "na", "waived"} else 0
