"""Addresses of single sign-on, beside those of django-allauth. The second is the one to register at the provider."""

from django.urls import path

from portal.accounts.single_sign_on.views import callback, login, prove, proved, reauthenticate

urlpatterns = [
    path("sso/login/", login, name="sso_login"),
    path("sso/login/callback/", callback, name="sso_callback"),
    path("sso/reauthenticate/", reauthenticate, name="sso_reauthenticate"),
    path("sso/prove/", prove, name="sso_prove"),
    path("sso/proved/", proved, name="sso_proved"),
]
