"""The closed vocabularies of the readiness domain, and how verdicts roll up.

A verdict says what was measured; a severity says what that does to a gate. `unknown` and `stale` are
not shades of `pass`: they rank above every good verdict and block a blocker item exactly as `fail` does.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Verdict(StrEnum):
    """What is known about one item of one subject. `stale` and `waived` are applied on read, never stored."""

    PASS = "pass"  # noqa: S105  (a verdict, not a password)
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"
    STALE = "stale"
    NA = "na"
    WAIVED = "waived"


#: Worst first: the order of roll-ups and of lists of reasons.
ROLL_UP_ORDER = (
    Verdict.FAIL,
    Verdict.UNKNOWN,
    Verdict.STALE,
    Verdict.WAIVED,
    Verdict.WARN,
    Verdict.PASS,
    Verdict.NA,
)
RANK = {verdict: rank for rank, verdict in enumerate(ROLL_UP_ORDER)}

#: Verdicts that close a gate when the item is a blocker.
BLOCKING = frozenset({Verdict.FAIL, Verdict.UNKNOWN, Verdict.STALE})


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict that a group shows. Nothing to roll up is `unknown`: an empty group proves nothing."""
    return min(verdicts, key=RANK.__getitem__, default=Verdict.UNKNOWN)


class Severity(StrEnum):
    """What an item's verdict does to the gate: a blocker closes it, a warning is shown."""

    BLOCKER = "blocker"
    WARNING = "warning"


class Layer(StrEnum):
    """Where an item belongs; each layer has its own gate and signatures."""

    PHYSICAL = "physical"
    SYSTEM = "system"
    FRAMEWORK = "framework"
    DATA = "data"
    OPERATIONS = "operations"


class Flow(StrEnum):
    """Which of a training cluster's four flows an item protects."""

    DATA = "data"
    COMPUTE = "compute"
    COMMUNICATION = "communication"
    STORAGE = "storage"
    ALL = "all"


class Scope(StrEnum):
    """What one row of an item speaks about."""

    NODE = "node"
    GPU = "gpu"
    NIC = "nic"
    LINK = "link"
    CLUSTER = "cluster"
    RUN = "run"
    ARTEFACT = "artefact"
    DATASET = "dataset"


#: Scopes whose rows belong to a node; the others are rows of the cluster, run, artefact or dataset.
NODE_HELD = frozenset({Scope.NODE, Scope.GPU, Scope.NIC})


class Source(StrEnum):
    """Who measures an item: a probe on a node, an audit of files, or a person with evidence."""

    PROBE = "probe"
    AUDIT = "audit"
    ATTESTED = "attested"


class Cadence(StrEnum):
    """When an item must be measured."""

    TICK = "tick"
    DAILY = "daily"
    OFFLINE = "offline"
    ATTESTED = "attested"
    RUN = "run"
    START = "start"


class Owner(StrEnum):
    """Who cures an item that fails."""

    HARDWARE = "hardware"
    PLATFORM = "platform"
    DATA = "data"
    USER = "user"


class Decision(StrEnum):
    """The gate's answer. `unknown` blocks as `not_ready` does."""

    READY = "ready"
    NOT_READY = "not_ready"
    UNKNOWN = "unknown"


class Purpose(StrEnum):
    """What a scheduler asks: is the node healthy, may this run start, may it start again."""

    HEALTH = "health"
    START = "start"
    RESTART = "restart"


class Reason(StrEnum):
    """Why a verdict is not `pass`, or why a gate is closed. The codes are part of the API."""

    # Why one row could not be judged, or what it missed
    CRITERION = "criterion"
    NEVER_MEASURED = "never_measured"
    NOT_REPORTED = "not_reported"
    NOT_MEASURED = "not_measured"
    MISSING = "missing"
    HUNG = "hung"
    DENIED = "denied"
    UNREADABLE = "unreadable"
    NOT_CAPTURED = "not_captured"
    ERROR = "error"
    NOT_LOADED = "not_loaded"
    NOT_JUDGED = "not_judged"
    NO_THRESHOLD = "no_threshold"
    UNIT_MISMATCH = "unit_mismatch"
    NOT_MEASURED_UNDER_VERSION = "not_measured_under_version"
    ONE_BOOT = "one_boot"
    NOT_UNIFORM = "not_uniform"
    # Why a node or a whole question cannot be answered
    STALE = "stale"
    REJUDGING = "rejudging"
    HARDWARE_CHANGED = "hardware_changed"
    BOOT_CONFLICT = "boot_conflict"
    REPLAYED = "replayed"
    MEASURING = "measuring"  # its agent took it for items that disturb a job
    NOTHING_PROVED = "nothing_proved"
    NO_NODES = "no_nodes"
    UNKNOWN_NODE = "unknown_node"
    RUN_REQUIRED = "run_required"
    UNSETTLED = "unsettled"
    SUSPECT_CHECK = "suspect_check"
    # Why a run may not start, or may not come back
    UNSIGNED = "unsigned"
    HALF_SIGNED = "half_signed"
    OUTDATED = "outdated"
    OUTDATED_NODE = "outdated_node"
    EXPIRED = "expired"
    REVOKED = "revoked"
    WAIVED = "waived"  # the one reason that closes nothing
    OVERRIDE_ENDED = "override_ended"
    NOT_IN_POOL = "not_in_pool"
    TOO_FEW_NODES = "too_few_nodes"
    RUN_OVER = "run_over"
    NOT_STARTED = "not_started"
    RESTART_OVER = "restart_over"
    IDENTITY_CHANGED = "identity_changed"
