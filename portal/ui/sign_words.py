"""Why a signature does not count, what keeps a layer from being signed, and what changed: in words."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.utils.dateparse import parse_datetime
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from checks.domain.package import Difference, LeafChange
from checks.domain.signoff import WhyNot
from checks.domain.verdicts import Layer
from checks.models import Signature
from checks.selectors.changes import Changes
from checks.selectors.nodesets import fold_node_set
from checks.selectors.packages import RunState
from checks.selectors.pages_run import hosts_of
from portal.ui import figures, times, words
from portal.ui.subjects import subjects_said

WHY_NOT: dict[str, Promise] = {
    "superseded": gettext_lazy("a later round was opened"),
    "revoked": gettext_lazy("revoked"),
    "outdated": gettext_lazy("what was signed changed"),
    "expired": gettext_lazy("its time is over"),
    "inactive": gettext_lazy("the account was closed"),
    "role_ended": gettext_lazy("the signer no longer holds the role"),
    "delegation_ended": gettext_lazy("the delegation ended"),
    "contributor": gettext_lazy("the signer has had a hand in it since"),
    "role_not_asked": gettext_lazy("the policy no longer asks for this role"),
    "same_role": gettext_lazy("the role had signed already"),
    "same_person": gettext_lazy("the person had signed already"),
    "other_digest": gettext_lazy("it names another digest than the first signature"),
    "round_over": gettext_lazy("another signature of its round no longer counts"),
}

# Parts of a header by their dotted names.
HEADER: dict[str, Promise] = {
    "run.pool": gettext_lazy("Nodes it may use"),
    "run.nodes_needed": gettext_lazy("Nodes it needs"),
    "run.world_size": gettext_lazy("World size"),
    "run.layout": gettext_lazy("Layout"),
    "run.model": gettext_lazy("Model"),
    "run.parameters": gettext_lazy("Parameters"),
    "run.bytes_per_parameter": gettext_lazy("Bytes a parameter"),
    "run.dataset": gettext_lazy("Dataset"),
    "run.artefacts": gettext_lazy("Configuration"),
    "run.planned_start": gettext_lazy("Planned start"),
    "run.planned_end": gettext_lazy("Planned end"),
    "run.restart_until": gettext_lazy("Restart until"),
    "policy": gettext_lazy("Sign-off policy"),
    "waivers": gettext_lazy("Waivers"),
}

EFFECTS: dict[str, Promise] = {
    "verdict": pgettext_lazy("change", "verdict"),
    "identity": pgettext_lazy("change", "identity"),
    "criteria": pgettext_lazy("change", "threshold"),
    "epoch": pgettext_lazy("change", "left its verdict and came back"),
    "added": pgettext_lazy("change", "new"),
    "removed": pgettext_lazy("change", "gone"),
}


@dataclass(frozen=True, slots=True)
class ChangeSaid:
    """One thing that differs from what was signed; *verdict* is its shape, empty where it is none."""

    item: str
    where: str
    before: str
    after: str
    effect: str
    verdict: str = ""
    hostname: str = ""


def why_not_said(one: Signature, state: RunState, layer: Layer) -> str:
    """Why *one* does not count any more; nothing where it does."""
    code = state.layers[layer].why_not.get(one.pk)
    if code is None:
        return ""
    if code is WhyNot.REVOKED and hasattr(one, "revocation"):
        said = {"who": one.revocation.by, "reason": one.revocation.reason}
        return _("revoked by %(who)s: %(reason)s") % said
    if code is WhyNot.OUTDATED and (changed := state.layers[layer].changed):
        return difference_said(changed, state)
    return str(WHY_NOT[code.value])


def difference_said(changed: Difference, state: RunState) -> str:
    """How what is there differs from what was signed, as short as a line under a name."""
    parts = [str(HEADER.get(name, name)) for name in changed.header]
    if changed.shared:
        parts.append(_("something that no node holds"))
    if changed.nodes:
        parts.append(fold_node_set(hosts_of(state, changed.nodes)))
    return _("changed: %(what)s") % {"what": ", ".join(parts)} if parts else str(WHY_NOT["outdated"])


def changes_said(changes: Changes) -> tuple[ChangeSaid, ...]:
    """Everything that differs: the run itself, then what no node holds, then the nodes, alike ones together."""
    return tuple(_changes(changes))


def _changes(changes: Changes) -> Iterator[ChangeSaid]:
    for name, (before, after) in changes.header.items():
        title = str(HEADER.get(name, name))
        yield ChangeSaid(title, _("the run"), header_said(name, before), header_said(name, after), "")
    for change in changes.shared:
        yield _leaf(change, [], [change.subject])
    alike: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for host, found in changes.nodes.items():
        for change in found:
            key = (change.item, change.what, change.before, change.after)
            alike.setdefault(key, []).append((host, change.subject))
    for (item, what, before, after), places in alike.items():
        change = LeafChange(item, places[0][1], what, before, after)  # type: ignore[arg-type]
        yield _leaf(change, list(dict.fromkeys(host for host, _subject in places)), [s for _host, s in places])
    if changes.gone:
        yield ChangeSaid("", fold_node_set(changes.gone), "", "", _("no longer in the pool"))
    if changes.added:
        yield ChangeSaid("", fold_node_set(changes.added), "", "", _("not signed before"))
    if changes.more_nodes:
        yield ChangeSaid("", fold_node_set(changes.more_nodes), "", "", _("changed too"))


def _leaf(change: LeafChange, hosts: list[str], subjects: Iterable[str]) -> ChangeSaid:
    named = sorted({subject for subject in subjects if subject})
    where = " ".join(part for part in (fold_node_set(hosts), subjects_said(named) if named else "") if part)
    verdicts = change.what in ("verdict", "added", "removed")
    before, after = change.before, change.after
    if verdicts:
        before, after = (str(words.VERDICTS.get(each, each)) for each in (before, after))
    return ChangeSaid(
        item=change.item,
        where=where,
        before=before,
        after=after,
        effect=str(EFFECTS[change.what]),
        verdict=change.after if verdicts and change.after in words.VERDICTS else "",
        hostname=hosts[0] if len(hosts) == 1 else "",
    )


def header_said(name: str, value: object) -> str:
    """A part of a header as text, by its dotted name."""
    if name == "run.pool" and isinstance(value, list):
        return ngettext("%(n)d node", "%(n)d nodes", len(value)) % {"n": len(value)}
    if name == "policy":
        return str(value)[:12]
    if name == "waivers" and isinstance(value, list):
        return ", ".join(f"{one['item']} → {value_said(one['until'])}" for one in value) or _("none")
    return value_said(value)


def value_said(value: object) -> str:
    """A part of a header as text: a list by its length where it is long, an object by its parts."""
    if value is None:
        return "—"
    if isinstance(value, dict):
        return ", ".join(f"{key} {value_said(held)}" for key, held in value.items())
    if isinstance(value, list):
        return _list_said(value)
    if isinstance(value, str) and "T" in value and (moment := parse_datetime(value)):
        return times.absolute_time(moment, now=moment)
    return figures.shown(value)


def _list_said(value: list[object]) -> str:
    if value and isinstance(value[0], dict):
        return "; ".join(value_said(one) for one in value[:3]) + (" …" if len(value) > 3 else "")
    return _("%(n)d entries") % {"n": len(value)} if len(value) > 3 else ", ".join(map(value_said, value))
