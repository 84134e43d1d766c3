"""What a cluster's own history makes of a published rate: Gamma and Poisson, as exactly as floats allow."""

from __future__ import annotations

import math
from dataclasses import dataclass

from checks.domain.reliability.poisson import PER

_STEPS = 200
_SMALL = 1e-12


@dataclass(frozen=True, slots=True)
class History:
    """Interruptions that were counted, and for how many node-days nodes were watched."""

    failures: int = 0
    node_days: float = 0.0


@dataclass(frozen=True, slots=True)
class Belief:
    """What is believed of a rate: *shape* failures in *node_days* days of a node."""

    shape: float
    node_days: float

    @property
    def mean(self) -> float:
        """Failures of a node in 1000 days."""
        return self.shape / self.node_days * PER

    def after(self, history: History) -> Belief:
        """With what was counted since."""
        return Belief(self.shape + history.failures, self.node_days + history.node_days)

    def quantile(self, part: float) -> float:
        """The rate below which the true one lies with probability *part*."""
        return gamma_quantile(self.shape, part) / self.node_days * PER


#: Before anything was counted: Meta's RSC-1 (6.50 failures of a node in 1000 days, arXiv 2410.21680), worth 150
#: node-days of watching, so that a month of five nodes already says more than it does.
PRIOR = Belief(shape=6.5 * 150 / PER, node_days=150.0)


def gamma_quantile(shape: float, part: float) -> float:
    """The *part* quantile of a Gamma distribution of scale 1, by halving.

    Raises:
        ValueError: *part* is not between 0 and 1, or the shape not above 0.
    """
    if not 0 < part < 1 or shape <= 0:
        raise ValueError("A quantile needs a part between 0 and 1 and a shape above 0.")
    low, high = 0.0, shape + 1.0
    while gamma_below(shape, high) < part:
        high *= 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if gamma_below(shape, middle) < part else (low, middle)
    return (low + high) / 2


def gamma_below(shape: float, x: float) -> float:
    """The probability that a Gamma variable of scale 1 lies below *x*: a series, or beyond its mean a fraction."""
    if x <= 0:
        return 0.0
    scale = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    if x < shape + 1:
        return scale * _series(shape, x)
    return 1 - scale * _fraction(shape, x)


def _series(shape: float, x: float) -> float:
    term = total = 1 / shape
    n = shape
    while term > total * _SMALL:
        n += 1
        term *= x / n
        total += term
    return total


def _fraction(shape: float, x: float) -> float:
    """Lentz's way of working out a continued fraction."""
    tiny = 1e-300
    b = x + 1 - shape
    c, d = 1 / tiny, 1 / b
    found = d
    for n in range(1, 10_000):
        a = -n * (n - shape)
        b += 2
        d = 1 / (a * d + b or tiny)
        c = b + a / c or tiny
        step = d * c
        found *= step
        if abs(step - 1) < _SMALL:
            break
    return found
