"""The rules that a hardware profile and a cluster's settings make of the catalogue.

A `Ruleset` is what a node is judged by. It puts thresholds into criteria and settles what applies: an item whose traits
the profile lacks is *na*, and so is one about a training environment that the cluster does not have; a criterion whose
threshold nobody states does not apply, and an item that is left without a criterion is *unknown*, never *pass*.
Conditions on traits are settled here, so that judging needs the item alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from checks.domain.canonical import Tag, digest
from checks.domain.catalogue import Catalogue
from checks.domain.errors import UnknownProfile
from checks.domain.facts import WHOLE_NODE
from checks.domain.hardware import Profile
from checks.domain.items import Condition, Criterion, Item, Operator
from checks.domain.overrides import Overrides
from checks.domain.passing import Passes, passing
from checks.domain.reference import Reference
from checks.domain.setting_items import item_key, setting_item
from checks.domain.uniform import is_compared
from checks.domain.units import Threshold
from checks.domain.verdicts import NODE_HELD, Cadence, Layer, Scope, Source

__all__ = ["Profile", "Ruleset", "TrainingEnv"]

_IMAGE = "image-uniform"


class TrainingEnv(StrEnum):
    """Where a cluster's jobs find the software that they train with."""

    HOST = "host"
    CONTAINER = "container"
    NONE = "none"  # not on the nodes: each job brings its own

    def has(self, item: Item) -> bool:
        """Whether there is anything on the nodes that *item* could be about.

        What a run is asked about itself (scope run, artefact or dataset) is asked of every run.
        """
        if item.layer is not Layer.FRAMEWORK or item.cadence is not Cadence.DAILY:
            return True
        if item.scope not in NODE_HELD | {Scope.CLUSTER}:
            return True
        return self is TrainingEnv.CONTAINER or (self is TrainingEnv.HOST and item.key != _IMAGE)


@dataclass(frozen=True, slots=True)
class Ruleset:
    """The catalogue as one kind of node in one cluster is judged by it.

    ``judged_under`` names these rules: it changes with anything that can change a verdict, and with no text.
    """

    catalogue_version: str
    profile: Profile
    items: Mapping[str, Item]
    applicable: frozenset[str]
    judged_under: str
    #: Items of the cluster's own, each with the name of the setting that it asks for.
    settings: Mapping[str, str] = field(default_factory=dict)
    # What follows from the above, worked out once: a report asks for it dozens of times.
    _subjects: Mapping[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)
    _due: Mapping[Cadence, tuple[str, ...]] = field(init=False, repr=False, compare=False)
    #: Keys of the items that apply and whose rows belong to a node.
    of_nodes: frozenset[str] = field(init=False, repr=False, compare=False)
    #: Keys of the items in which nodes are compared with one another.
    compared: frozenset[str] = field(init=False, repr=False, compare=False)
    #: By item: whether a value passes beyond doubt.
    passing: Mapping[str, Passes] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        derived: dict[str, object] = {
            "_subjects": {key: self._subjects_of(key) for key in self.items},
            "_due": {
                cadence: tuple(key for key in sorted(self.applicable) if self._measured_by_probe(key, cadence))
                for cadence in Cadence
            },
            "of_nodes": frozenset(key for key in self.node_items() if self.applies(key)),
            "compared": frozenset(key for key, item in self.items.items() if is_compared(item)),
            "passing": {key: passing(item) for key, item in self.items.items()},
        }
        for name, held in derived.items():
            object.__setattr__(self, name, held)

    @classmethod
    def build(
        cls,
        catalogue: Catalogue,
        profile_key: str,
        overrides: Mapping[str, object],
        training_env: TrainingEnv = TrainingEnv.HOST,
    ) -> Ruleset:
        """The rules for *profile_key* under *overrides* (in the stored form, see `Overrides`).

        Raises:
            UnknownProfile: the catalogue has no such profile.
            InvalidOverride: an override fits nothing in the catalogue.
        """
        profile = catalogue.profiles.get(profile_key)
        if profile is None:
            known = ", ".join(sorted(catalogue.profiles))
            raise UnknownProfile(f"There is no hardware profile {profile_key!r}; choose one of {known}.")
        own = Overrides.read(overrides, catalogue.items)
        resolver = _Resolver(profile, own, catalogue.reference)
        settings = {item_key(rule.name): rule for rule in own.settings}
        items = {**catalogue.items, **{key: setting_item(rule) for key, rule in settings.items()}}
        return cls(
            catalogue_version=catalogue.version,
            profile=profile,
            items={key: resolver.item(item) for key, item in items.items()},
            applicable=frozenset(
                key for key, item in items.items() if _applies(item, profile) and training_env.has(item)
            ),
            settings={key: rule.name for key, rule in settings.items()},
            judged_under=_judged_under(catalogue, profile, own, training_env),
        )

    def applies(self, item_key: str) -> bool:
        """Whether the profile has what the item asks for; otherwise it is *na*."""
        return item_key in self.applicable

    def subjects(self, item_key: str) -> tuple[str, ...]:
        """The subjects that must have a row: gpu0 … as the profile states, else the one subject ``""``."""
        return self._subjects[item_key]

    def _subjects_of(self, item_key: str) -> tuple[str, ...]:
        scope = self.items[item_key].scope
        if scope not in (Scope.GPU, Scope.NIC) or not self.applies(item_key):
            return (WHOLE_NODE,)
        return tuple(f"{scope}{place}" for place in range(self.profile.expected(scope))) or (WHOLE_NODE,)

    def node_items(self) -> tuple[str, ...]:
        """Keys of the items whose rows belong to a node."""
        return tuple(key for key, item in self.items.items() if item.scope in NODE_HELD)

    def due(self, cadence: Cadence) -> tuple[str, ...]:
        """Probe items of *cadence* that a full report of it must cover: those that apply and that nodes measure."""
        return self._due[cadence]

    def planned(self, cadence: Cadence) -> tuple[str, ...]:
        """What an agent is asked to measure in *cadence*: what is due, and with each tick what a start will ask."""
        asked = (Cadence.TICK, Cadence.START) if cadence == Cadence.TICK else (cadence,)
        return tuple(sorted(key for one in asked for key in self.due(one)))

    def _measured_by_probe(self, key: str, cadence: Cadence) -> bool:
        item = self.items[key]
        of_nodes = item.scope in NODE_HELD or item.scope in (Scope.CLUSTER, Scope.LINK)
        return of_nodes and item.source is Source.PROBE and item.cadence == cadence and not item.shadow


@dataclass(frozen=True, slots=True)
class _Resolver:
    profile: Profile
    overrides: Overrides
    reference: Reference

    def item(self, item: Item) -> Item:
        """*item* with thresholds put in and trait conditions settled; its version stays the catalogue's."""
        return replace(
            item,
            criteria=tuple(self._criteria(item, item.criteria)),
            warn_criteria=tuple(self._criteria(item, item.warn_criteria)),
            exempt=tuple(self._conditions(item.exempt)),
            not_judged=tuple(self._conditions(item.not_judged)),
        )

    def _criteria(self, item: Item, criteria: tuple[Criterion, ...]) -> Iterator[Criterion]:
        for criterion in criteria:
            own = self.overrides.threshold(item, criterion) if criterion in item.criteria else None
            threshold = own if own is not None else self._stated(criterion)
            if threshold is not None:
                yield replace(criterion, threshold=threshold, threshold_from=None, threshold_fact=None)
            elif criterion.threshold_fact or criterion.operator is Operator.UNIFORM:
                yield criterion

    def _stated(self, criterion: Criterion) -> Threshold | None:
        if criterion.threshold_from is None:
            return criterion.threshold
        places = (self.overrides.named, self.profile.thresholds, self.reference.thresholds)
        return next((place[criterion.threshold_from] for place in places if criterion.threshold_from in place), None)

    def _conditions(self, conditions: tuple[Condition, ...]) -> Iterator[Condition]:
        for condition in conditions:
            if condition.fact is not None and condition.traits <= self.profile.traits:
                yield replace(condition, traits=frozenset())


def _applies(item: Item, profile: Profile) -> bool:
    excused = any(one.fact is None and one.traits <= profile.traits for one in item.exempt)
    return item.traits <= profile.traits and not excused


def _judged_under(catalogue: Catalogue, profile: Profile, overrides: Overrides, training_env: TrainingEnv) -> str:
    items = {key: _rules_of(item) for key, item in catalogue.items.items()}
    rules = {"items": items, "profile": profile.semantics(), "overrides": overrides.semantics()}
    environment = {"reference": catalogue.reference.semantics(), "training_env": training_env.value}
    return digest(Tag.RULES, rules | environment)


def _rules_of(item: Item) -> dict[str, object]:
    # Settle, identity and units are no part of the version, but rows and digests must be made again when they change.
    rest = {"shadow": item.shadow, "settle": item.settle, "identity": item.identity, "facts": dict(item.facts)}
    return {"version": item.version} | rest
