"""Nodes that tell what they are set to, through the service that takes it from agents."""

from collections.abc import Mapping
from datetime import datetime

from checks.models import Node, Token
from checks.services.fingerprint_v1 import FingerprintV1, fingerprint_digest
from checks.services.fingerprints import record_fingerprint

BACKLOG = "sysctl:net.core.netdev_max_backlog"
RMEM = "sysctl:net.core.rmem_max"


def tell(node: Node, settings: Mapping[str, str | None], *, at: datetime, kinds: tuple[str, ...] = ("sysctl",)) -> None:
    """Have *node* be set to *settings* from *at* on."""
    sent = FingerprintV1(1, fingerprint_digest(kinds, settings), list(kinds), dict(settings))
    record_fingerprint(token=Token(node=node), sent=sent, now=at)
