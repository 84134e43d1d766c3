"""How a machine becomes a node: an enrolment token against a token of its own, and rows that say *never measured*."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import F

from checks.domain.errors import CountersignError
from checks.domain.verdicts import Reason
from checks.models import Cluster, Node, Token, TokenKind
from checks.services.cluster_locks import lock_cluster
from checks.services.clusters import refresh_rules
from checks.services.hardware import check_serials
from checks.services.ledger import write_entry
from checks.services.rejudge import rejudge_node
from checks.services.tokens import BadToken, is_live, issue_token, parse_bearer, token_is_valid

REENROLMENT_WINDOW = timedelta(minutes=15)
_OWN_NODE_ONLY = "A node's own token enrols that node only; use an enrolment token."
_LONGEST_NAME = 150  # of a token; it only tells tokens apart, the node itself is a column of its own


class AlreadyEnrolled(CountersignError):
    """Another machine, or this one before, holds that hostname."""

    code = "already_enrolled"
    status = 409


class EnrolmentRefused(CountersignError):
    """The token is good, but not for this machine."""

    code = "enrolment_refused"
    status = 403


@dataclass(frozen=True, slots=True)
class Enrolment:
    """What a machine says of itself when it asks to become a node."""

    hostname: str
    serials: dict[str, str]
    boot_id: str
    agent_version: str
    origin: str
    cluster: str | None = None


@dataclass(frozen=True, slots=True)
class Enrolled:
    """The node, and the text of its token, which cannot be shown again."""

    node: Node
    cluster: Cluster
    token: str


def enrol_node(*, bearer: str, enrolment: Enrolment, address: str | None, now: datetime) -> Enrolled:
    """Make *enrolment*'s machine a node, or give a node that may have it a new token.

    A hostname with a live token enrols again only with that token, or while a person allows it.

    Raises:
        BadToken: the bearer is no live enrolment token (or the node's own).
        EnrolmentRefused: the token is for another cluster, hostname pattern, or live nodes only.
        AlreadyEnrolled: the hostname is taken; a notice stands in the ledger.
    """
    try:
        with transaction.atomic():
            return _enrol(bearer, enrolment, address=address, now=now)
    except AlreadyEnrolled as refusal:
        _notice(bearer, enrolment, refusal, now=now)
        raise


@transaction.atomic
def allow_reenrolment(*, node: Node, by: AbstractBaseUser, reason: str, now: datetime) -> Node:
    """For 15 minutes, let *node*'s hostname enrol again without its live token.

    Raises:
        CountersignError: somebody did so already, and the time is not over.
    """
    node = Node.objects.select_related("cluster").select_for_update(of=("self",), no_key=True).get(pk=node.pk)
    if node.reenrol_until is not None and now < node.reenrol_until:
        raise CountersignError(
            f"{node.hostname} may enrol again already, until {node.reenrol_until:%H:%M} UTC.", code="already_allowed"
        )
    node.reenrol_until = now + REENROLMENT_WINDOW
    node.save(update_fields=["reenrol_until"])
    target = f"{node.cluster.slug}/{node.hostname}"
    write_entry(what="reenrolment_allowed", target=target, who=by, cluster=node.cluster, reason=reason, now=now)
    return node


def _valid_token(bearer: str, *, address: str | None, now: datetime) -> Token:
    """The token as it is now, if it may enrol at all."""
    parts = parse_bearer(bearer)
    enrolling = Token.objects.select_related("cluster", "node__cluster").filter(
        key=parts.key, kind__in=[TokenKind.ENROLMENT, TokenKind.AGENT]
    )
    token = enrolling.first()
    if token is None or not token_is_valid(token, parts, address=address, now=now):
        raise BadToken
    return token


def _enrol(bearer: str, enrolment: Enrolment, *, address: str | None, now: datetime) -> Enrolled:
    """Locks cluster, node, token, in this order: a report locks node and token, a change of rules cluster and node."""
    cluster = _cluster_of(_valid_token(bearer, address=address, now=now), enrolment)
    # Enrolments of one cluster queue up here: one name is found free, and one last use is spent, only once.
    cluster = lock_cluster(cluster.pk)
    hostname = enrolment.hostname.lower()
    node = Node.objects.select_for_update(no_key=True).filter(cluster=cluster, hostname=hostname).first()
    token = _valid_token(bearer, address=address, now=now)
    if node is None:
        if token.kind == TokenKind.AGENT:
            raise EnrolmentRefused(_OWN_NODE_ONLY)
        node, what = _new_node(cluster, enrolment, now=now), "node_enrolled"
    else:
        _require_leave(node, token, now=now)
        if enrolment.origin != node.origin:
            raise EnrolmentRefused(f"{node.hostname} is a {node.origin} node and stays one; use another hostname.")
        _enrol_again(node, enrolment, now=now)
        what = "node_enrolled_again"
    text = _new_token(node, token, now=now)
    write_entry(what=what, target=f"{cluster.slug}/{node.hostname}", cluster=cluster, now=now)
    return Enrolled(node, cluster, text)


def _cluster_of(token: Token, enrolment: Enrolment) -> Cluster:
    """The token's cluster, once everything that the token restricts holds."""
    cluster = token.cluster or (token.node.cluster if token.node else None)
    if cluster is None or cluster.closed_at is not None:
        raise EnrolmentRefused("This token's cluster takes no nodes any more; ask for a token of an open one.")
    if enrolment.cluster and enrolment.cluster != cluster.slug:
        raise EnrolmentRefused(f"This token enrols into {cluster.slug}, not into {enrolment.cluster}.")
    if token.hostname_pattern and not fnmatchcase(enrolment.hostname.lower(), token.hostname_pattern.lower()):
        raise EnrolmentRefused(f"This token enrols hostnames like {token.hostname_pattern} only.")
    if enrolment.origin == "replay" and not cluster.accept_replay:
        raise EnrolmentRefused(
            f"{cluster.slug} takes live nodes only; it does not accept replays.", code="replay_refused"
        )
    return cluster


def _require_leave(node: Node, token: Token, *, now: datetime) -> None:
    """A taken hostname opens for the node's own live token; for an enrolment token, only by a person's leave or where
    no live token is left. Another node's own token opens nothing.
    """
    if token.kind == TokenKind.AGENT:
        if token.node_id != node.pk:
            raise EnrolmentRefused(_OWN_NODE_ONLY)
        return
    if node.reenrol_until is not None and now < node.reenrol_until:
        return
    taken = any(
        is_live(revoked_at=held.revoked_at, expires_at=held.expires_at, now=now)
        for held in node.tokens.filter(kind=TokenKind.AGENT)
    )
    if taken or node.retired_at is not None:
        raise AlreadyEnrolled(
            f"{node.hostname} is already enrolled; enrol again with its own token, or ask a hardware or platform "
            f"engineer, lead or administrator of {node.cluster.slug} to press “Allow re-enrolment” on the node's page."
        )


def _new_node(cluster: Cluster, enrolment: Enrolment, *, now: datetime) -> Node:
    node = Node.objects.create(
        cluster=cluster, hostname=enrolment.hostname.lower(), serials=enrolment.serials, boot_id=enrolment.boot_id,
        boot_since=now, origin=enrolment.origin, agent_version=enrolment.agent_version, enrolled_at=now,
    )  # fmt: skip
    rejudge_node(node_id=node.pk, now=now)
    return node


def _enrol_again(node: Node, enrolment: Enrolment, *, now: datetime) -> None:
    serials = check_serials(node.serials, enrolment.serials)
    node.serials = dict(serials.known)
    if serials.changed:
        node.unconfirmed_serials, node.trouble = dict(serials.changed), Reason.HARDWARE_CHANGED
    returns = node.retired_at is not None
    node.agent_version, node.reenrol_until, node.retired_at = enrolment.agent_version, None, None
    node.save()
    if returns and node.profile:  # rules are named for profiles in use, which its own was not while it was away
        refresh_rules(node.cluster)
    Token.objects.filter(node=node, kind=TokenKind.AGENT, revoked_at=None).update(revoked_at=now)


def _new_token(node: Node, used: Token, *, now: datetime) -> str:
    """The node's own token; one use of the token that was shown is spent."""
    if used.uses_left is not None:
        Token.objects.filter(pk=used.pk).update(uses_left=F("uses_left") - 1, last_used_at=now)
    _, text = issue_token(
        kind=TokenKind.AGENT,
        node=node,
        cluster=node.cluster,
        name=node.hostname[:_LONGEST_NAME],
        created_by=None,
        now=now,
    )
    return text


def _notice(bearer: str, enrolment: Enrolment, refusal: AlreadyEnrolled, *, now: datetime) -> None:
    """Tell people that somebody tried: the refusal itself has rolled everything back."""
    token = Token.objects.select_related("cluster", "node__cluster").get(key=parse_bearer(bearer).key)
    cluster = token.cluster or (token.node.cluster if token.node else None)
    write_entry(what="enrolment_refused", target=enrolment.hostname, cluster=cluster, reason=refusal.message, now=now)
