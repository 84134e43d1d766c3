"""What all nodes of a cluster say about one thing, made into the facts of an item that no node holds.

Nothing is judged here. A node that said nothing makes no fact: the item then has a problem, and is *unknown* unless the
others already fail it. An absent image, a name that does not resolve or a port that does not answer was measured, and
counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from checks.domain.units import Scalar

NODE: Final = ""
#: So many nodes are named in a sentence; all are counted.
_NAMED: Final = 5
_INFINIBAND: Final = "InfiniBand"


@dataclass(frozen=True, slots=True)
class NodeWord:
    """What one node last said of the item: subject -> name -> value; *problem* is why it could not say (all of) it."""

    node: str
    facts: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)
    problem: str = ""

    def of_node(self, name: str) -> Scalar | None:
        """A fact about the node as a whole."""
        return self.facts.get(NODE, {}).get(name)


@dataclass(frozen=True, slots=True)
class Derived:
    """The item's facts; *problem* is what is missing from them, in one sentence; *said* shows who said what."""

    facts: Mapping[str, Scalar] = field(default_factory=dict)
    problem: str = ""
    said: tuple[str, ...] = ()


def python_environments(words: Sequence[NodeWord]) -> Derived:
    """``python-env-uniform``: how many different sets of packages there are."""
    sets = _by_node(words, "environment")
    silent = [word for word in words if word.node not in sets]
    facts: dict[str, Scalar] = {"environments": len(set(sets.values()))} if sets else {}
    if not silent and sets:
        facts["nodes_not_measured"] = 0
    return Derived(facts, _silence(silent, words), _groups(sets))


def images(words: Sequence[NodeWord]) -> Derived:
    """``image-uniform``: how many different images there are, and how many nodes have none."""
    digests = _by_node(words, "digest")
    without = [word.node for word in words if word.of_node("present") is False]
    silent = [word for word in words if word.node not in digests and word.node not in without]
    facts: dict[str, Scalar] = {"nodes_without_image": len(without)}
    if digests:
        facts["digests"] = len(set(digests.values()))
    absent = (f"not present: {_names(without)}",) if without else ()
    return Derived(facts if digests or without else {}, _silence(silent, words), (*_groups(digests), *absent))


def lossless_classes(words: Sequence[NodeWord], *, switches_stated: bool) -> Derived:
    """``net-switch-qos``: cards that are set otherwise than most, and whether NCCL's traffic is lossless on all.

    The switch's half is a person's word: with *switches_stated* somebody states that it is as the cards are.
    """
    layers = {str(layer) for _, layer in _of_cards(words, "link_layer")}
    silent = [word for word in words if not any("link_layer" in facts for facts in word.facts.values())]
    if layers == {_INFINIBAND} and not silent:
        return Derived({"link_layer": _INFINIBAND})
    settings = {card: str(said) for card, said in _of_cards(words, "qos")}
    mapped = [bool(said) for _, said in _of_cards(words, "traffic_class_mapped")]
    silent += [word for word in words if word not in silent and word.problem]
    facts: dict[str, Scalar] = {"link_layer": " and ".join(sorted(layers))} if layers else {}
    if settings:
        facts["nics_differing"] = len(_odd(settings))
    if mapped and (False in mapped or not silent):
        facts["traffic_class_mapped"] = all(mapped)
    if switches_stated:
        facts["switch_matches"] = True
    unstated = "" if switches_stated else "nobody states that the switches are set as the cards are (net-topology-map)"
    return Derived(facts, _silence(silent, words) or unstated, _groups(settings))


def rendezvous(words: Sequence[NodeWord]) -> Derived:
    """``rendezvous``: nodes that do not find or reach the master, whether its port is free, and interfaces a node."""
    masters = _by_node(words, "master")
    silent = [word for word in words if word.node not in masters]
    if len(set(masters.values())) > 1:
        return Derived({}, "nodes name different places to meet at", _groups(masters))
    not_resolving = [word.node for word in words if word.of_node("resolves") is False]
    not_reaching = [word.node for word in words if word.of_node("reaches") is False]
    ports = [word.of_node("port_in_use") for word in words if word.of_node("port_in_use") is not None]
    numbers = [count for word in words if isinstance(count := word.of_node("socket_interfaces"), int)]
    facts: dict[str, Scalar] = {}
    if masters:
        facts = {"nodes_not_resolving": len(not_resolving), "nodes_not_reaching": len(not_reaching)}
    if ports:
        facts["port_in_use"] = any(ports)
    if numbers:
        facts["socket_interfaces"] = max(numbers, key=lambda count: abs(count - 1))
    alone = "no node of this cluster is the master, so nothing tells whether its port is free" if not ports else ""
    bad = [f"does not resolve: {_names(not_resolving)}", f"does not reach it: {_names(not_reaching)}"]
    said = tuple(line for line, nodes in zip(bad, (not_resolving, not_reaching), strict=True) if nodes)
    return Derived(facts, _silence(silent, words) or alone, said)


#: Items of scope cluster that need nothing but the nodes' own words.
FROM_NODES: Final[Mapping[str, Callable[[Sequence[NodeWord]], Derived]]] = {
    "python-env-uniform": python_environments,
    "image-uniform": images,
    "rendezvous": rendezvous,
}


def _by_node(words: Iterable[NodeWord], name: str) -> dict[str, str]:
    return {word.node: str(said) for word in words if (said := word.of_node(name)) is not None}


def _of_cards(words: Iterable[NodeWord], name: str) -> list[tuple[str, Scalar]]:
    """A fact of every card, by node and card."""
    return [
        (f"{word.node} {subject}", facts[name])
        for word in words
        for subject, facts in sorted(word.facts.items())
        if subject != NODE and name in facts
    ]


def _odd(values: Mapping[str, str]) -> list[str]:
    """Those outside the strict majority; without one all of them, because nobody knows which is right."""
    counts = Counter(values.values())
    usual = next((value for value, count in counts.items() if 2 * count > counts.total()), None)
    return [key for key, value in values.items() if value != usual]


def _groups(values: Mapping[str, str]) -> tuple[str, ...]:
    """One line a value, the most frequent first: how many say it, and who."""
    counts = Counter(values.values())
    return tuple(
        f"{value} · {count}: {_names(key for key, own in values.items() if own == value)}"
        for value, count in counts.most_common()
    )


def _silence(silent: Sequence[NodeWord], words: Sequence[NodeWord]) -> str:
    if not words:
        return "no node of this cluster was asked"
    if not silent:
        return ""
    why = f" ({silent[0].problem})" if silent[0].problem else ""
    return f"{len(silent)} of {len(words)} nodes did not say (all of) it: {_names(one.node for one in silent)}{why}"


def _names(nodes: Iterable[str]) -> str:
    named = list(nodes)
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return ", ".join(named[:_NAMED]) + more
