"""Samples for other people's systems: as far as they can be held without those systems."""

import os
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from checks.models import Cluster, TokenKind
from checks.services.tokens import issue_token
from tests.architecture.source_files import ROOT
from tests.fleet import healthy_nodes, make_fleet

DEPLOY = ROOT / "agents" / "deploy"
SAMPLES = sorted([*DEPLOY.rglob("*.yml"), *DEPLOY.rglob("*.yaml")])


def scripts(value: Any) -> Iterator[str]:
    """Every shell script in a manifest."""
    if isinstance(value, dict):
        command = value.get("command")
        if isinstance(command, list) and command[:2] == ["sh", "-c"]:
            yield command[2]
        for part in value.values():
            yield from scripts(part)
    elif isinstance(value, list):
        for part in value:
            yield from scripts(part)


def script_of(name: str) -> str:
    """The one script of a sample."""
    manifests = yaml.safe_load_all((DEPLOY / "kubernetes" / name).read_text(encoding="utf-8"))
    (script,) = scripts(list(manifests))
    return str(script)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample_is_well_formed(path: Path) -> None:
    found = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))

    assert all(found)
    if path.suffix == ".yaml":
        assert all({"apiVersion", "kind", "metadata"} <= manifest.keys() for manifest in found)


def test_the_ansible_role_fetches_from_the_portal_alone() -> None:
    tasks = yaml.safe_load((DEPLOY / "ansible/roles/readiness_agent/tasks/main.yml").read_text(encoding="utf-8"))
    fetched = [task[module]["url"] for task in tasks for module in task if module.endswith((".get_url", ".uri"))]

    assert len(fetched) == 2
    assert all(url.startswith("{{ readiness_portal }}/agent/") for url in fetched)


@pytest.fixture
def cluster(live_server: LiveServer) -> Cluster:
    """One ready node, gpu-001, and one that nobody has measured, gpu-002."""
    now = timezone.now()
    fleet = make_fleet(at=now - timedelta(hours=2))
    healthy_nodes(fleet, ["gpu-001"], at=now)
    fleet.enrol("gpu-002", at=now)
    return fleet.cluster


def environment(cluster: Cluster, portal: str, **more: str) -> dict[str, str]:
    _, token = issue_token(kind=TokenKind.GATE, clusters=[cluster], created_by=None, now=timezone.now())
    return os.environ | {"PORTAL": portal, "CLUSTER": cluster.slug, "TOKEN": token} | more


@pytest.mark.parametrize(("node", "waits"), [("gpu-001", False), ("gpu-002", True), ("nobody", True)])
def test_a_pod_goes_on_on_a_ready_node_and_waits_on_any_other(
    live_server: LiveServer, cluster: Cluster, node: str, waits: bool
) -> None:
    script = script_of("job-waits-for-node.yaml").replace("sleep 30", "exit 75")

    done = subprocess.run(
        ["sh", "-c", script], env=environment(cluster, live_server.url, NODE=node), capture_output=True, text=True,
        check=False,
    )  # fmt: skip

    assert done.returncode == (75 if waits else 0), done.stdout
    assert done.stdout.splitlines()[0] == ("unknown" if waits else "ready")


def test_a_pod_waits_while_the_portal_is_away(live_server: LiveServer, cluster: Cluster) -> None:
    script = script_of("job-waits-for-node.yaml").replace("sleep 30", "exit 75")

    done = subprocess.run(
        ["sh", "-c", script], env=environment(cluster, "http://127.0.0.1:9", NODE="gpu-001"), check=False
    )

    assert done.returncode == 75


@pytest.mark.parametrize(("slug", "policy"), [("helios", "Hold"), ("lone", "None")])
def test_a_queue_is_held_unless_the_whole_cluster_is_ready(
    live_server: LiveServer, cluster: Cluster, tmp_path: Path, slug: str, policy: str
) -> None:
    lone = make_fleet("lone", at=timezone.now() - timedelta(hours=2))
    healthy_nodes(lone, ["gpu-001"], at=timezone.now())
    asked = {"helios": cluster, "lone": lone.cluster}[slug]
    kubectl = tmp_path / "kubectl"  # there is no Kubernetes here: it prints what it was asked to do
    kubectl.write_text('#!/bin/sh\necho "$@"\n')
    kubectl.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"

    done = subprocess.run(
        ["sh", "-c", script_of("kueue-holds-queue.yaml")], capture_output=True, text=True, check=True,
        env=environment(asked, live_server.url, QUEUE="gpu", PATH=path),
    )  # fmt: skip

    assert (
        done.stdout.splitlines()[-1]
        == f'patch clusterqueue gpu --type merge --patch {{"spec":{{"stopPolicy":"{policy}"}}}}'
    )
