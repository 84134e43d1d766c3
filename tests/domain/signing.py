"""Short ways to say what is signed, by whom, and what a run asks."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from checks.domain.answers import Answer
from checks.domain.launch import (
    IdentityChange,
    Launch,
    NodeFacts,
    RunFacts,
    SharedFacts,
    Started,
    decide_restart,
    decide_start,
)
from checks.domain.package import Header, Package
from checks.domain.policy import DEFAULT_POLICY
from checks.domain.readiness import BadRow, NodeSummary, Question
from checks.domain.signoff import LayerState, SignatureFacts, SignState, layer_state
from checks.domain.verdicts import Cadence, Layer, Purpose, Reason, Verdict
from tests.domain.building import NOON

PHYSICAL = DEFAULT_POLICY.layers[Layer.PHYSICAL]
HOUR = timedelta(hours=1)
A_MICROSECOND = timedelta(microseconds=1)
UUIDS = {f"gpu00{n}": f"00000000-0000-0000-0000-00000000000{n}" for n in (1, 2, 3)}


def package(**changes: Any) -> Package:
    """One layer over three nodes."""
    header = Header({"nodes_needed": 2, "world_size": 24}, DEFAULT_POLICY.digest).as_json()
    nodes = {uuid: f"hash-of-{host}" for host, uuid in UUIDS.items()}
    return replace(Package(Layer.PHYSICAL, header, "shared-1", nodes), **changes)


SIGNED = package()


def signature(number: int, role: str, signer: str, **changes: Any) -> SignatureFacts:
    """A signature of the first round, on what there is to sign at noon, for 72 hours."""
    given = SignatureFacts(number, role, signer, SIGNED.digest, 1, NOON, NOON + 72 * HOUR)
    return replace(given, **changes)


ANNA = signature(1, "hardware", "anna")
BO = signature(2, "platform", "bo")


def state(
    *signatures: SignatureFacts,
    now: datetime = NOON + HOUR,
    current: Package = SIGNED,
    signed: Iterable[Package] = (SIGNED,),
    needed: int = 2,
) -> LayerState:
    """The physical layer with these signatures."""
    return layer_state(signatures, current, {one.digest: one for one in signed}, PHYSICAL, needed, now)


ALL_SIGNED: Mapping[Layer, LayerState] = {
    layer: LayerState(SignState.SIGNED, 1, (1, 2), (), until=NOON + 72 * HOUR) for layer in Layer
}
STARTED = Started(NOON + 24 * HOUR, frozenset(Layer), frozenset(), frozenset(UUIDS.values()))


def summary(name: str = "gpu001", **changes: Any) -> NodeSummary:
    """A node against which nothing speaks."""
    healthy = NodeSummary(
        node=name, judged_under="rules-1", rules="rules-1", expected=frozenset({Cadence.TICK, Cadence.DAILY}),
        until={Cadence.TICK: NOON + 2 * HOUR, Cadence.DAILY: NOON + 20 * HOUR},
        bad=0, failed=0, pass_physical=12, pass_system=9,
    )  # fmt: skip
    return replace(healthy, **changes)


def row(name: str = "gpu001", verdict: Verdict = Verdict.FAIL, **changes: Any) -> BadRow:
    """A row that fails."""
    bad = BadRow(name, "physical", "gpu-ecc", "gpu3", verdict, Reason.CRITERION, Cadence.TICK, NOON, NOON + HOUR)
    return replace(bad, **changes)


def nodes(*rows: BadRow, only: Iterable[str] = UUIDS, **changes: Any) -> NodeFacts:
    """The asked nodes with these bad rows."""
    of = {name: [one for one in rows if one.node == name] for name in only}
    summaries = [
        summary(name, bad=len(bad), failed=sum(one.verdict is Verdict.FAIL for one in bad)) for name, bad in of.items()
    ]
    return replace(NodeFacts(summaries, rows), **changes)


def launch(asked: NodeFacts | None = None, *, purpose: Purpose = Purpose.START, **changes: Any) -> Launch:
    """A run of two nodes with a pool of three; all of them are asked, by name."""
    run = RunFacts("cleared" if purpose is Purpose.START else "running", 2, UUIDS)
    return replace(Launch(Question(purpose, "helios", "run-7"), run, asked or nodes()), **changes)


def start(
    asked: Launch, *, states: Mapping[Layer, LayerState] = ALL_SIGNED, shared: SharedFacts | None = None,
    now: datetime = NOON,
) -> Answer:  # fmt: skip
    """What a start is told."""
    return decide_start(asked, states, shared or SharedFacts(), now=now)


def restart(
    asked: NodeFacts | None = None, *, started: Started | None = STARTED, identities: Iterable[IdentityChange] = (),
    now: datetime = NOON, **changes: Any,
) -> Answer:  # fmt: skip
    """What a restart is told."""
    return decide_restart(launch(asked, purpose=Purpose.RESTART, **changes), started, identities, now=now)


def told(answer: Answer) -> tuple[str, list[str]]:
    """The decision and the codes of its reasons."""
    return answer.decision.value, [why.code.value for why in answer.reasons]
