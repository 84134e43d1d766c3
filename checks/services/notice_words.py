"""What a notice says, in two lines: what happened or is asked, and who did it and why; in the language in force."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils.dateparse import parse_datetime
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext_lazy

from checks.domain.signoff import SignState
from checks.domain.verdicts import Layer
from checks.models import Incident, LedgerEntry, Role, Waiver
from checks.selectors.changes import Changes
from checks.selectors.nodesets import fold_node_set
from checks.selectors.notice_people import Asked
from checks.selectors.packages import RunState

_LAYERS: Final[Mapping[str, Promise]] = {
    Layer.PHYSICAL: pgettext_lazy("layer", "Physical"),
    Layer.SYSTEM: pgettext_lazy("layer", "System"),
    Layer.FRAMEWORK: pgettext_lazy("layer", "Framework"),
    Layer.DATA: pgettext_lazy("layer", "Data"),
    Layer.OPERATIONS: pgettext_lazy("layer", "Operations"),
}
_MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class Words:
    """The two lines; the first is also the subject of a mail."""

    what: str
    who: str


def layer_said(layer: str) -> str:
    """What people call a layer."""
    return str(_LAYERS[layer])


def roles_said(roles: Collection[str]) -> str:
    """What people call roles."""
    return ", ".join(str(Role(role).label) for role in roles)


def moment(value: object) -> str:
    """A time as people read it, of itself or as the ledger keeps it."""
    at = value if isinstance(value, datetime) else parse_datetime(str(value))
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else str(value)


def author(entry: LedgerEntry) -> str:
    """Who did it, and the reason that they gave."""
    name = entry.name or _("The portal itself")
    return f"{name}: {entry.reason}" if entry.reason else name


def sign_asked(state: RunState, asked: Asked | None) -> Words:
    """A run waits for signatures: those of one person, or (None) whose they may be."""
    run = state.run.slug
    if asked is None:
        open_ones = [one for one in state.layers.items() if one[1].missing_roles]
        listed = "; ".join(f"{layer_said(layer)}: {roles_said(one.missing_roles)}" for layer, one in open_ones)
        return Words(_("%(run)s waits for signatures") % {"run": run}, listed)
    listed = "; ".join(f"{layer_said(layer)}: {roles_said(roles)}" for layer, roles in asked.slots.items())
    return Words(_("Your signature is asked for: %(run)s") % {"run": run}, listed)


def half_signed(state: RunState, layer: Layer, entry: LedgerEntry, asked: Asked | None) -> Words:
    """One of two has signed: whose signature is missing."""
    names = {"layer": layer_said(layer), "run": state.run.slug}
    missing = roles_said(asked.slots[layer] if asked else state.layers[layer].missing_roles)
    if asked is not None:
        what = _("Half signed, and yours is missing: %(layer)s of %(run)s") % names
    else:
        what = _("Half signed: %(layer)s of %(run)s") % names
    return Words(what, _("%(name)s has signed; missing: %(roles)s") % {"name": entry.name, "roles": missing})


def signed(state: RunState, layer: Layer, entry: LedgerEntry) -> Words:
    """A layer, or with it the whole run, is signed."""
    if state.signed:
        return Words(_("All layers of %(run)s are signed") % {"run": state.run.slug}, author(entry))
    names = {"layer": layer_said(layer), "run": state.run.slug}
    return Words(_("Signed: %(layer)s of %(run)s") % names, author(entry))


def revoked(entry: LedgerEntry, run: str, layer: Layer) -> Words:
    """A signature was taken back."""
    names = {"name": entry.data.get("signer", ""), "layer": layer_said(layer), "run": run}
    return Words(_("Taken back: the signature of %(name)s on %(layer)s of %(run)s") % names, author(entry))


def lost(state: RunState, layer: Layer, changes: Changes | None) -> Words:
    """Signatures do not count any more, by themselves: what changed, or that their time is over."""
    names = {"layer": layer_said(layer), "run": state.run.slug}
    if state.layers[layer].state is SignState.EXPIRED:
        return Words(_("Signatures have ended: %(layer)s of %(run)s") % names, _("All its roles sign again."))
    said = changes_said(changes) if changes else ""
    who = _("Changed since: %(what)s") % {"what": said} if said else _("All its roles sign again.")
    return Words(_("Signatures are outdated: %(layer)s of %(run)s") % names, who)


def changes_said(changes: Changes) -> str:
    """What differs from what was signed, the first few by name."""
    said = [f"{change.item} {change.before}→{change.after}".strip() for change in changes.shared]
    for host, found in changes.nodes.items():
        said += [f"{host} {change.item} {change.before}→{change.after}".strip() for change in found]
    said += list(changes.header)
    said += [f"−{host}" for host in changes.gone] + [f"+{host}" for host in changes.added]
    left = len(said) - _MOST_NAMED + len(changes.more_nodes)
    return ", ".join([*said[:_MOST_NAMED], *_and_more(left)] if left > 0 else said)


def _and_more(left: int) -> list[str]:
    """How many are not named; nothing where all are."""
    return [ngettext("%(n)d more", "%(n)d more", left) % {"n": left}] if left > 0 else []


def waiver(entry: LedgerEntry, run: str) -> Words:
    """A waiver was asked for, agreed to or taken back."""
    names = {"item": entry.data["item"], "run": run, "until": moment(entry.data["until"])}
    what = {
        "waiver_asked": _("Accept a failure? %(item)s of %(run)s until %(until)s"),
        "waiver_approved": _("Accepted: %(item)s of %(run)s may fail until %(until)s"),
        "waiver_ended": _("Not accepted any more: %(item)s of %(run)s"),
    }[entry.what]
    nodes = fold_node_set(entry.data.get("nodes", []))
    return Words(what % names, " · ".join(filter(None, [author(entry), nodes])))


def waiver_ends(waiver: Waiver, *, over: bool) -> Words:
    """A waiver is about to end, or has ended by its date."""
    names = {"item": waiver.item, "run": waiver.run.slug, "until": moment(waiver.until)}
    if over:
        return Words(_("A waiver has ended: %(item)s blocks %(run)s again if it fails") % names, moment(waiver.until))
    who = _("After that the failure blocks again. Asked for by %(name)s.") % {"name": waiver.asked_by}
    return Words(_("A waiver ends soon: %(item)s of %(run)s at %(until)s") % names, who)


def override(entry: LedgerEntry, run: str) -> Words:
    """A gate was forced open, or closed again."""
    if entry.what == "override_ended":
        return Words(_("The override of %(run)s was taken back") % {"run": run}, author(entry))
    accepted = len(entry.data["accepted"])
    told = {"run": run, "until": moment(entry.data["until"]), "n": accepted}
    what = ngettext(
        "GATE FORCED OPEN: %(run)s until %(until)s, past %(n)d blocker",
        "GATE FORCED OPEN: %(run)s until %(until)s, past %(n)d blockers",
        accepted,
    )
    return Words(what % told, f"{author(entry)} ({entry.data['ticket']})")


def policy(entry: LedgerEntry, cluster: str) -> Words:
    """A sign-off policy was proposed, or is in force."""
    names = {"cluster": cluster, "number": entry.data["number"]}
    asked = entry.what == "policy_proposed"
    what = (
        _("Agree to a new sign-off policy? %(cluster)s, number %(number)s")
        if asked
        else _("A new sign-off policy is in force: %(cluster)s, number %(number)s")
    )
    return Words(what % names, author(entry))


def delegation(entry: LedgerEntry) -> Words:
    """Somebody signs for somebody else, or does not any more."""
    names = {
        "giver": entry.data["giver"], "receiver": entry.data["receiver"], "role": roles_said([entry.data["role"]]),
        "until": moment(entry.data["ends_at"]),
    }  # fmt: skip
    what = (
        _("%(receiver)s may sign for %(giver)s as %(role)s until %(until)s")
        if entry.what == "delegated"
        else _("%(receiver)s does not sign for %(giver)s as %(role)s any more")
    )
    return Words(what % names, author(entry))


def role(entry: LedgerEntry, name: str, cluster: str) -> Words:
    """Somebody was given a role."""
    names = {"name": name, "role": roles_said([entry.data["role"]]), "cluster": cluster}
    return Words(_("%(name)s is now %(role)s in %(cluster)s") % names, author(entry))


def breaker(entry: LedgerEntry, cluster: str) -> Words:
    """A check failed on very many nodes at once."""
    names = {"item": entry.target, "cluster": cluster}
    counts = {"nodes": entry.data["nodes"], "of": entry.data["of_nodes"]}
    who = _("It failed on %(nodes)s of %(of)s nodes at once; drains and messages about nodes are held.") % counts
    return Words(_("Is this check right? %(item)s in %(cluster)s") % names, who)


def enrolment(entry: LedgerEntry, cluster: str) -> Words:
    """A machine asked to enrol under a name that is taken."""
    names = {"host": entry.target, "cluster": cluster}
    return Words(_("Enrolment refused: %(host)s in %(cluster)s") % names, entry.reason)


def restored(entry: LedgerEntry) -> Words:
    """The database came back from a backup."""
    n = int(entry.data.get("lost", 0))
    what = ngettext(
        "The database was restored; %(n)d entry of the ledger is lost",
        "The database was restored; %(n)d entries of the ledger are lost",
        n,
    )
    return Words(what % {"n": n}, author(entry))


def ledger_broken(detail: str) -> Words:
    """The nightly look at the chain found that it does not hold."""
    return Words(_("THE LEDGER IS NOT WHOLE"), detail)


def nodes_in_trouble(cluster: str, failing: Mapping[str, Collection[str]], silent: Collection[str]) -> Words:
    """Nodes that began to fail a blocker, by item, or fell silent; the first few by name."""
    hosts = {host for found in failing.values() for host in found} | set(silent)
    what = ngettext("%(n)d node in trouble: %(cluster)s", "%(n)d nodes in trouble: %(cluster)s", len(hosts))
    said = [f"{item}: {fold_node_set(found)}" for item, found in sorted(failing.items())][:_MOST_NAMED]
    said += _and_more(len(failing) - _MOST_NAMED)
    if silent:
        said.append(_("silent: %(nodes)s") % {"nodes": fold_node_set(silent)})
    return Words(what % {"n": len(hosts), "cluster": cluster}, "; ".join(said))


def incidents(cluster: str, began: Sequence[Incident]) -> Words:
    """Incidents that began or came back; the first few by name."""
    what = ngettext("%(n)d incident: %(cluster)s", "%(n)d incidents: %(cluster)s", len(began))
    said = [_incident(one) for one in began[:_MOST_NAMED]]
    listed = "; ".join([*said, *_and_more(len(began) - _MOST_NAMED)])
    return Words(what % {"n": len(began), "cluster": cluster}, listed)


def _incident(one: Incident) -> str:
    """Its number, its title, the run that it struck, and whether it was seen before."""
    notes = [one.run.slug] if one.run else []
    if one.occurrences > 1:
        notes.append(ngettext("%(n)d time", "%(n)d times", one.occurrences) % {"n": one.occurrences})
    return f"{one} {one.title} ({', '.join(notes)})" if notes else f"{one} {one.title}"


def node_doubted(host: str, trouble: str) -> Words:
    """A machine's evidence is not believed until a person has looked."""
    why = {
        "hardware_changed": _("Its hardware is not what was on file; a person has to confirm it."),
        "boot_conflict": _("Two machines report under its name."),
    }
    return Words(_("%(host)s is not believed") % {"host": host}, why.get(trouble, trouble))
