"""The language a person reads pages in."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import check_for_language
from django.views.decorators.http import require_POST


@require_POST
def choose_language(request: HttpRequest) -> HttpResponse:
    """Keep the chosen language, for the person when signed in and for this browser, and go back to the page."""
    language = request.POST.get("language", "")
    if language not in dict(settings.LANGUAGES) or not check_for_language(language):
        return HttpResponseBadRequest("Choose one of the languages that the page offers.")
    if request.user.is_authenticated:
        request.user.language = language
        request.user.save(update_fields=["language"])
    response = HttpResponseRedirect(_back(request))
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        language,
        max_age=365 * 24 * 3600,
        secure=settings.LANGUAGE_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


def no_mail(request: HttpRequest) -> HttpResponse:
    """Stands where allauth would send an e-mail: tells whom to ask instead."""
    return render(request, "account/no_mail.html", status=404)


def no_page(request: HttpRequest) -> HttpResponse:
    """Stands where allauth would let people tie identities to accounts by themselves.

    Raises:
        Http404: always.
    """
    raise Http404


def _back(request: HttpRequest) -> str:
    target = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    return target if safe else "/"
