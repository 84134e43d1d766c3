"""Two people sign one layer of one run: each in one role, on the digest that both saw.

Under the package's lock everything is read again; whether a layer is signed is stored nowhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError
from checks.domain.signoff import next_round
from checks.domain.verdicts import Layer
from checks.models import Delegation, Meaning, Revocation, Run, Signature, SignoffPackage
from checks.selectors.changes import changes_since, recently
from checks.selectors.packages import PackageView, RunState, package_view, run_state
from checks.selectors.pages_access import ACTING_ROLES
from checks.selectors.runs import LEADING_ROLES
from checks.services.cluster_locks import hold_cluster
from checks.services.ledger import write_entry
from checks.services.manifests import LeavesMoved, annex_of, pin_evidence, store_manifest
from checks.services.permissions import MayNot, require_prose, require_reason, require_role
from checks.services.proofs import MAX_PROOF_AGE, Proof, ProofTooOld, require_fresh
from checks.services.refusals import AlreadySigned, MayNotSign, Moved, NotSignable
from checks.services.signers import Signer, find_signer

__all__ = [
    "MAX_PROOF_AGE", "AlreadySigned", "MayNotSign", "Moved", "NotSignable", "Proof", "ProofTooOld", "lock_package",
    "revoke_signature", "sign_layer",
]  # fmt: skip

#: How far back a diff looks for what happened, where nobody says when the page was shown.
_SHOWN_FOR: Final = timedelta(hours=1)


class InvalidSignature(CountersignError):
    """No meaning that a signature can have."""

    code = "invalid_signature"


@dataclass(frozen=True, slots=True)
class _Word:
    """What the signer says with the signature, and how they proved to be there."""

    meaning: str
    comment: str
    proof: Proof
    seconds: Mapping[str, int]
    shown_at: datetime | None


@transaction.atomic
def sign_layer(
    *,
    run: Run,
    layer: Layer,
    by: Any,
    role: str,
    meaning: str,
    comment: str,
    shown_digest: str,
    proof: Proof,
    seconds: Mapping[str, int],
    now: datetime,
    delegation: Delegation | None = None,
    shown_at: datetime | None = None,
) -> Signature:
    """Sign *layer* of *run* as *role*: exactly *shown_digest*, which the signer's page showed (at *shown_at*).

    Raises:
        ProofTooOld: the signer did not prove to be there in the last five minutes.
        MayNotSign: not this person in that role; the sentence says why.
        AlreadySigned: somebody has signed that slot, and it counts.
        Moved: the digest is no longer current, with what changed.
        NotSignable: too few nodes, or the shared branch, can be signed, with what is in the way.
    """
    require_fresh(proof, now=now)
    if meaning not in Meaning.values:
        raise InvalidSignature(_("Choose what your signature means: performed, reviewed or responsible."))
    comment = require_prose(comment)
    package, run = lock_package(run, layer)
    state = run_state(run, now=now)
    view = package_view(state, layer)
    signer = find_signer(state, view, by=by, role=role, delegation=delegation)
    if view.package.digest != shown_digest:
        raise _moved(state, view, shown_digest, shown_at)
    if not view.signable:
        raise NotSignable(view.blockers, able=len(view.package.nodes), needed=run.nodes_needed)
    return _store(package, state, view, signer, _Word(meaning, comment, proof, seconds, shown_at))


@transaction.atomic
def revoke_signature(*, signature: Signature, by: Any, reason: str, proof: Proof, now: datetime) -> Revocation:
    """Take a signature back: its layer is no longer signed from this second on, and all its roles sign again.

    Its signer may, and whoever leads the cluster or holds one of the layer's roles.

    Raises:
        ProofTooOld, ReasonMissing.
        MayNot: none of these people.
        AlreadySigned: it was taken back before.
    """
    require_fresh(proof, now=now)
    reason = require_reason(reason)
    package, run = lock_package(signature.package.run, Layer(signature.package.layer))
    if by.pk != signature.signer_id:
        roles = run_state(run, now=now).policy.policy.layers[Layer(package.layer)].roles
        require_role(by, run.cluster, LEADING_ROLES | (ACTING_ROLES & set(roles)))
    elif not by.is_active:
        raise MayNot(_("Your account is closed."))
    if Revocation.objects.filter(signature=signature).exists():
        raise AlreadySigned(_("This signature was taken back before."), code="already_revoked")
    revocation = Revocation.objects.create(signature=signature, by=by, at=now, reason=reason)
    data = {"signature": signature.pk, "role": signature.role, "signer": signature.printed_name}
    _write("signature_revoked", package, by, reason, now, data)
    return revocation


def lock_package(run: Run, layer: Layer) -> tuple[SignoffPackage, Run]:
    """The package and the rules, locked until the transaction ends, and the run as it is from then on."""
    made, _made = SignoffPackage.objects.get_or_create(run=run, layer=layer)
    package = SignoffPackage.objects.select_for_update(no_key=True).get(pk=made.pk)
    hold_cluster(run.cluster_id)
    fresh = Run.objects.select_related("cluster", "owner").get(pk=run.pk)
    package.run = fresh
    return package, fresh


def _moved(state: RunState, view: PackageView, shown_digest: str, shown_at: datetime | None) -> Moved:
    every = state.signatures[view.layer]
    shown = next((one for one in reversed(every) if one.manifest_id == shown_digest), every[-1] if every else None)
    changes = changes_since(state, view.layer, shown) if shown is not None else None
    since = shown_at or state.now - _SHOWN_FOR
    return Moved(view.package.digest, changes, recently(state, view.layer, since=since))


def _store(package: SignoffPackage, state: RunState, view: PackageView, signer: Signer, word: _Word) -> Signature:
    try:
        manifest = store_manifest(state, view, now=state.now)
    except LeavesMoved:
        raise _moved(state, view, view.package.digest, word.shown_at) from None
    annex = annex_of(state, view, word.seconds)
    try:
        with transaction.atomic():
            signature = Signature.objects.create(
                package=package, manifest_id=manifest.digest, annex=annex, **_columns(state, view, signer, word)
            )
    except IntegrityError as error:
        raise AlreadySigned(_("Somebody signed that at the same moment; look at the page again.")) from error
    pin_evidence(signature, annex["evidence"])
    _write("signed", package, signer.person, word.comment, state.now, _told(signature))
    return signature


def _columns(state: RunState, view: PackageView, signer: Signer, word: _Word) -> dict[str, Any]:
    ends = [end for end in (view.evidence_ends, signer.delegation and signer.delegation.ends_at) if end]
    return {
        "round": next_round(view.state, view.package.digest), "role": signer.role, "signer": signer.person,
        "signed_at": state.now, "expires_at": view.policy.signature_ends(state.now, min(ends, default=None)),
        "restart_until": state.restart_until, "printed_name": str(signer.person)[:150], "meaning": word.meaning,
        "comment": word.comment, "policy_number": state.policy.number, "delegation": signer.delegation,
        "contributor": signer.contributor, "role_granted_at": signer.role_granted_at,
        "auth_method": word.proof.method, "auth_at": word.proof.at, "address": word.proof.known_address,
        "user_agent": word.proof.told_agent,
    }  # fmt: skip


def _told(signature: Signature) -> dict[str, Any]:
    return {
        "signature": signature.pk, "digest": signature.manifest_id, "round": signature.round, "role": signature.role,
        "meaning": signature.meaning, "expires_at": signature.expires_at, "policy": signature.policy_number,
        "for": str(signature.delegation.giver) if signature.delegation else "",
        "contributor": signature.contributor,
    }  # fmt: skip


def _write(what: str, package: SignoffPackage, by: Any, reason: str, now: datetime, data: dict[str, Any]) -> None:
    run = package.run
    target = f"{run.slug}/{package.layer}"
    write_entry(what=what, target=target, who=by, cluster=run.cluster, reason=reason, now=now, data=data)
