"""The links between nodes on the pages of cluster and node: bad nodes and links by name, with both ends."""

from datetime import datetime

from checks.domain.link_facts import link_facts
from checks.models import Cluster, LinkTrial, Node, NodeClaim
from checks.selectors.links import ITEM
from checks.services.link_items import derive_link_items
from tests.fleet import Fleet
from tests.link_lab import FAST, SLOW, prove_links, told
from tests.ui.conftest import HOUR, MINUTE, Sight

CLUSTER = "/clusters/helios/"


def slow_pairs(cluster: Cluster, *pairs: tuple[str, str], at: datetime) -> None:
    """Trials of *pairs* that reached half of what they should, and their verdicts."""
    slow = link_facts(told(SLOW), told(SLOW), cards=1, gpu=True, names=("one", "other"))
    nodes = {node.hostname: node for node in Node.objects.filter(cluster=cluster)}
    for one, other in pairs:
        claims = [
            NodeClaim.objects.filter(node=nodes[name]).first()
            or NodeClaim.objects.create(
                node=nodes[name], items=[ITEM], claimed_at=at - MINUTE, until=at, ended_at=at,
                ended_by=NodeClaim.End.RELEASED,
            )
            for name in (one, other)
        ]  # fmt: skip
        LinkTrial.objects.create(
            cluster=cluster, server=nodes[one], client=nodes[other], server_claim=claims[0], client_claim=claims[1],
            cards=1, gpu_memory=True, flow_s=7, port=18515, handed_at=at - MINUTE, until=at, ended_at=at,
            facts=slow.facts,
        )  # fmt: skip
    derive_link_items(now=at)


def links(page: str) -> str:
    """The part of a page that is about links."""
    begin = page.index('aria-labelledby="lk"')
    return page[begin : page.index("</section>", begin)]


def test_before_the_first_trial_no_page_speaks_of_links(sight: Sight) -> None:
    assert 'aria-labelledby="lk"' not in sight.text(CLUSTER)
    assert 'aria-labelledby="lk"' not in sight.text(f"{CLUSTER}nodes/gpu-001/")


def test_when_all_is_well_the_cluster_says_so_and_a_node_shows_with_whom_it_measured(
    sight: Sight, fleet: Fleet, now: datetime
) -> None:
    prove_links(fleet.cluster, ["gpu-001", "gpu-002", "gpu-003"], at=now)

    assert "Every node and every link that was measured passes." in links(sight.text(CLUSTER))
    node = links(sight.text(f"{CLUSTER}nodes/gpu-002/"))
    assert "/nodes/gpu-001/" in node
    assert "/nodes/gpu-003/" in node
    assert f"{FAST}" in node


def test_a_bad_node_is_named_on_the_cluster_s_page_with_what_it_reached(
    sight: Sight, fleet: Fleet, now: datetime
) -> None:
    prove_links(fleet.cluster, ["gpu-001", "gpu-002", "gpu-003"], at=now - MINUTE)
    slow_pairs(fleet.cluster, ("gpu-004", "gpu-001"), ("gpu-004", "gpu-002"), at=now)
    page = links(sight.text(CLUSTER))

    assert "/nodes/gpu-004/" in page
    assert "with every partner" in page
    assert "0.498" in page
    assert "/nodes/gpu-001/" not in page


def test_a_bad_link_is_named_with_both_ends_on_the_pages_of_both(sight: Sight, fleet: Fleet, now: datetime) -> None:
    prove_links(fleet.cluster, ["gpu-001", "gpu-002", "gpu-003"], at=now - MINUTE)
    slow_pairs(fleet.cluster, ("gpu-001", "gpu-003"), at=now)

    for path in (CLUSTER, f"{CLUSTER}nodes/gpu-001/", f"{CLUSTER}nodes/gpu-003/"):
        page = links(sight.text(path))
        assert "the link between them" in page
        assert page.index("/nodes/gpu-001/") < page.index("/nodes/gpu-003/")
    assert "the link between them" not in links(sight.text(f"{CLUSTER}nodes/gpu-002/"))


def test_suspects_are_told_what_to_do_in_the_reader_s_language(sight: Sight, fleet: Fleet, now: datetime) -> None:
    slow_pairs(fleet.cluster, ("gpu-001", "gpu-002"), at=now)
    assert "suspect: slow with gpu-002" in links(sight.text(f"{CLUSTER}nodes/gpu-001/"))

    sight.client.post("/accounts/language/", {"language": "zh-hans", "next": "/"})
    page = links(sight.text(f"{CLUSTER}nodes/gpu-001/"))
    assert "可疑：与 gpu-002 配对时偏慢" in page
    assert "节点间链路" in page


def test_evidence_that_has_ended_is_stale(sight: Sight, fleet: Fleet, now: datetime) -> None:
    prove_links(fleet.cluster, ["gpu-001", "gpu-002"], at=now - 8 * 24 * HOUR)

    assert "stale" in links(sight.text(CLUSTER))
