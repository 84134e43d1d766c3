"""Who signs which layer of a cluster's runs, and for how long.

A policy is a document that two people agreed on. It fails closed: a layer that it does not name, a role that nobody can
hold or a key that this portal does not know makes it no policy at all. The physical layer always needs a hardware
engineer and an AI platform engineer, who are two people; no document can say otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from checks.domain.canonical import Tag, digest
from checks.domain.errors import CountersignError
from checks.domain.verdicts import Layer

#: Roles that can sign. A viewer only looks, and an administrator, who grants roles, signs in none of them.
SIGNING_ROLES: Final = ("hardware", "platform", "data", "lead")

#: What every policy asks of the physical layer.
PHYSICAL_ROLES: Final = ("hardware", "platform")

#: A signature that is to last longer than this may as well have no end.
_LONGEST_H: Final = 24 * 366
_LAYER_KEYS: Final = frozenset({"roles", "expires_after_h"})
_KEYS: Final = frozenset({"layers", "contributors_may_sign"})


class InvalidPolicy(CountersignError):
    """The document is no sign-off policy."""

    code = "invalid_policy"


@dataclass(frozen=True, slots=True)
class LayerPolicy:
    """Roles that sign a layer, each by another person, and for how long (None: until what was signed changes)."""

    roles: tuple[str, ...]
    expires_after: timedelta | None = None
    contributors_may_sign: bool = False

    def as_json(self) -> dict[str, object]:
        """The layer's part of the policy's document."""
        roles: dict[str, object] = {"roles": list(self.roles)}
        return roles if self.expires_after is None else roles | {"expires_after_h": _hours(self.expires_after)}

    def signature_ends(self, signed_at: datetime, evidence_ends: datetime | None) -> datetime | None:
        """When a signature of *signed_at* ends: after the policy's time, or with evidence that does not renew itself.

        *evidence_ends* is the earliest end of the layer's offline, attested and run evidence.
        """
        own = None if self.expires_after is None else signed_at + self.expires_after
        return min((end for end in (own, evidence_ends) if end is not None), default=None)


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy for all five layers. Where contributors may sign, every certificate says so."""

    layers: Mapping[Layer, LayerPolicy]
    contributors_may_sign: bool = False

    @classmethod
    def read(cls, document: Mapping[str, object]) -> Policy:
        """The policy in *document*, as ``as_json`` writes it.

        Raises:
            InvalidPolicy: a layer is missing, or a part is unknown or of the wrong kind; in one sentence.
        """
        _only(document, _KEYS, "The policy")
        relaxed = document.get("contributors_may_sign", False)
        if not isinstance(relaxed, bool):
            raise InvalidPolicy("contributors_may_sign is true or false.")
        layers = _table(document.get("layers"), "layers")
        _only(layers, frozenset(Layer), "layers")
        return cls({layer: _read_layer(layer, layers.get(layer), relaxed) for layer in Layer}, relaxed)

    def as_json(self) -> dict[str, object]:
        """The document."""
        return {
            "layers": {layer.value: of_layer.as_json() for layer, of_layer in self.layers.items()},
            "contributors_may_sign": self.contributors_may_sign,
        }

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the document; it stands in the header of everything that is signed under the policy."""
        return digest(Tag.POLICY, self.as_json())


def _read_layer(layer: Layer, part: object, contributors_may_sign: bool) -> LayerPolicy:
    if part is None:
        raise InvalidPolicy(f"The policy does not say who signs the layer {layer}; name its roles.")
    table = _table(part, layer)
    _only(table, _LAYER_KEYS, f"The layer {layer}")
    roles = _read_roles(layer, table.get("roles"))
    return LayerPolicy(roles, _read_hours(layer, table.get("expires_after_h")), contributors_may_sign)


def _read_roles(layer: Layer, part: object) -> tuple[str, ...]:
    roles = tuple(part) if isinstance(part, list | tuple) else ()
    if not roles or len(set(map(str, roles))) < len(roles) or not all(role in SIGNING_ROLES for role in roles):
        raise InvalidPolicy(f"The roles of {layer} are a list of one or more of {', '.join(SIGNING_ROLES)}, each once.")
    if layer is Layer.PHYSICAL and not set(PHYSICAL_ROLES) <= set(roles):
        raise InvalidPolicy("The physical layer always needs both roles, hardware and platform, by two people.")
    return roles


def _read_hours(layer: Layer, part: object) -> timedelta | None:
    if part is None:
        return None
    if isinstance(part, bool) or not isinstance(part, int) or not 1 <= part <= _LONGEST_H:
        raise InvalidPolicy(
            f"expires_after_h of {layer} is a whole number of hours from 1 to {_LONGEST_H}; leave it out for no end."
        )
    return timedelta(hours=part)


def _table(part: object, name: str) -> Mapping[str, object]:
    if not isinstance(part, Mapping):
        raise InvalidPolicy(f"{name} must be an object with names.")
    return part


def _only(part: Mapping[str, object], known: frozenset[str], name: str) -> None:
    if strange := sorted(str(key) for key in part if key not in known):
        raise InvalidPolicy(f"{name} has an unknown part {strange[0]!r}; known are {', '.join(sorted(known))}.")


def _hours(span: timedelta) -> int:
    return int(span / timedelta(hours=1))


#: In force in every cluster until two people agree on another one.
DEFAULT_POLICY: Final = Policy.read(
    {
        "layers": {
            "physical": {"roles": ["hardware", "platform"], "expires_after_h": 72},
            "system": {"roles": ["platform"], "expires_after_h": 168},
            "framework": {"roles": ["platform", "lead"]},
            "data": {"roles": ["data", "lead"]},
            "operations": {"roles": ["lead"]},
        },
        "contributors_may_sign": False,
    }
)
