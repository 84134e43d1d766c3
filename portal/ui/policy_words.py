"""A sign-off policy, and what a proposal changes in it, in words."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from checks.domain.policy import LayerPolicy, Policy
from portal.ui import words


@dataclass(frozen=True, slots=True)
class LayerSaid:
    """Who signs one layer, and for how long."""

    layer: str
    roles: str
    lasts: str


@dataclass(frozen=True, slots=True)
class Changed:
    """One thing that a proposal changes."""

    what: str
    before: str
    after: str


def layers_said(policy: Policy) -> tuple[LayerSaid, ...]:
    """All five layers."""
    return tuple(LayerSaid(layer.value, roles_said(held), lasts_said(held)) for layer, held in policy.layers.items())


def changes_said(before: Policy, after: Policy) -> tuple[Changed, ...]:
    """What would be another once *after* is in force; nothing where they say the same."""
    return tuple(_changes(before, after))


def _changes(before: Policy, after: Policy) -> Iterator[Changed]:
    for layer, held in after.layers.items():
        was, name = before.layers[layer], str(words.LAYERS[layer.value])
        if set(was.roles) != set(held.roles):
            yield Changed(_("%(layer)s: who signs") % {"layer": name}, roles_said(was), roles_said(held))
        if was.expires_after != held.expires_after:
            yield Changed(_("%(layer)s: how long it counts") % {"layer": name}, lasts_said(was), lasts_said(held))
    if before.contributors_may_sign != after.contributors_may_sign:
        yield Changed(
            _("Whoever had a hand in it"),
            _may_said(before.contributors_may_sign),
            _may_said(after.contributors_may_sign),
        )


def roles_said(held: LayerPolicy) -> str:
    """The roles that sign a layer, each by another person."""
    return _(" and ").join(str(words.ROLES[role]) for role in held.roles)


def lasts_said(held: LayerPolicy) -> str:
    """For how long a signature of the layer counts."""
    if held.expires_after is None:
        return _("until what was signed changes")
    return _("%(n)d h") % {"n": int(held.expires_after.total_seconds() // 3600)}


def _may_said(may: bool) -> str:
    return _("may sign it") if may else _("may not sign it")
