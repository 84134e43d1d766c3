"""Everything that was signed of a run, whether it counts or not and why, and the run's ledger."""

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from checks.domain.verdicts import Layer
from checks.models import Run, Signature
from checks.selectors.packages import RunState, run_state
from checks.selectors.pages_run import entries_of_run, overrides_of, starts_of, waivers_of
from checks.selectors.pages_status import foot_of
from checks.selectors.runs import LEADING_ROLES
from portal.accounts.models import User
from portal.ui.guard import person_page
from portal.ui.loaders import load_run
from portal.ui.pages.run import signing_roles
from portal.ui.requests import PersonRequest
from portal.ui.sign_words import why_not_said

ENTRIES = 200


@dataclass(frozen=True, slots=True)
class SignatureSaid:
    """One signature with what became of it; ``was`` is empty while it counts."""

    signature: Signature
    layer: str
    was: str
    why: str
    may_revoke: bool
    seconds: int
    opened: int


@person_page()
def run_history(request: PersonRequest, slug: str) -> HttpResponse:
    """Signatures by layer and round, newest first; those that no longer count stay, struck, with the reason."""
    access, now = load_run(request, slug), timezone.now()
    state = run_state(access.run, now=now)
    roles = signing_roles(request.user, access.run)
    leads = bool(access.roles & LEADING_ROLES)
    signatures = [
        _said(one, state, layer, request.user, leads or bool(roles & set(state.policy.policy.layers[layer].roles)))
        for layer in Layer
        for one in reversed(state.signatures[layer])
    ]
    page = _page(access.run, signatures)
    return render(request, "ui/history/page.html", page | {"now": now} | foot_of(now=now))


def _page(run: Run, signatures: list[SignatureSaid]) -> dict[str, object]:
    return {
        "run": run,
        "signatures": signatures,
        "counting": sum(not one.was for one in signatures),
        "waivers": waivers_of(run),
        "overrides": overrides_of(run),
        "starts": starts_of(run),
        "entries": entries_of_run(run, limit=ENTRIES),
    }


def _said(one: Signature, state: RunState, layer: Layer, reader: User, of_layer: bool) -> SignatureSaid:
    code = state.layers[layer].why_not.get(one.pk)
    revoked = hasattr(one, "revocation")
    was = "revoked" if revoked else _drawn(code.value) if code else ""
    spent = one.annex.get("seconds", {}) if isinstance(one.annex, dict) else {}
    return SignatureSaid(
        signature=one,
        layer=layer.value,
        was=was,
        why=why_not_said(one, state, layer),
        may_revoke=not revoked and (one.signer_id == reader.pk or of_layer),
        seconds=sum(spent.values()) if isinstance(spent, dict) else 0,
        opened=len(spent),
    )


def _drawn(code: str) -> str:
    """How a signature that does not count is drawn."""
    return code if code in ("revoked", "expired") else "outdated"
