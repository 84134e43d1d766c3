"""Which of the ready nodes to take, so that a job lies on as few switches as possible."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from checks.domain.answers import Answer, Fold
from checks.domain.verdicts import Decision

#: What stands where nobody stated a node's switch. Such nodes are one group of their own, never part of another.
UNKNOWN_SWITCH = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes on one switch."""

    switch: str
    nodes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.nodes)


@dataclass(frozen=True, slots=True)
class Placement:
    """The best choice for *count* nodes: all that are ready where there are fewer.

    ``largest`` is how many ready nodes the largest known switch has, chosen or not.
    """

    count: int
    groups: tuple[Group, ...]
    largest: int

    @property
    def nodes(self) -> tuple[str, ...]:
        """The chosen nodes."""
        return tuple(node for group in self.groups for node in group.nodes)

    @property
    def is_enough(self) -> bool:
        """Whether as many were ready as were asked for."""
        return len(self.nodes) >= self.count

    @property
    def explanation(self) -> str:
        """Why it is these nodes and no better choice, in a sentence or two."""
        found = len(self.nodes)
        if not self.is_enough:
            return f"Only {found} of the {self.count} nodes asked for can be had; no other node is ready."
        unplaced = sum(len(group) for group in self.groups if group.switch == UNKNOWN_SWITCH)
        said = f"The {found} nodes lie on one switch."
        if len(self.groups) > 1:
            said = (
                f"No fewer than {len(self.groups)} switches hold {found} ready nodes; the largest has {self.largest}."
            )
        if unplaced == found:
            said = "No switch is known of any of these nodes."
        elif unplaced:
            said += f" Nodes on no known switch: {unplaced}, counted as one group."
        return said


def choose_nodes(ready: Mapping[str, str], *, count: int) -> Placement:
    """*count* of the *ready* nodes (node -> its switch) over the fewest switches; all of them where they are too few.

    Switches share no nodes, so the largest ones hold the most, and taking the largest first is exact, whatever the
    number. The last one taken is the smallest that suffices: it leaves the larger ones whole for the next job. Nodes
    without a known switch are taken only where the number of switches would grow without them.
    """
    groups = _by_switch(ready)
    taken = _fewest(groups, count) if len(ready) >= count else groups
    largest = max((len(group) for group in groups if group.switch != UNKNOWN_SWITCH), default=0)
    return Placement(count, tuple(_cut(taken, count)), largest)


@dataclass(frozen=True, slots=True)
class ReadyNodes:
    """What the gate answers to *which nodes could I take*: its own answer about the cluster, or the start of a run on
    its pool, and the choice.
    """

    answer: Answer
    placement: Placement

    @property
    def decision(self) -> Decision:
        """*ready* with as many nodes as were asked for; *not_ready* where there could never be so many.

        Otherwise what the gate says of the whole: *unknown* while no node has failed. No nodes are enough for a run
        that may not start.
        """
        if self._is_enough:
            return Decision.READY
        return Decision.NOT_READY if self._asks_too_much else self.answer.decision

    @property
    def next_action(self) -> str:
        """What to do now, in one sentence."""
        if self._is_enough:
            return "Start the job on these nodes while this answer holds."
        if self._asks_too_much:
            return f"Ask for fewer nodes: {self.answer.run or self.answer.cluster} has {self.answer.asked}."
        return self.answer.next_action

    @property
    def _is_enough(self) -> bool:
        return self.placement.is_enough and (self.answer.run is None or self.answer.ready)

    @property
    def _asks_too_much(self) -> bool:
        return 0 < self.answer.asked < self.placement.count

    def as_json(self, fold: Fold) -> dict[str, object]:
        """The body of the API's answer. Reasons are those of the whole, and stand there only where not *ready*."""
        whole = self.answer.as_json(fold)
        enough = {"reasons": [], "reasons_total": 0} if self._is_enough else {}
        kept = ("purpose", "basis", "cluster", "run", "catalog_version", "evaluated_at", "expires_at", "ttl_s",
                "reasons", "reasons_total")  # fmt: skip
        return {
            "decision": self.decision,
            "ready": self.decision is Decision.READY,
            **{name: whole[name] for name in kept},
            **enough,
            "nodes": {
                "hosts": fold(self.placement.nodes),
                "asked": self.placement.count,
                "chosen": len(self.placement.nodes),
                "ready": len(self.answer.ready_nodes),
                "of": self.answer.asked,
            },
            "switches": [
                {"switch": group.switch or None, "hosts": fold(group.nodes), "nodes": len(group)}
                for group in self.placement.groups
            ],
            "explanation": self.placement.explanation,
            "next_action": self.next_action,
        }


def _by_switch(ready: Mapping[str, str]) -> list[Group]:
    """The largest first; among equals by name, and the nodes on no known switch last."""
    held: dict[str, list[str]] = defaultdict(list)
    for node in sorted(ready):
        held[ready[node]].append(node)
    groups = [Group(switch, tuple(nodes)) for switch, nodes in held.items()]
    return sorted(groups, key=lambda group: (-len(group), group.switch == UNKNOWN_SWITCH, group.switch))


def _fewest(groups: Sequence[Group], count: int) -> list[Group]:
    """The fewest of *groups* that hold *count* nodes together; the last one is the smallest that completes them."""
    size = next(size for size in range(1, len(groups) + 1) if _held(groups[:size]) >= count)
    known = [group for group in groups if group.switch != UNKNOWN_SWITCH]
    pool = known if _held(known[:size]) >= count else groups
    first = list(pool[: size - 1])
    lacking = count - _held(first)
    return [*first, next(group for group in reversed(pool[size - 1 :]) if len(group) >= lacking)]


def _held(groups: Sequence[Group]) -> int:
    return sum(map(len, groups))


def _cut(groups: Sequence[Group], count: int) -> Iterator[Group]:
    """*groups* without the nodes beyond *count*."""
    for group in groups:
        yield replace(group, nodes=group.nodes[:count])
        count -= len(group)
