"""Interruptions that come by themselves, at a rate: how many, how soon, how surely, and how many nodes are away.

Rates are failures of a node in 1000 days. The job stops when any of its nodes does.
"""

from __future__ import annotations

import math

from checks.domain.cost.intervals import mttf_s

HOUR_S = 3600.0
PER = 1000.0
#: A rate is published for nodes of this many GPUs.
USUAL_GPUS = 8


def expected(nodes: float, days: float, rate: float) -> float:
    """Interruptions to expect."""
    return nodes * days * rate / PER


def at_least_one(nodes: float, days: float, rate: float) -> float:
    """The probability of one interruption or more, 0 to 1."""
    return -math.expm1(-expected(nodes, days, rate))


def mttf_h(nodes: int, rate: float) -> float:
    """Hours from one interruption to the next, on average; infinite without failures.

    Raises:
        ImpossibleInput: no node, or a negative rate.
    """
    return mttf_s(nodes, rate) / HOUR_S


def for_gpus(rate: float, gpus: int) -> float:
    """The rate of a node of *gpus* GPUs: failures are taken to come by the GPU."""
    return rate * gpus / USUAL_GPUS


def observed_rate(failures: int, node_days: float) -> float:
    """Failures of a node in 1000 days, as counted.

    Raises:
        ValueError: nothing was watched.
    """
    if node_days <= 0:
        raise ValueError("No node was watched for any time.")
    return failures / node_days * PER


def away_at_once(rate: float, repair_days: float) -> float:
    """The probability that a given node is being repaired at a given moment, 0 to 1."""
    return -math.expm1(-rate * repair_days / PER)


def spares_needed(nodes: int, rate: float, repair_days: float, *, surely: float = 0.99) -> int:
    """The fewest spares that are enough with probability *surely*: of the nodes of the job, each is away by itself.

    The quantile of a binomial distribution; ByteDance sizes its standby machines like that (SOSP 2025).

    Raises:
        ValueError: *surely* is no probability below 1.
    """
    if not 0 <= surely < 1:
        raise ValueError("Say how surely, from 0 to below 1.")
    away = away_at_once(rate, repair_days)
    spares, so_far = 0, _binomial(nodes, 0, away)
    while so_far < surely and spares < nodes:
        spares += 1
        so_far += _binomial(nodes, spares, away)
    return spares


def _binomial(n: int, k: int, p: float) -> float:
    """The probability of exactly *k* of *n*."""
    if p in (0.0, 1.0):
        return float(k == n * p)
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(ways + k * math.log(p) + (n - k) * math.log1p(-p))
