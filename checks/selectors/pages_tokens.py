"""Tokens that pages list; their secrets are nowhere to be read."""

from datetime import datetime

from django.db.models import Q

from checks.models import Cluster, Token, TokenKind


def enrolment_tokens(cluster: Cluster, *, now: datetime) -> tuple[Token, ...]:
    """Enrolment tokens of *cluster* that still enrol somebody, the one that ends first in front."""
    tokens = Token.objects.filter(cluster=cluster, kind=TokenKind.ENROLMENT, revoked_at=None)
    in_force = tokens.filter(Q(expires_at=None) | Q(expires_at__gt=now)).exclude(uses_left=0)
    return tuple(in_force.select_related("created_by").order_by("expires_at"))


def enrolment_token(cluster: Cluster, key: str) -> Token | None:
    """The enrolment token of *cluster* with that public part."""
    return Token.objects.filter(cluster=cluster, kind=TokenKind.ENROLMENT, key=key).first()
