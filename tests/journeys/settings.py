"""Nodes of a journey that tell what they are set to, as their agents would."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from checks.services.fingerprint_v1 import fingerprint_digest
from tests.journeys.user import ClusterOfMine

Settings = Mapping[str, str | None]


def tell(cluster: ClusterOfMine, hostname: str, settings: Settings, kinds: Sequence[str]) -> None:
    """Enrol *hostname* and let it tell *settings*, its digest first as the agent does it."""
    node, digest = cluster.enrol(hostname), fingerprint_digest(kinds, settings)
    body = {"schema": 1, "sha256": digest}
    path = "/api/v1/agent/fingerprint"
    asked = cluster.portal.ask(path, token=node.token, body=body)
    assert asked.status == 200, asked.text
    if asked.json["wanted"]:
        sent = cluster.portal.ask(path, token=node.token, body={**body, "kinds": list(kinds), "settings": settings})
        assert (sent.status, sent.json) == (200, {"wanted": False}), sent.text


def tell_all(cluster: ClusterOfMine, fleet: Mapping[str, Settings], kinds: Sequence[str]) -> None:
    """A fleet; four nodes at a time."""
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: tell(cluster, name, fleet[name], kinds), fleet))
