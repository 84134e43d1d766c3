"""``gate``: the last cached decision about this node, at once; a new one is fetched behind the caller's back.

Slurm asks on all nodes in the same moment and kills who is late, so no caller of it ever waits for the network.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Sequence

from readiness_agent.agent import Agent
from readiness_agent.decision import Decision, DecisionCache, refresh
from readiness_agent.errors import AgentError, let_go, log
from readiness_agent.files import make_private_directory
from readiness_agent.lines import plain
from readiness_agent.node import now
from readiness_agent.options import answer, make_parser, parse, paths_of
from readiness_agent.slurm import drain, hardware_faults, may_drain

EXIT_CODES = (
    "plain: 0 ready, 1 not ready, 2 unknown or too old; slurm-prolog: 1 only for a fresh hardware fault of this node, "
    "0 otherwise; slurm-health: always 0"
)
READY, NOT_READY, UNKNOWN = 0, 1, 2
PLAIN, PROLOG, HEALTH = "plain", "slurm-prolog", "slurm-health"


def main(argv: Sequence[str]) -> int:
    """Answer from the cache in the way the caller needs."""
    parser = make_parser("gate", "May a job start here? The last cached decision, at once.", EXIT_CODES)
    parser.add_argument(
        "--run",
        default="",
        metavar="R",
        help="ask about this run (default: this node's health; Slurm is never told of more than that)",
    )
    parser.add_argument("--as", dest="caller", choices=(PLAIN, PROLOG, HEALTH), default=PLAIN, help="who asks")
    try:
        options = parse(parser, argv)
    except (SystemExit, OSError):
        if _is_of_slurm(argv):
            let_go(sys.stderr)
            return 0
        raise
    if options.caller == PLAIN:
        return _answer_for(options)
    try:
        return _answer_for(options)
    except Exception as error:  # whatever it is: Slurm would take it for a fault of this node, and of all others
        log(f"{error if isinstance(error, (AgentError, OSError)) else repr(error)}; nothing is held for that")
        return 0


def _is_of_slurm(argv: Sequence[str]) -> bool:
    """Whether Slurm asks: a slip in its configuration is one sentence in its log and drains no fleet."""
    return any("slurm" in one for one in argv)


def _answer_for(options: argparse.Namespace) -> int:
    agent = Agent(paths_of(options))
    if not options.dry_run:
        make_private_directory(agent.paths.state)
    if options.caller != PLAIN:
        options.run = ""  # what concerns a run and no node's hardware is decided by the controller, never here
    decision = _decide(agent, options)
    if options.caller == PROLOG:
        return _prolog(agent, decision)
    if options.caller == HEALTH:
        return _health(agent, decision, options)
    return _plain(options, decision)


def _decide(agent: Agent, options: argparse.Namespace) -> Decision:
    """The cached decision, refreshed afterwards. Only a plain caller without a fresh one waits for the portal."""
    cache, moment = DecisionCache(agent.paths.state), now()
    decision = cache.read(options.run, moment)
    if options.dry_run:
        return decision
    try:
        cache.note_use(options.run, moment)
        if options.caller == PLAIN and not decision.is_fresh:
            return _decide_now(agent, cache, options.run)
        _refresh_in_background(agent, cache, options.run)
    except OSError as error:
        log(f"the decision cannot be renewed ({error.strerror}): see that {agent.paths.state} can be written")
    return decision


def _decide_now(agent: Agent, cache: DecisionCache, run: str) -> Decision:
    complaint = refresh(agent, cache, run)
    agent.portal.close()
    if complaint:
        log(complaint)
    return cache.read(run, now())


def _refresh_in_background(agent: Agent, cache: DecisionCache, run: str) -> None:
    """Fork twice, so that nobody waits for the one who asks, and close what a waiting caller could listen to."""
    first = os.fork()
    if first:
        os.waitpid(first, 0)
        return
    try:
        os.setsid()
        if os.fork() == 0:
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null, stream)
            refresh(agent, cache, run)
    finally:
        os._exit(0)


def _plain(options: argparse.Namespace, decision: Decision) -> int:
    lines = [decision.word]
    if not decision.is_fresh:
        lines.append("no decision of the portal is fresh enough: see that it can be reached")
    lines += [
        plain(" ".join(str(one.get(key) or "") for key in ("code", "item", "subject", "remedy")))
        for one in decision.reasons
    ]
    document = {**decision.answer, "decision": decision.word, "cached_s": decision.age}
    answer(options, document, "\n".join(lines))
    return {"ready": READY, "not_ready": NOT_READY}.get(decision.word, UNKNOWN)


def _prolog(agent: Agent, decision: Decision) -> int:
    """Slurm drains a node whose Prolog fails, and holds the job: only a proven fault of this hardware is worth that."""
    faults = hardware_faults(decision, agent.hostname)
    if faults:
        log(f"held: {faults[0].get('item')} {faults[0].get('subject', '')} failed on this node")
        return 1
    if decision.word != "ready":
        log(f"the gate says {decision.word}, for no hardware fault of this node: not held here")
    return 0


def _health(agent: Agent, decision: Decision, options: argparse.Namespace) -> int:
    """slurmd does not register while HealthCheckProgram fails, so this never does; it drains by reason instead."""
    faults = hardware_faults(decision, agent.hostname)
    if not faults:
        return 0
    if not may_drain(decision):
        log(f"{faults[0].get('item')} failed, but the portal does not allow draining now")
    elif options.dry_run:
        log(f"would drain for {faults[0].get('item')}")
    else:
        log(drain(agent.hostname, faults[0]))
    return 0
