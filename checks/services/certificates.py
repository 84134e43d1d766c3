"""The certificate of a run: what was signed and by whom, with the ledger's word for it, under the site's seal.

``docs/manifest.md`` writes its form down; ``verify_certificate.py`` verifies it without the portal.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

from django.conf import settings
from django.db.models import Q

from checks.domain.certificate import certificate_text
from checks.domain.ledger import Anchor
from checks.domain.policy import DEFAULT_POLICY, Policy
from checks.domain.verdicts import Layer
from checks.models import LedgerAnchor, LedgerEntry, Manifest, Override, PolicyVersion, Run, Signature, Waiver
from checks.selectors.anchors import KeyRing, KeyUnusable, name_of
from checks.selectors.leaves import stored_leaves
from checks.selectors.ledger import as_hashed
from checks.selectors.packages import RunState, run_state
from checks.selectors.pages_run import overrides_of

_ABOUT_SIGNATURES: Final = ("signed", "signature_revoked")


def issue_certificate(run: Run, *, now: datetime) -> str:
    """The certificate of *run* as it stands at *now*, sealed with the key that signs the ledger's anchors.

    Raises:
        KeyUnusable: this portal has no key to seal it with.
    """
    keys = KeyRing.of_settings()
    if keys.signing is None:
        raise KeyUnusable("This portal has no key to seal a certificate with: set LEDGER_KEY_FILE.")
    state = run_state(run, now=now)
    public = keys.signing.public_key()
    entries, anchor = _told(state, name_of(public))
    body: dict[str, object] = {
        "site": settings.PORTAL_URL, "run": run.slug, "issued_at": _text(now),
        "layers": [_layer(state, layer) for layer in Layer],
        "ledger": [_entry(one, own=one.cluster_id == run.cluster_id) for one in entries],
        "public_key": public.public_bytes_raw().hex(),
        "overrides": [_override(one) for one in overrides_of(run)],
    }  # fmt: skip
    return certificate_text(body | ({"anchor": anchor} if anchor else {}), keys.signing.sign)


def _entry(row: LedgerEntry, *, own: bool) -> dict[str, object]:
    """One link of the chain: the act where it is of the run's own cluster, and nothing but its digest otherwise."""
    entry = as_hashed(row)
    return (entry.opened() if own else entry.closed()) | {"digest": row.digest}


def _layer(state: RunState, layer: Layer) -> dict[str, object]:
    standing = state.layers[layer]
    mine = [one for one in state.signatures[layer] if one.round == standing.round]
    said: dict[str, object] = {"layer": layer.value, "state": standing.state.value, "signatures": []}
    if not mine:
        return said
    manifest = mine[0].manifest
    branches = {manifest.shared, *manifest.nodes.values()}
    return said | {
        "signatures": [_signature(one) for one in mine if one.manifest_id == manifest.digest],
        "digest": manifest.digest,
        "package": {"header": manifest.header, "shared": manifest.shared, "nodes": manifest.nodes},
        "leaves": stored_leaves(branches),
        "policy": _policy(state.run, mine[0].policy_number).as_json(),
        "waivers": _waivers(manifest),
        "outdated_nodes": sorted(standing.outdated_nodes),
    }


def _signature(one: Signature) -> dict[str, object]:
    said: dict[str, object] = {
        "id": str(one.pk), "role": one.role, "signer": str(one.signer_id), "name": one.printed_name,
        "digest": one.manifest_id, "round": one.round, "meaning": one.meaning, "contributor": one.contributor,
        "signed_at": _text(one.signed_at), "restart_until": _text(one.restart_until), "comment": one.comment,
        "role_held_since": _text(one.role_granted_at), "proved_by": one.auth_method, "proved_at": _text(one.auth_at),
        "for": str(one.delegation.giver) if one.delegation else "",
    }  # fmt: skip
    if one.expires_at is not None:
        said["expires_at"] = _text(one.expires_at)
    if hasattr(one, "revocation"):
        end = one.revocation
        said["revoked"] = {"by": str(end.by), "at": _text(end.at), "reason": end.reason}
    return said


def _policy(run: Run, number: int) -> Policy:
    """The policy under which was signed; number 0 is the default one."""
    if number == 0:
        return DEFAULT_POLICY
    return Policy.read(PolicyVersion.objects.get(cluster_id=run.cluster_id, number=number).document)


def _waivers(manifest: Manifest) -> list[dict[str, object]]:
    """Those of the header, with reason and people."""
    signed = {one["id"]: one for one in manifest.header["waivers"]}
    found = Waiver.objects.filter(pk__in=signed).select_related("asked_by", "approval__by")
    return [
        {
            **signed[str(one.pk)], "reason": one.reason, "asked_by": str(one.asked_by),
            "approved_by": str(one.approval.by) if hasattr(one, "approval") else "",
        }
        for one in found
    ]  # fmt: skip


def _override(one: Override) -> dict[str, object]:
    said: dict[str, object] = {
        "by": str(one.by), "role": one.role, "at": _text(one.at), "until": _text(one.until), "reason": one.reason,
        "ticket": one.ticket, "accepted": one.accepted,
    }  # fmt: skip
    if hasattr(one, "end"):
        said["ended"] = {"by": str(one.end.by), "at": _text(one.end.at), "reason": one.end.reason}
    return said


def _told(state: RunState, key_id: str) -> tuple[Iterable[LedgerEntry], Mapping[str, object] | None]:
    """The chain from the first signature that is named to the next anchor; to the newest entry while there is none."""
    named = [one.pk for layer in Layer for one in _newest_round(state, layer)]
    acts = LedgerEntry.objects.filter(what__in=_ABOUT_SIGNATURES, cluster_id=state.run.cluster_id)
    numbers = list(acts.filter(data__signature__in=named).order_by("seq").values_list("seq", flat=True))
    entries = LedgerEntry.objects.select_related("cluster").order_by("seq")
    if not numbers:
        return (), None
    anchor = LedgerAnchor.objects.filter(seq__gte=numbers[-1], key_id=key_id).order_by("seq", "id").first()
    until = Q(seq__lte=anchor.seq) if anchor else Q()
    return entries.filter(until, seq__gte=numbers[0]), _anchor(anchor)


def _newest_round(state: RunState, layer: Layer) -> list[Signature]:
    return [one for one in state.signatures[layer] if one.round == state.layers[layer].round]


def _anchor(stored: LedgerAnchor | None) -> Mapping[str, object] | None:
    if stored is None:
        return None
    return Anchor(stored.seq, stored.head, stored.at, stored.key_id, stored.signature).as_json()


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
