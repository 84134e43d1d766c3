"""``tick``: what cron or the timer starts each minute."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Sequence, Tuple

from readiness_agent.config import Paths
from readiness_agent.errors import config_error, log
from readiness_agent.files import make_private_directory
from readiness_agent.lock import LONG_HELD, TickLock
from readiness_agent.options import answer, make_parser, parse, paths_of
from readiness_agent.values import bounded

if TYPE_CHECKING:
    from readiness_agent.source import Probe
    from readiness_agent.ticking import Tick

EXIT_CODES = "0 also when the portal is away (what was measured waits in the spool)"
LONGEST_SPREAD = 30.0


def main(argv: Sequence[str]) -> int:
    """Measure what is due, push, exit."""
    parser = make_parser("tick", "Measure what is due, push it with what waits in the spool, and exit.", EXIT_CODES)
    parser.add_argument(
        "--spread", type=float, default=0.0, metavar="S",
        help="wait up to S (at most 30) seconds, by a hash of the hostname, between measuring and pushing",
    )  # fmt: skip
    options = parse(parser, argv)
    paths = paths_of(options)
    if options.dry_run:
        return _say_due(options, paths)
    _make_state_directory(paths.state)
    lock = TickLock(paths.in_state("lock"))
    if not lock.acquire():
        return _say_held(lock)

    from readiness_agent.agent import be_quiet

    tick = _tick(options, paths)
    be_quiet(tick.agent.config)
    result = tick.run()
    for message in result.messages:
        log(message)
    line = f"{len(result.reports)} report(s) made, {result.sent} delivered, {result.waiting} waiting"
    answer(options, result._asdict(), line)
    lock.release()
    _measure_offline(tick)
    return 0


def _measure_offline(tick: Tick) -> None:
    """Begin what the plan names for this window, beside the ticks that go on: they measure under its load."""
    due = tick.agent.plan().offline
    if not due or not tick.agent.config.allow_disruptive:
        return
    from readiness_agent.offline.background import begin

    begin(due, tick.agent)


def _tick(options: argparse.Namespace, paths: Paths) -> Tick:
    from readiness_agent.agent import Agent
    from readiness_agent.ticking import Tick

    agent = Agent(paths)
    agent.require_live()
    return Tick(agent, load_probes, bounded(options.spread, 0.0, LONGEST_SPREAD, 0.0))


def _say_due(options: argparse.Namespace, paths: Paths) -> int:
    """What a tick would measure now. Changes nothing, so it needs no lock and no directory."""
    from readiness_agent.node import now

    due = [
        {"cadence": one.cadence, "probes": [probe.name for probe in one.probes]}
        for one in _tick(options, paths).due(now())
    ]
    answer(options, {"due": due}, "\n".join(f"{one['cadence']}: {', '.join(one['probes'])}" for one in due))
    return 0


def load_probes() -> Tuple[Probe, ...]:
    """All probes, imported now: most ticks have nothing due and need none."""
    from readiness_agent.probes import PROBES

    return PROBES


def _make_state_directory(path: str) -> None:
    try:
        make_private_directory(path)
    except OSError as error:
        raise config_error(f"{path} cannot be made ({error.strerror}): run as the agent's user") from None


def _say_held(lock: TickLock) -> int:
    """Another tick runs. That is usual after a slow one, and worth a line only when it goes on."""
    held = lock.held_for()
    if held is not None and held > LONG_HELD:
        log(f"another tick has been running for {held / 60:.0f} min; if it never ends, restart the node's agent")
    return 0
