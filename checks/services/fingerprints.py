"""Keep what nodes are set to: content once, and for each node from when on it had which."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import Count, Exists, OuterRef

from checks.domain.drift.noise import Noise
from checks.domain.drift.prints import Value, difference, kind_of
from checks.domain.errors import CountersignError
from checks.models import Fingerprint, FingerprintChange, Node, NodeFingerprint, Token
from checks.selectors.rules import catalogue_in_force
from checks.services.fingerprint_v1 import FingerprintV1, fingerprint_digest
from checks.services.plans import node_of_agent

#: What a node was set to is kept for as long as it may be asked about, the last change of 400 days ago included.
KEPT: Final = timedelta(days=400)
#: A fingerprint of which more than a third differs from the base of its cluster is a base of its own.
_MOST_OF_ITS_OWN: Final = 3


class BadFingerprint(CountersignError):
    """The settings are not those that their digest names, or one of them is of no kind that was read."""

    code = "bad_fingerprint"
    status = 422


@transaction.atomic
def record_fingerprint(*, token: Token, sent: FingerprintV1, now: datetime) -> bool:
    """Note which settings the node of *token* has now; True when they are not known here and have to be sent, too.

    Raises:
        NodeRetired: its node or cluster takes no part any more.
        BadFingerprint: nothing was stored.
    """
    node = node_of_agent(token)
    if not Fingerprint.objects.filter(sha256=sent.sha256).exists():
        if sent.kinds is None or sent.settings is None:
            return True
        _store(node, sent.sha256, sent.kinds, sent.settings, catalogue_in_force().noise, now)
    _point(node, sent.sha256, now)
    return False


def purge_fingerprints(*, now: datetime) -> int:
    """Delete fingerprints that no node has had for 400 days and that none other is told by; returns how many.

    From when on a node had which stays, with the digest.
    """
    current = NodeFingerprint.objects.filter(fingerprint=OuterRef("pk"))
    lately = FingerprintChange.objects.filter(sha256=OuterRef("pk"), at__gte=now - KEPT)
    named = Fingerprint.objects.filter(base=OuterRef("pk"))
    old = Fingerprint.objects.filter(~Exists(current), ~Exists(lately), ~Exists(named), stored_at__lt=now - KEPT)
    return old.delete()[0]


def _store(
    node: Node, sha256: str, kinds: list[str], settings: Mapping[str, str | None], noise: Noise, now: datetime
) -> None:
    if fingerprint_digest(kinds, settings) != sha256:
        raise BadFingerprint("The settings are not those of this sha256; send them as they were hashed.")
    if strange := next((name for name in settings if kind_of(name) not in kinds), None):
        raise BadFingerprint(f"{strange[:80]!r} is of no kind that was read; name its kind in kinds.")
    base = _base_for(node, sorted(kinds))
    own: Mapping[str, Value] = settings
    if base is not None:
        own = difference({**base.quiet, **base.noisy}, settings)
        if len(own) * _MOST_OF_ITS_OWN > len(settings):
            base, own = None, settings
    noisy = {name: value for name, value in own.items() if noise.covers(name)}
    quiet = {name: value for name, value in own.items() if name not in noisy}
    fields = {"base": base, "kinds": sorted(kinds), "quiet": quiet, "noisy": noisy, "filter": noise.digest}
    Fingerprint.objects.get_or_create(sha256=sha256, defaults=fields | {"size": len(settings), "stored_at": now})


def _base_for(node: Node, kinds: list[str]) -> Fingerprint | None:
    """The base that most nodes of the cluster are told by, of those in which the same kinds were read."""
    had = NodeFingerprint.objects.filter(node__cluster=node.cluster_id, fingerprint__kinds=kinds)
    told = had.exclude(fingerprint__base=None).values_list("fingerprint__base").annotate(n=Count("*"))
    whole = had.filter(fingerprint__base=None).values_list("fingerprint").annotate(n=Count("*"))
    found = told.order_by("-n").first() or whole.order_by("-n").first()
    return Fingerprint.objects.get(pk=found[0]) if found else None


def _point(node: Node, sha256: str, now: datetime) -> None:
    Node.objects.select_for_update(no_key=True).get(pk=node.pk)
    held = NodeFingerprint.objects.filter(node=node).first()
    if held is not None and held.fingerprint_id == sha256:
        NodeFingerprint.objects.filter(node=node).update(seen_at=now)
        return
    FingerprintChange.objects.create(node=node, sha256=sha256, at=now)
    fresh = {"fingerprint_id": sha256, "since": now, "seen_at": now}
    NodeFingerprint.objects.update_or_create(node=node, defaults=fresh)
