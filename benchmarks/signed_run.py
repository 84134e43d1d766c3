"""A run on every node of a replicated cluster that all its people have signed, written straight into the tables.

Signing it through the service would judge, pack and pin 512 nodes five times; the gate reads the same rows either way.
"""

from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from benchmarks.replicas import as_vacuumed, hostname, replicated_cluster

SLUG = "bench-run"


def signed_run(*, size: int, now: datetime) -> int:
    """The id of a cluster of *size* nodes whose one run needs all of them, and may start."""
    from checks.models import Cluster, Role
    from checks.services.people import add_person, grant_role
    from checks.services.run_spec import RunSpec
    from checks.services.runs import create_run

    cluster = Cluster.objects.get(pk=replicated_cluster(f"bench-run-{size}", size=size, failing=[]))
    lead = add_person(username="lead", password=sha256(SLUG.encode()).hexdigest(), by=None, now=now)
    for role in (Role.HARDWARE, Role.PLATFORM, Role.DATA, Role.LEAD):
        grant_role(user=lead, cluster=cluster, role=role, by=None, now=now)
    spec = RunSpec(
        name="Benchmark", nodes_needed=size, world_size=8 * size, model_name="none", dataset="s3://corpus",
        planned_start=now + timedelta(days=1), planned_end=now + timedelta(days=11),
    )  # fmt: skip
    nodes = ",".join(map(hostname, range(size)))
    run = create_run(cluster=cluster, slug=SLUG, spec=spec, nodes=nodes, by=lead, now=now)
    _settle(run, now)
    _sign(run, lead, now)
    as_vacuumed()
    return cluster.pk


def _settle(run: Any, now: datetime) -> None:
    """All that is measured has settled as good, and what no node holds was measured."""
    from checks.domain.verdicts import Layer
    from checks.models import NodeItemState, NodeReadiness, ScopeState
    from checks.selectors.rules import ruleset_for
    from checks.selectors.shared_rows import shared_items, subject_of

    good = {"raw": "pass", "settled": "pass", "pending": "", "reason": "", "blocks": 0}
    NodeItemState.objects.filter(node__cluster=run.cluster).update(**good, observed_at=now)
    digests = {layer.value: sha256(layer.value.encode()).hexdigest() for layer in Layer}
    NodeReadiness.objects.filter(cluster=run.cluster).update(
        start_bad=0, health_bad=0, health_failed=0, start_until=None, digests=digests
    )
    ScopeState.objects.bulk_create(
        ScopeState(
            cluster=run.cluster, scope=item.scope, item=item.key, subject=subject_of(item.scope, run),
            layer=item.layer, cadence=item.cadence, severity=item.severity, item_version=item.version,
            observed_at=now, since=now, valid_until=now + timedelta(days=21), **good,
        )
        for item in shared_items(ruleset_for(run.cluster))
    )  # fmt: skip


def _sign(run: Any, person: Any, now: datetime) -> None:
    """Every layer, in one role for each person that a policy of one asks for."""
    from checks.domain.policy import DEFAULT_POLICY
    from checks.models import Manifest, Signature, SignoffPackage
    from checks.selectors.packages import run_state
    from checks.services.people import add_person, grant_role

    second = add_person(username="second", password=sha256(b"second").hexdigest(), by=None, now=now)
    for role in ("hardware", "platform", "data", "lead"):
        grant_role(user=second, cluster=run.cluster, role=role, by=None, now=now)
    for layer, package in run_state(run, now=now).packages.items():
        manifest = Manifest.objects.create(
            digest=package.digest, header=package.header, shared=package.shared, nodes=dict(package.nodes),
            stored_at=now,
        )  # fmt: skip
        signed = SignoffPackage.objects.create(run=run, layer=layer)
        for role, signer in zip(DEFAULT_POLICY.layers[layer].roles, (person, second), strict=False):
            Signature.objects.create(
                package=signed, manifest=manifest, round=1, role=role, signer=signer, signed_at=now,
                expires_at=now + timedelta(days=3), restart_until=run.planned_end, printed_name=str(signer),
                meaning="reviewed", policy_number=0, role_granted_at=now, auth_method="none", auth_at=now,
            )  # fmt: skip
