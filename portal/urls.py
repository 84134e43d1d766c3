"""Addresses of the site.

The API owns its whole paths: ``/api/v1/…``, ``/gate/…``, ``/agent/…``, ``/healthz``, ``/readyz``, ``/metrics``.
"""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import include, path, re_path

from portal.accounts.views import choose_language, no_mail, no_page

urlpatterns = [
    path("", include("checks.api.urls")),
    path("accounts/language/", choose_language, name="choose_language"),
    # What allauth does by e-mail. People are invited by name, and most portals reach no mail server.
    re_path(r"^accounts/(?:email|confirm-email|password/reset|login/code|reauthenticate/code)(?:/.*)?$", no_mail),
    # Identities are tied by the first sign-in of somebody invited, and by nobody's own doing.
    re_path(r"^accounts/(?:3rdparty/(?!login/)|social/)", no_page),
    path("accounts/", include("allauth.urls")),
    # The site's own sign-in for everybody: with its limit on guesses, and its second factor.
    path("admin/login/", secure_admin_login(admin.site.login)),
    path("admin/", admin.site.urls),
    path("", include("portal.ui.urls")),
]

# Programs that Django refuses before a view is reached are not shown a page.
handler400 = "checks.api.refusals.bad_request"
handler500 = "checks.api.refusals.server_error"
