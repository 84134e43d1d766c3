"""Pages on which a person does something under their own name: what it leads to, a form, a proof, and then the act."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone

from checks.domain.errors import CountersignError
from checks.models import Cluster, Run
from checks.selectors.pages_status import foot_of
from portal.ui.requests import PersonRequest


@dataclass(frozen=True, slots=True)
class Act:
    """What is about to be done, in words. *consequence* is one sentence; *facts* are what it is done to."""

    title: str
    consequence: str
    submit: str
    done: str
    back: str
    cluster: Cluster
    run: Run | None = None
    facts: tuple[tuple[str, str], ...] = ()
    danger: bool = False
    uploads: bool = False
    asks_proof: bool = True


def posted(request: PersonRequest) -> QueryDict | None:
    """What was sent, to bind a form to; an empty form that was sent was sent all the same."""
    return request.POST if request.method == "POST" else None


def act_page(request: PersonRequest, act: Act, form: forms.Form, do: Callable[[], object], **more: Any) -> HttpResponse:
    """Show the form; once it is sent and right, *do* it and go back. What the service refuses stands on the form."""
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                do()
            except CountersignError as error:
                form.add_error(None, error.message)
                status = error.status
            else:
                messages.info(request, act.done)
                return redirect(act.back)
    now = timezone.now()
    context = {"act": act, "form": form, "now": now} | more | foot_of(now=now)
    response = render(request, "ui/act/page.html", context, status=status)
    response["Cache-Control"] = "private, no-store"
    return response
