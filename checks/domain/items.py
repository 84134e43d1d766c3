"""A checklist item as data: what is measured, what must hold, and what that means to people.

An item's *version* is the hash of what can change a verdict: key, scope, source, cadence, criteria, severity, validity
and applicability. Texts are left out, so that a corrected translation outdates no signature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from checks.domain.canonical import Tag, digest
from checks.domain.units import Threshold, Unit
from checks.domain.verdicts import Cadence, Flow, Layer, Owner, Scope, Severity, Source


class Operator(StrEnum):
    """How a measured value is held against a threshold. There is no expression language."""

    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"
    IN = "in"
    NOT_IN = "not_in"
    BITMASK = "bitmask"
    ONLY = "only"
    WITHOUT = "without"
    DELTA_OVER = "delta_over"
    SUSTAINED = "sustained"
    UNIFORM = "uniform"
    BALANCED = "balanced"
    SURVIVES = "survives"
    NEW_ENOUGH = "new_enough"


#: Operators that compare one value with one threshold, and may be used inside others and in conditions.
COMPARISONS = frozenset({
    Operator.EQ, Operator.NE, Operator.LT, Operator.LE, Operator.GT, Operator.GE,
    Operator.IN, Operator.NOT_IN, Operator.BITMASK, Operator.ONLY, Operator.WITHOUT,
})  # fmt: skip


class NeedsLoad(StrEnum):
    """What a sample of an idle subject is worth to a criterion."""

    PROVE = "prove"  # an idle sample may fail it, and never passes it
    ONLY = "only"  # an idle sample is no sample at all


class Trait(StrEnum):
    """What a hardware profile has, and an item may ask for."""

    GPU = "gpu"
    NVLINK = "nvlink"
    FABRIC = "fabric"
    RDMA = "rdma"
    ROCE = "roce"
    INFINIBAND = "infiniband"
    MULTI_NODE_NVLINK = "multi_node_nvlink"
    VIRTUAL = "virtual"
    BARE_METAL = "bare_metal"
    NVME_RAID = "nvme_raid"
    BMC = "bmc"
    CHECKPOINT = "checkpoint"


#: The kernel's own default is whatever it set itself, unless a file sets it (``fs.file-max``).
LIVE_DEFAULT = "live"


@dataclass(frozen=True, slots=True)
class Criterion:
    """One machine-readable condition, e.g. ``live ge 5000``.

    ``threshold_from`` names a threshold of the profile or of one of the catalogue's tables, ``threshold_fact`` another
    fact of the same subject; at most one of the three is given. ``window`` is the time span of ``delta_over`` (none:
    since the previous sample), ``hold`` how long ``sustained`` must have held to fail, ``compare`` the
    comparison inside ``sustained`` and ``survives``, ``by`` the fact by which ``new_enough`` finds its row. ``amount``:
    it says how much must have been measured; less leaves the item *unknown*, and is no failure of what was measured.
    """

    fact: str
    operator: Operator
    threshold: Threshold | None = None
    threshold_from: str | None = None
    threshold_fact: str | None = None
    compare: Operator | None = None
    window: timedelta | None = None
    hold: timedelta | None = None
    needs_load: NeedsLoad | None = None
    kernel_default: Threshold | None = None
    by: str | None = None
    amount: bool = False
    #: What a reading for this criterion is stored under: all that decides how it is measured, and no threshold.
    reading_key: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        others = (self.compare, self.threshold_fact, self.by, _span(self.window), _span(self.hold))
        object.__setattr__(self, "reading_key", ":".join(filter(None, (self.fact, self.operator, *others))))

    def as_json(self) -> dict[str, object]:
        """The criterion in the form that is hashed and signed; what is absent is left out."""
        given = {
            "fact": self.fact,
            "operator": self.operator,
            "threshold": self.threshold,
            "threshold_from": self.threshold_from,
            "threshold_fact": self.threshold_fact,
            "compare": self.compare,
            "window_s": self.window and self.window.total_seconds(),
            "for_s": self.hold and self.hold.total_seconds(),
            "needs_load": self.needs_load,
            "kernel_default": self.kernel_default,
            "by": self.by,
            "amount": self.amount or None,
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Condition:
    """When an item does not apply, or cannot be judged now: traits of the profile and one measured fact, all of them.

    A fact that was not measured never fulfils a condition: only what was seen can excuse an item.
    """

    traits: frozenset[Trait] = frozenset()
    fact: str | None = None
    operator: Operator | None = None
    threshold: Threshold | None = None

    def as_json(self) -> dict[str, object]:
        """The condition in the form that is hashed."""
        given = {"fact": self.fact, "operator": self.operator, "threshold": self.threshold}
        return {"traits": sorted(self.traits)} | {name: held for name, held in given.items() if held is not None}


@dataclass(frozen=True, slots=True)
class Texts:
    """What people read about an item, in one language."""

    title: str
    consequence: str
    verify: str
    remedy: str
    source_note: str


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that must hold before training starts."""

    key: str
    layer: Layer
    flow: Flow
    scope: Scope
    source: Source
    cadence: Cadence
    owner: Owner
    severity: Severity
    settle: int
    en: Texts
    zh: Texts
    shadow: bool = False
    disruptive: bool = False
    valid_for: timedelta | None = None
    traits: frozenset[Trait] = frozenset()
    identity: tuple[str, ...] = ()
    #: Settings of a fingerprint that the item watches, by name: what drift finds in them is on the checklist already.
    settings: tuple[str, ...] = ()
    facts: Mapping[str, Unit] = field(default_factory=dict)
    #: Facts that step one works out: a subject's share of the middle value among its loaded peers, by the fact shared.
    shares: Mapping[str, str] = field(default_factory=dict)
    criteria: tuple[Criterion, ...] = ()
    warn_criteria: tuple[Criterion, ...] = ()
    exempt: tuple[Condition, ...] = ()
    not_judged: tuple[Condition, ...] = ()
    #: Hash of what can change a verdict; kept by ``replace`` so that resolved thresholds leave it alone.
    version: str = ""
    # What follows from the above, worked out once: a report asks for it dozens of times.
    #: Criteria, then the milder ones.
    all_criteria: tuple[Criterion, ...] = field(init=False, repr=False, compare=False)
    #: Those that are proved under load only.
    load_criteria: tuple[Criterion, ...] = field(init=False, repr=False, compare=False)
    #: Operators of all criteria.
    operators: frozenset[Operator] = field(init=False, repr=False, compare=False)
    #: Whether the item can close a gate at all: a blocker that is not in shadow.
    blocks_gates: bool = field(init=False, repr=False, compare=False)
    #: Whether any criterion is proved under load only.
    needs_load: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.version:
            object.__setattr__(self, "version", digest(Tag.ITEM, self.semantics()))
        criteria = self.criteria + self.warn_criteria
        under_load = tuple(criterion for criterion in criteria if criterion.needs_load)
        derived = {
            "all_criteria": criteria, "load_criteria": under_load, "needs_load": bool(under_load),
            "operators": frozenset(criterion.operator for criterion in criteria),
            "blocks_gates": self.severity is Severity.BLOCKER and not self.shadow,
        }  # fmt: skip
        for name, held in derived.items():
            object.__setattr__(self, name, held)

    def texts(self, language: str) -> Texts:
        """The texts in *language* (``en``, ``zh`` or a regional form of it); English for any other."""
        return self.zh if language.lower().startswith("zh") else self.en

    def semantics(self) -> dict[str, object]:
        """The parts that make the item's version, by name."""
        return {
            "key": self.key,
            "scope": self.scope,
            "source": self.source,
            "cadence": self.cadence,
            "severity": self.severity,
            "valid_for": _span(self.valid_for) or "default",
            "criteria": [criterion.as_json() for criterion in self.criteria],
            "warn_criteria": [criterion.as_json() for criterion in self.warn_criteria],
            "traits": sorted(self.traits),
            "exempt": [condition.as_json() for condition in self.exempt],
            "not_judged": [condition.as_json() for condition in self.not_judged],
        } | ({"shares": dict(self.shares)} if self.shares else {})

    def parts(self) -> dict[str, object]:
        """Every part of the item by name, for telling what changed between two catalogues."""
        return self.semantics() | {
            "layer": self.layer,
            "flow": self.flow,
            "owner": self.owner,
            "settle": self.settle,
            "shadow": self.shadow,
            "disruptive": self.disruptive,
            "identity": self.identity,
            "settings": self.settings,
            "facts": dict(self.facts),
            "texts": (self.en, self.zh),
        }


def _span(span: timedelta | None) -> str:
    return f"{span.total_seconds():g}s" if span is not None else ""
