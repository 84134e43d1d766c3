"""``rdma-bandwidth``: this node measures with partners that the portal names, one after the other, until it is done.

The portal judges what both ends of a trial say. The report says what each card wrote at its best, which shows that it
was measured and how fast the card is, whatever a partner was like.
"""

from __future__ import annotations

import time
from typing import Any, Dict, List

from readiness_agent.facts import ERROR, MISSING, CouldNotMeasure, Findings, ProbeResult
from readiness_agent.offline.bench import Bench, OfflineProbe
from readiness_agent.offline.perftest import Gear, Trial, gear_of
from readiness_agent.offline.turns import Done, Offer, Turn, is_host

ITEM = "rdma-bandwidth"
FULL_SECONDS = 3600.0
FLOW_SECONDS, SHORT_FLOW_SECONDS = 7, 3
"""With a second left out at either end, 5 s are measured; a shortened run measures 1 s, and says so."""
SHORT = 300.0
"""With less time than this for all of it, flows are short."""
TEXT_KEPT = 6000
_MEMORIES = (("host", "host_bandwidth"), ("gpu", "gpu_bandwidth"))


def measure_links(bench: Bench) -> ProbeResult:
    """Trials until the portal has no more, or the time is over."""
    if bench.turns is None:
        raise CouldNotMeasure(MISSING, "this is measured with partners that the portal names: leave out --no-push")
    gear = gear_of(bench.source, bench.config.rdma_devices)
    offer = offer_of(bench, gear)
    findings, outcomes, texts = Findings(bench.source.now_boottime()), [], []
    end = time.monotonic() + bench.seconds
    why = "the time was over before a partner was free"
    while time.monotonic() < end:
        turn = bench.turns.next(offer)
        if isinstance(turn, Turn):
            trial = Trial(bench.source, gear, turn)
            outcomes.append(trial.run())
            bench.turns.tell(turn.trial, outcomes[-1])
            texts += trial.texts
        elif isinstance(turn, Done):
            why = turn.why
            break
        else:
            time.sleep(max(0.0, min(turn.seconds, end - time.monotonic())))
    _say(findings, gear, outcomes, why)
    findings.evidence("\n".join(texts)[-TEXT_KEPT:], ITEM)
    return findings.result()


def offer_of(bench: Bench, gear: Gear) -> Offer:
    """What this node offers its partners.

    Raises:
        CouldNotMeasure: the configuration names no plain address.
    """
    address = bench.config.rdma_address or bench.turns.hostname if bench.turns is not None else ""
    if not is_host(address):
        raise CouldNotMeasure(ERROR, f"rdma_address of agent.json is {address!r}: write a plain host name or address")
    flow_s = FLOW_SECONDS if bench.seconds >= SHORT else SHORT_FLOW_SECONDS
    return Offer(address, min(len(gear.cards), 16), gear.gpu_memory, flow_s)


def _say(findings: Findings, gear: Gear, outcomes: List[Dict[str, Any]], why: str) -> None:
    findings.fact(ITEM, "trials", len(outcomes), "count")
    for place, card in enumerate(gear.cards):
        told = [one for outcome in outcomes for one in outcome["cards"] if one["number"] == place]
        for ours, name in _MEMORIES:
            rates = [one[ours] for one in told if ours in one]
            if rates:
                findings.fact(ITEM, name, max(rates), "Gb/s", card.name)
        findings.fact(ITEM, "rate", card.rate, "Gb/s", card.name)
    if not outcomes:
        findings.problem(ITEM, ERROR, f"no link was measured: {why}")
    for problem in dict.fromkeys(outcome["problem"] for outcome in outcomes if outcome["problem"]):
        findings.problem(ITEM, ERROR, problem)


LINKS = OfflineProbe("links", (ITEM,), FULL_SECONDS, measure_links, overhead=600.0)
