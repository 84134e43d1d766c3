"""A small OpenID Connect provider on loopback: real HTTP, codes bound to their PKCE challenge, tokens signed RS256."""

import base64
import hashlib
import json
import secrets
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

CLIENT, SECRET = "countersign", "a secret of the tests only"


def _key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass
class IdentityProvider:
    """Who would sign in next, and how honest the provider is about it.

    ``signed_in_at`` is when they last gave their password there; ``asks_again`` is whether it heeds *max_age=0*.
    ``claims`` are put over those of the token, ``signs_with`` replaces the published key.
    """

    sub: str = "sub-quill"
    email: str = "quill@example.org"
    verified: bool = True
    name: str = "quill"
    signed_in_at: float = field(default_factory=lambda: time.time() - 3600)
    asks_again: bool = True
    claims: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] = field(default_factory=dict)
    signs_with: Any = None
    algorithm: str = "RS256"
    asked: list[dict[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._key = _key()
        self._codes: dict[str, dict[str, str]] = {}
        self.server = HTTPServer(("127.0.0.1", 0), _handler(self))
        Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def settings(self, match: str = "email") -> dict[str, Any]:
        """What ``SOCIALACCOUNT_PROVIDERS`` is for this provider."""
        told = {"server_url": self.issuer, "oauth_pkce_enabled": True, "match": match}
        app = {"provider_id": "sso", "name": "Acme ID", "client_id": CLIENT, "secret": SECRET, "settings": told}
        return {"sso": {"APPS": [app]}}

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    # What the endpoints answer.

    def discovery(self) -> dict[str, Any]:
        ends = {"authorization_endpoint": "authorize", "token_endpoint": "token", "userinfo_endpoint": "userinfo"}
        found = {name: f"{self.issuer}/{path}" for name, path in ends.items()}
        methods = ["client_secret_post"]
        return found | {
            "issuer": self.issuer, "jwks_uri": f"{self.issuer}/keys", "token_endpoint_auth_methods_supported": methods,
        }  # fmt: skip

    def keys(self) -> dict[str, Any]:
        public = json.loads(RSAAlgorithm.to_jwk(self._key.public_key()))
        return {"keys": [public | {"kid": "one", "alg": "RS256", "use": "sig"}]}

    def authorize(self, query: dict[str, str]) -> str:
        """The person signs in, anew where that is asked for; the address that the browser is sent back to."""
        self.asked.append(query)
        if query.get("max_age") == "0" and self.asks_again:
            self.signed_in_at = time.time()
        code = secrets.token_urlsafe(8)
        self._codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def token(self, form: dict[str, str]) -> dict[str, Any] | None:
        """A token for a code that was not used yet, from whoever knows secret and verifier; None for others."""
        asked = self._codes.pop(form.get("code", ""), None)
        challenge = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        shown = base64.urlsafe_b64encode(challenge).rstrip(b"=").decode()
        if asked is None or form.get("client_secret") != SECRET or shown != asked.get("code_challenge"):
            return None
        now = int(time.time())
        claims = {
            "iss": self.issuer, "sub": self.sub, "aud": CLIENT, "iat": now, "exp": now + 60, "nonce": asked["nonce"],
            "auth_time": int(self.signed_in_at), "jti": secrets.token_urlsafe(8),
        } | self.claims  # fmt: skip
        said = {name: value for name, value in claims.items() if value is not None}
        signed = jwt.encode(said, self.signs_with or self._key, algorithm=self.algorithm, headers={"kid": "one"})
        return {"access_token": "opaque", "token_type": "Bearer", "id_token": signed}

    def person(self) -> dict[str, Any]:
        told = {"sub": self.sub, "email": self.email, "email_verified": self.verified, "preferred_username": self.name}
        return told | self.userinfo


def _handler(provider: IdentityProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/authorize":
                self.send_response(302)
                self.send_header("Location", provider.authorize(_flat(parts.query)))
                self.end_headers()
                return
            pages = {
                "/.well-known/openid-configuration": provider.discovery,
                "/keys": provider.keys,
                "/userinfo": provider.person,
            }
            self._answer(pages[parts.path]() if parts.path in pages else None)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._answer(provider.token(_flat(body)))

        def _answer(self, said: dict[str, Any] | None) -> None:
            text = json.dumps(said or {"error": "invalid_grant"}).encode()
            self.send_response(200 if said else 400)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *args: Any) -> None:
            """Nothing: the test says what it saw."""

    return Handler


def _flat(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query).items()}
