"""Who may ask the gate about what: one statement for the token, its cluster and the rules in force."""

from datetime import datetime

from django.http import HttpRequest
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request

from checks.api.authentication import bearer_text, client_address
from checks.api.permissions import MissingScope
from checks.models import TokenKind
from checks.selectors.gate_context import Asker, GateContext, NoSuchCluster, NoSuchRun, context_of_token
from checks.services.tokens import BadToken, note_use, parse_bearer, token_is_valid

SCOPE = "gate:read"


def open_gate(
    request: HttpRequest | Request, *, cluster: str = "", run: str = "", node: str = "", now: datetime
) -> GateContext:
    """The context of one question about *cluster*, or about that of *run*, once its token has been checked.

    A token with the scope ``gate:read`` asks about the clusters it is bound to; an agent's own token about its own
    node, and nothing else.

    Raises:
        NotAuthenticated: there is no token.
        BadToken: it is not valid here.
        MissingScope: it is, but may not ask this.
        NoSuchCluster, NoSuchRun: there is none for this token.
    """
    text = bearer_text(request)
    if text is None:
        raise NotAuthenticated
    bearer = parse_bearer(text)
    found = context_of_token(key=bearer.key, cluster=cluster, run=run, now=now)
    if found is None or not token_is_valid(found[0].token, bearer, address=client_address(request), now=now):
        raise BadToken
    asker, context = found
    _require_right(asker, node=node)
    if context is None:
        raise NoSuchRun(run) if run else NoSuchCluster(cluster)
    note_use(asker.token, now=now)
    return context


def _require_right(asker: Asker, *, node: str) -> None:
    if SCOPE in asker.token.scopes:
        return
    if asker.token.kind != TokenKind.AGENT or not node or node.lower() != asker.hostname:
        raise MissingScope(f"This token lacks the scope {SCOPE}; an agent's token may ask about its own node only.")
