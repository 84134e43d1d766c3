"""The identity provider as django-allauth knows it, held to more than the standard's least.

Who somebody is there is the pair of issuer and subject, nothing else: names and addresses change hands. Every token's
signature is verified, also of one that came straight from the provider.
"""

import hashlib
from typing import Any

import jwt
from allauth.socialaccount.internal import jwtkit
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from allauth.utils import build_absolute_uri
from django.http import HttpRequest
from django.urls import reverse

PROVIDER = "sso"
ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)  # fmt: skip
_KEPT = ("iss", "sub", "nonce", "auth_time")
_ABOUT_THE_PERSON = ("email", "email_verified", "preferred_username")


class SignedTokens(OpenIDConnectOAuth2Adapter):
    """Talks to the provider; believes a token only with its signature, and only of the issuer that was set."""

    @property
    def openid_config(self) -> dict[str, Any]:
        config: dict[str, Any] = super().openid_config
        configured = self.get_provider().app.settings["server_url"]
        if str(config.get("issuer", "")).rstrip("/") != configured:
            raise OAuth2Error("The identity provider calls itself by another name than OIDC_ISSUER.")
        return config

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        return str(build_absolute_uri(request, reverse("sso_callback")))

    def _decode_id_token(self, app: SocialApp, id_token: str) -> dict[str, Any]:
        try:
            if jwt.get_unverified_header(id_token).get("alg") not in ALGORITHMS:
                raise OAuth2Error("The token is signed in a way that is not accepted.")
            claims: dict[str, Any] = jwtkit.verify_and_decode(
                credential=id_token,
                keys_url=self.openid_config["jwks_uri"],
                issuer=self.openid_config["issuer"],
                audience=app.client_id,
                lookup_kid=jwtkit.lookup_kid_jwk,
            )
        except (jwt.PyJWTError, KeyError, TypeError, ValueError) as error:
            raise OAuth2Error("The token cannot be verified.") from error
        return claims


class SingleSignOn(OpenIDConnectProvider):
    """The one provider of this site."""

    id = PROVIDER
    name = "Single sign-on"
    oauth2_adapter_class = SignedTokens
    package = "portal.accounts.single_sign_on"

    def get_login_url(self, request: HttpRequest, **kwargs: Any) -> str:
        return reverse("sso_login", query=kwargs)

    def get_callback_url(self) -> str:
        return reverse("sso_callback")

    def extract_uid(self, data: dict[str, Any]) -> str:
        token, said = data.get("id_token"), data.get("userinfo") or {}
        if not token or not token.get("sub"):
            raise OAuth2Error("The identity provider sent no token that says who signed in.")
        if said and said.get("sub") != token["sub"]:
            raise OAuth2Error("The identity provider speaks of two different people.")
        return hashlib.sha256(f"{token['iss']}\n{token['sub']}".encode()).hexdigest()

    def extract_extra_data(self, data: dict[str, Any]) -> dict[str, Any]:
        """No more than is needed: who it is, what we asked, and how people are told apart."""
        token = data["id_token"]
        person = data.get("userinfo") or token
        kept = {name: token[name] for name in _KEPT if name in token}
        return kept | {name: person[name] for name in _ABOUT_THE_PERSON if name in person}


provider_classes = [SingleSignOn]
