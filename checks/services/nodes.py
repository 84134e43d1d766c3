"""What a person decides about a node: believe it again, take it out, take a part of it out."""

from collections.abc import Mapping
from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import F

from checks.domain.errors import CountersignError
from checks.models import Node, NodeItemState, Token, TokenKind
from checks.services.cluster_locks import lock_cluster
from checks.services.hardware import is_part
from checks.services.ledger import write_entry
from checks.services.rejudge import rejudge_node


@transaction.atomic
def confirm_node(
    *, node: Node, by: AbstractBaseUser, reason: str, now: datetime, seen: Mapping[str, str] | None = None
) -> Node:
    """End a node's trouble: its present serials are the right ones, and it is one machine.

    Other serials are other identity values: what was signed of the node is outdated, whatever its verdicts are.

    *seen* are the new serials that the person looked at, where they were shown.

    Raises:
        CountersignError: there is nothing to confirm, or by now it is something else than what was seen.
    """
    node = _locked(node)
    if not node.trouble:
        raise CountersignError(f"Nothing about {node.hostname} waits for a confirmation.", code="nothing_to_confirm")
    if seen is not None and dict(seen) != node.unconfirmed_serials:
        raise CountersignError(
            f"The serials of {node.hostname} changed again since you looked; look at them anew.",
            code="changed_meanwhile",
            status=409,
        )
    change = {"trouble": node.trouble, "serials": node.unconfirmed_serials}
    node.serials = {**node.serials, **node.unconfirmed_serials}
    node.unconfirmed_serials, node.trouble, node.past_boots = {}, "", []
    node.save(update_fields=["serials", "unconfirmed_serials", "trouble", "past_boots"])
    if change["serials"]:
        NodeItemState.objects.filter(node=node).exclude(settled="").update(epoch=F("epoch") + 1)
        rejudge_node(node_id=node.pk, now=now, cause="person")
    _write("node_confirmed", node, by, reason, now, change)
    return node


@transaction.atomic
def retire_node(*, node: Node, by: AbstractBaseUser, reason: str, now: datetime) -> Node:
    """Take a node out: it is asked no more, its token ends, its history stays.

    Raises:
        CountersignError: it is retired already.
    """
    node = _locked(node)
    if node.retired_at is not None:
        raise CountersignError(
            f"{node.hostname} is retired already, since {node.retired_at:%Y-%m-%d %H:%M} UTC.", code="already_retired"
        )
    node.retired_at = now
    node.save(update_fields=["retired_at"])
    Token.objects.filter(node=node, kind=TokenKind.AGENT, revoked_at=None).update(revoked_at=now)
    _write("node_retired", node, by, reason, now, {})
    return node


@transaction.atomic
def retire_subject(*, node: Node, subject: str, by: AbstractBaseUser, reason: str, now: datetime) -> Node:
    """Take one GPU or NIC of a node out: it has no rows any more, whatever the profile expects.

    Raises:
        CountersignError: *subject* is no numbered part, or is retired already.
    """
    if not is_part(subject):
        raise CountersignError(f"{subject!r} is no part of a node; name one such as gpu3.", code="not_a_part")
    lock_cluster(node.cluster_id)
    node = _locked(node)
    if subject in node.retired_subjects:
        raise CountersignError(f"{subject} of {node.hostname} is retired already.", code="already_retired")
    node.retired_subjects = {**node.retired_subjects, subject: reason}
    node.save(update_fields=["retired_subjects"])
    rejudge_node(node_id=node.pk, now=now, cause="person")
    _write("subject_retired", node, by, reason, now, {"subject": subject})
    return node


def _locked(node: Node) -> Node:
    return Node.objects.select_related("cluster").select_for_update(of=("self",), no_key=True).get(pk=node.pk)


def _write(what: str, node: Node, by: AbstractBaseUser, reason: str, now: datetime, data: dict[str, object]) -> None:
    target = f"{node.cluster.slug}/{node.hostname}"
    write_entry(what=what, target=target, who=by, cluster=node.cluster, reason=reason, now=now, data=data)
