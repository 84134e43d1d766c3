"""A cluster with rules in force and nodes in any state, made straight from rows: for tests of what reads them."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.utils import OperationalError

from checks.domain.catalogue import Catalogue, load_catalogue
from checks.domain.profiles import TrainingEnv
from checks.models import CatalogVersion, Cluster, Node, NodeItemState, NodeReadiness, TokenKind
from checks.selectors.rules import build_ruleset, ruleset_for
from checks.services.tokens import issue_token

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


@lru_cache(maxsize=1)
def our_catalogue() -> Catalogue:
    """The checklist of this repository, read once a session."""
    return load_catalogue(Path(__file__).resolve().parents[1] / "checks" / "catalog")


def lab(slug: str = "lab", profile: str = "8xh200") -> Cluster:
    """A cluster whose rules are those of our catalogue."""
    catalogue = our_catalogue()
    CatalogVersion.objects.get_or_create(
        digest=catalogue.digest,
        defaults={
            "version": catalogue.version, "document": catalogue.as_json(), "loaded_at": NOON - 24 * HOUR,
            "in_force": True,
        },
    )  # fmt: skip
    judged_under = {profile: build_ruleset(profile, {}, TrainingEnv.NONE).judged_under}
    return Cluster.objects.create(
        slug=slug, name=slug, profile=profile, judged_under=judged_under, training_env=TrainingEnv.NONE
    )


def healthy_node(cluster: Cluster, hostname: str = "gpu001", **changes: Any) -> Node:
    """A node whose tick evidence, of a minute ago, is good until 12:14 and whose daily evidence is good until tomorrow.

    *changes* are columns of its summary.
    """
    node = Node.objects.create(cluster=cluster, hostname=hostname, enrolled_at=NOON - 24 * HOUR)
    columns: dict[str, Any] = {
        "tick_at": NOON - MINUTE, "tick_until": NOON + 14 * MINUTE, "tick_expected": 40,
        "daily_at": NOON - HOUR, "daily_until": NOON + 35 * HOUR, "daily_expected": 8,
        "health_pass_physical": 30, "health_pass_system": 12,
        "judged_under": ruleset_for(cluster, node).judged_under,
        "last_report_at": NOON - MINUTE, "last_observed_at": NOON - MINUTE,
    }  # fmt: skip
    NodeReadiness.objects.create(node=node, cluster=cluster, **columns | changes)
    return node


def bad_row(node: Node, item: str, *, subject: str = "", blocks: int = 2, **changes: Any) -> NodeItemState:
    """A row of *node* that failed eleven minutes ago, last measured a minute ago, counted in its summary."""
    rules = ruleset_for(node.cluster, node)
    described = rules.items[item]
    columns: dict[str, Any] = {
        "layer": described.layer, "scope": described.scope, "cadence": described.cadence, "severity": "blocker",
        "raw": "fail", "reason": "criterion", "since": NOON - 11 * MINUTE, "observed_at": NOON - MINUTE,
        "item_version": described.version, "blocks": blocks,
    }  # fmt: skip
    row = NodeItemState.objects.create(node=node, item=item, subject=subject, **columns | changes)
    summary = NodeReadiness.objects.get(node=node)
    summary.health_bad += blocks == 2
    summary.health_failed += blocks == 2 and row.raw == "fail"
    summary.start_bad += blocks > 0
    summary.save()
    return row


def bearer(kind: TokenKind = TokenKind.GATE, *clusters: Cluster, **of: Any) -> dict[str, str]:
    """The header of a fresh token, bound to *clusters* where it is a gate's; *of* goes to ``issue_token``."""
    token, text = issue_token(kind=kind, clusters=clusters, now=NOON - HOUR, created_by=None, **of)
    token.last_used_at = NOON
    token.save(update_fields=["last_used_at"])
    return {"Authorization": f"Bearer {text}"}


def firmware(node: Node, vbios: str, *, gpus: int = 1, part: str = "692-2G520-0200-000") -> None:
    """Rows that say which VBIOS each GPU of *node* has."""
    for number in range(gpus):
        facts = {"vbios": vbios, "inforom": "G520.0200.00.05", "part_number": part}
        row = bad_row(node, "gpu-firmware", subject=f"gpu{number}", raw="pass", reason="", blocks=0)
        row.value = {"facts": facts, "item_version": row.item_version}
        row.save(update_fields=["value"])


@contextmanager
def database_away() -> Iterator[None]:
    """Every statement of this thread fails as it does when the server has gone, and nothing is left broken."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise OperationalError("connection to server failed: Connection refused")

    with connection.execute_wrapper(refuse):
        yield
