"""``doctor``: what this agent can see, which tools are missing, which items will be unknown, and why."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Sequence

from readiness_agent import __version__
from readiness_agent.agent import measure
from readiness_agent.command import find_tool
from readiness_agent.commands.check import config_if_any
from readiness_agent.config import Paths, load_config, read_token
from readiness_agent.errors import AgentError
from readiness_agent.facts import CouldNotMeasure
from readiness_agent.lines import plain, problem_line
from readiness_agent.node import Moment, hostname
from readiness_agent.options import answer, make_parser, parse, paths_of
from readiness_agent.probes import PROBES
from readiness_agent.report import Measured
from readiness_agent.spool import Spool
from readiness_agent.state import State
from readiness_agent.transport import Portal, Unreachable

EXIT_CODES = "0 nothing found, 1 something to put right"
TOOLS = (
    "nvidia-smi",
    "amd-smi",
    "dcgmi",
    "ibstat",
    "chronyc",
    "timedatectl",
    "numactl",
    "ethtool",
    "lspci",
    "scontrol",
)


def main(argv: Sequence[str]) -> int:
    """Look at everything once, change nothing."""
    parser = make_parser("doctor", "What this agent can see, and which items will be unknown, and why.", EXIT_CODES)
    parser.add_argument("--no-push", action="store_true", help="do not talk to the portal")
    options = parse(parser, argv)
    paths = paths_of(options)
    if options.dry_run:
        names = [probe.name for probe in PROBES]
        answer(options, {"probes": names}, f"would run {', '.join(names)} and ask the portal for this node's plan")
        return 0
    measured = measure(PROBES, config_if_any(paths), paths)
    set_up = _set_up(paths, measured.finished, talk=not options.no_push)
    document = _document(measured, set_up)
    answer(options, document, _text(measured, document))
    return 1 if set_up or measured.problems() else 0


def _set_up(paths: Paths, moment: Moment, *, talk: bool) -> List[str]:
    """What is wrong with this installation, a sentence each."""
    try:
        config, token = load_config(paths), read_token(paths.token)
    except AgentError as error:
        return [str(error)]
    found = _state_complaints(paths, moment)
    if talk:
        found += _portal_complaints(Portal(config, token))
    return found


def _state_complaints(paths: Paths, moment: Moment) -> List[str]:
    found = []
    spool, state = Spool(paths.state), State(paths.in_state("state.json"))
    if not os.access(paths.state, os.W_OK):
        return [f"{paths.state} cannot be written by this user: run as the agent's user"]
    age = state.age("tick", moment)
    if age is None or age > 3 * 300:
        found.append("no tick has run lately: see that cron or the timer starts `readiness-agent tick` each minute")
    if os.path.isdir(spool.directory) and len(spool.waiting()) > 3:
        found.append(f"{len(spool.waiting())} reports wait in {spool.directory}: the portal has not taken them")
    lost = spool.lost()
    if any(lost.values()):
        found.append(f"reports lost and not yet told: {lost['spool']} dropped from the spool, {lost['bad']} refused")
    return found


def _portal_complaints(portal: Portal) -> List[str]:
    try:
        got = portal.get("/api/v1/agent/plan", {})
    except Unreachable as error:
        return [str(error)]
    finally:
        portal.close()
    if got.status == 200 and got.json() is not None:
        return []
    return [f"the portal answered {got.status} when asked for this node's plan: check the address, or enrol again"]


def _document(measured: Measured, set_up: List[str]) -> Dict[str, Any]:
    failed = measured.failed_items()
    return {
        "agent_version": __version__,
        "hostname": hostname(),
        "user": os.geteuid(),
        "set_up": set_up,
        "tools": {name: _where(name) for name in TOOLS},
        "measured": [item for item in measured.covered() if item not in failed],
        "problems": [problem._asdict() for problem in measured.problems()],
        "probe_seconds": {one.probe.name: round(one.seconds, 3) for one in measured.outcomes},
    }


def _where(name: str) -> str:
    """The path of a tool; empty when it is not installed. Not every node needs every one."""
    try:
        return find_tool(name)
    except CouldNotMeasure:
        return ""


def _text(measured: Measured, document: Dict[str, Any]) -> str:
    user = "root" if document["user"] == 0 else f"uid {document['user']}, so some files may be closed to it"
    lines = [f"readiness-agent {document['agent_version']} on {document['hostname']} as {user}"]
    lines += [f"set-up:   {plain(complaint)}" for complaint in document["set_up"]]
    lines.append("tools:    " + ", ".join(f"{name} {path or '(none)'}" for name, path in document["tools"].items()))
    lines.append(f"measured: {', '.join(document['measured']) or 'nothing'}")
    lines += [f"unknown:  {problem_line(problem)}" for problem in measured.problems()]
    return "\n".join(lines)
