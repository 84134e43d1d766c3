"""``manage.py fleet simulate``: how a portal on this machine fares with a fleet."""

import asyncio
import resource
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from checks.management.acts import told_in_one_line
from checks.management.simulation.figures import Figures
from checks.management.simulation.fleet import Access, SimulatedFleet, Wishes
from checks.management.simulation.wire import Wire, loopback_address
from checks.models import Cluster, TokenKind
from checks.selectors.rules import ruleset_for
from checks.services.closing import close_cluster
from checks.services.clusters import create_cluster
from checks.services.tokens import issue_token

PROFILE = "8xh200"
MOST_AGENTS, MOST_ROUNDS, LONGEST_SPREAD_S = 4096, 10, 300
HERD_S = 1.0
LONGEST_RUN_S = 900
TOKENS_LAST = timedelta(hours=1)
SPARE_FILES = 64
LOOPBACK = ("127.0.0.0/8", "::1/128")


class Command(BaseCommand):
    """Simulated nodes in a cluster of their own, over REST, as real agents would."""

    help = (
        "Simulate a fleet against a portal on this machine: enrol nodes in a new cluster, send rounds of full reports, "
        "and tell what was lost, doubled or answered wrongly. Exit 1 when anything was."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """``simulate``, with how many, how often, how close together, and what is wrong with them."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        one = verbs.add_parser("simulate", help="run one simulation; it takes 15 minutes at most")
        one.add_argument("--portal", default=settings.PORTAL_URL, help="its address; a loopback one (default: its own)")
        one.add_argument("--agents", type=_whole(1, MOST_AGENTS), default=64, help=f"up to {MOST_AGENTS} (default 64)")
        one.add_argument("--rounds", type=_whole(1, MOST_ROUNDS), default=2, help=f"up to {MOST_ROUNDS} (default 2)")
        when = one.add_mutually_exclusive_group()
        when.add_argument("--herd", action="store_true", help="send each round within one second")
        when.add_argument("--jitter", type=_whole(1, LONGEST_SPREAD_S), default=10, help="or within so many (10)")
        one.add_argument("--known", action="store_true", help="nodes have measured once before the first round")
        one.add_argument("--churn", type=_share, default=0.0, help="share of nodes replaced before each further round")
        one.add_argument("--faults", type=_share, default=0.0, help="share of nodes with a failing item or a hung tool")
        one.add_argument("--skew", type=_whole(0, 86_400), default=0, help="seconds that wall clocks may be wrong")
        one.add_argument("--seed", type=int, default=1, help="repeats a run's choices (default 1)")
        one.add_argument("--keep", action="store_true", help="leave the cluster open afterwards, to look at it")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the simulation, print its figures, exit by them."""
        spread_s = HERD_S if options["herd"] else float(options["jitter"])
        wishes = Wishes(
            agents=options["agents"], rounds=options["rounds"], spread_s=spread_s, churn=options["churn"],
            faults=options["faults"], skew_s=float(options["skew"]), known=options["known"],
        )  # fmt: skip
        with told_in_one_line():
            loopback_address(options["portal"])
            with _cluster(keep=options["keep"]) as cluster:
                self.stdout.write(f"{wishes.agents} agents ({PROFILE}) in {cluster.slug}, {wishes.rounds} rounds …")
                figures = _in_a_loop_of_its_own(options["portal"], _access(cluster, wishes), wishes, options["seed"])
        for line in figures.lines():
            self.stdout.write(line)
        if not figures.is_well:
            raise CommandError("The portal lost or doubled reports, or the gate was wrong: see above.")


def _in_a_loop_of_its_own(portal: str, access: Access, wishes: Wishes, seed: int) -> Figures:
    """Run in a thread of its own: whoever calls this command may have an event loop in theirs."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(lambda: asyncio.run(_simulate(portal, access, wishes, seed))).result()


async def _simulate(portal: str, access: Access, wishes: Wishes, seed: int) -> Figures:
    wire = Wire(portal, at_once=_connections(wishes.agents))
    try:
        async with asyncio.timeout(LONGEST_RUN_S):
            return await SimulatedFleet(wire, access, wishes, seed=seed).run()
    except TimeoutError:
        raise CommandError(f"Given up after {LONGEST_RUN_S} s: ask for fewer agents or rounds.") from None


@contextmanager
def _cluster(*, keep: bool) -> Iterator[Cluster]:
    """A cluster for this run alone."""
    now = timezone.now()
    slug = f"simulated-{now:%Y%m%d-%H%M%S-%f}"
    cluster = create_cluster(slug=slug, name="Simulated fleet", profile=PROFILE, by=None, now=now)
    try:
        yield cluster
    finally:
        if not keep:
            close_cluster(cluster=cluster, by=None, reason="the simulation is over", now=timezone.now())


def _access(cluster: Cluster, wishes: Wishes) -> Access:
    now = timezone.now()
    issue = partial(
        issue_token, now=now, expires_at=now + TOKENS_LAST, created_by=None, name="simulated fleet", networks=LOOPBACK
    )
    uses = wishes.agents * (1 + wishes.rounds)
    _, enrolment = issue(kind=TokenKind.ENROLMENT, cluster=cluster, uses_left=uses, hostname_pattern="sim*")
    _, gate = issue(kind=TokenKind.GATE, clusters=[cluster])
    return Access(cluster.slug, ruleset_for(cluster), enrolment, gate)


def _connections(agents: int) -> int:
    """How many connections may be open at once: one an agent, as far as this process may open files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * agents + SPARE_FILES
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(1, min(2 * agents, soft - SPARE_FILES))


def _whole(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdigit() or not least <= int(text) <= most:
            raise ArgumentTypeError(f"{text!r} is no whole number from {least} to {most}")
        return int(text)

    return read


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ArgumentTypeError(f"{text!r} is no share from 0 to 1")
    return share
