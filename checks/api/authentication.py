"""Who calls the API: always a token, never a browser session."""

from dataclasses import dataclass

from django.http import HttpRequest
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from checks.models import Token, TokenKind
from checks.services.tokens import BadToken, authenticate

CHALLENGE = 'Bearer realm="countersign"'


@dataclass(frozen=True, slots=True)
class TokenPrincipal:
    """What stands where Django expects a user: a token is not the person who made it."""

    token: Token
    is_authenticated = True
    is_active = True
    is_staff = False

    @property
    def pk(self) -> str:
        """A name for throttles and logs; not a user id."""
        return f"token-{self.token.key}"


def bearer_text(request: HttpRequest | Request) -> str | None:
    """The token's text in the Authorization header; None when there is no header.

    Raises:
        BadToken: there is one, of another scheme.
    """
    header = request.META.get("HTTP_AUTHORIZATION", "")
    if not header:
        return None
    scheme, _, text = header.partition(" ")
    if scheme.lower() != "bearer" or not text.strip():
        raise BadToken
    return text.strip()


def client_address(request: HttpRequest | Request) -> str | None:
    """The peer's address as the server saw it. Forwarded headers are not believed: anybody can write them."""
    return request.META.get("REMOTE_ADDR") or None


def token_of(request: Request) -> Token:
    """The token that a permission class has let in.

    Raises:
        BadToken: the view has no such class.
    """
    if not isinstance(request.auth, Token):
        raise BadToken
    return request.auth


class BearerToken(BaseAuthentication):
    """Any live token; a view's permission asks for the scope."""

    def authenticate(self, request: Request) -> tuple[TokenPrincipal, Token] | None:
        text = bearer_text(request)
        if text is None:
            return None
        address, now = client_address(request), timezone.now()
        token = authenticate(bearer=text, kinds=TokenKind.values, address=address, now=now)
        return TokenPrincipal(token), token

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE


class UncheckedBearer(BaseAuthentication):
    """Only takes the text along, as ``request.auth``: the service checks it in the statement that locks the node."""

    def authenticate(self, request: Request) -> tuple[None, str] | None:
        text = bearer_text(request)
        return None if text is None else (None, text)

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE
