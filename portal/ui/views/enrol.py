"""Bring nodes in: the command to paste, and the token it asks for."""

from datetime import datetime, timedelta
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from checks.models import Cluster, TokenKind
from checks.selectors.pages_status import foot_of
from checks.selectors.pages_tokens import enrolment_token, enrolment_tokens
from checks.services.tokens import issue_token, revoke_token
from portal.ui.forms import EnrolmentForm
from portal.ui.guard import person_page
from portal.ui.loaders import load_cluster_to_enrol
from portal.ui.requests import PersonRequest


@person_page("GET", "HEAD", "POST")
def enrol(request: PersonRequest, slug: str) -> HttpResponse:
    """The command and the tokens in force; a POST issues one and shows it in its answer, this once."""
    cluster, now = load_cluster_to_enrol(request, slug).cluster, timezone.now()
    form = EnrolmentForm(request.POST or None)
    context: dict[str, Any] = {"cluster": cluster, "form": form, "now": now}
    if request.method == "POST" and form.is_valid():
        ends = now + timedelta(hours=form.cleaned_data["hours"])
        context["issued"], context["secret"] = issue_token(
            kind=TokenKind.ENROLMENT, cluster=cluster, created_by=request.user, now=now, expires_at=ends, **form.terms()
        )
        context["form"] = EnrolmentForm()
    status = 422 if form.is_bound and form.errors else 200
    return render(request, "ui/enrol/page.html", context | _tokens(cluster, now), status=status)


@person_page("POST")
def revoke_enrolment(request: PersonRequest, slug: str, key: str) -> HttpResponse:
    """End a token before its time."""
    cluster = load_cluster_to_enrol(request, slug).cluster
    token = enrolment_token(cluster, key)
    if token is None:
        raise Http404
    revoke_token(token=token, by=request.user, now=timezone.now(), reason="revoked on the enrolment page")
    messages.info(request, _("The token %(token)s no longer enrols anything.") % {"token": token})
    return redirect("ui:enrol", slug=cluster.slug)


def _tokens(cluster: Cluster, now: datetime) -> dict[str, Any]:
    return {"tokens": enrolment_tokens(cluster, now=now)} | foot_of(now=now)
