"""The cluster's page: items on nodes as a heat map, the worst nodes, everything as CSV."""

import csv
import re
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from checks.models import Node, NodeItemState, NodeReadiness, Role, ScopeState
from checks.selectors.rules import ruleset_for
from tests.fleet import Fleet, healthy_nodes, make_fleet, person
from tests.ui.conftest import MINUTE, Sight, seen_by

PAGE = "/clusters/helios/"


def _row(page: str, item: str) -> str:
    """The line of *item* in the first matrix."""
    start = page.index(f'href="/clusters/helios/items/{item}/"')
    return page[start : page.index("</tr>", start)]


def test_a_run_of_passes_is_one_rectangle_and_no_link(sight: Sight) -> None:
    row = _row(sight.text(PAGE), "sysctl-somaxconn")
    # gpu-001 to gpu-003 pass, gpu-004 hangs at another switch and was never measured; four columns share 730 px
    assert row.count('<rect class="field-pass-node" width="546"') == 1
    assert row.count('<a class="cell') == 1


def test_a_deviation_is_a_shape_that_links_to_its_value(sight: Sight) -> None:
    row = _row(sight.text(PAGE), "gpu-pcie-width")
    assert '<a class="cell is-fail" href="/clusters/helios/nodes/gpu-003/items/gpu-pcie-width/"' in row
    assert 'aria-label="gpu-003 · gpu-pcie-width · fail"' in row


def test_items_stand_in_the_order_of_the_catalogue(sight: Sight) -> None:
    page = sight.text(PAGE)
    # The order of checks/catalog/physical.toml, where an alphabet would put gpu-clean first.
    present, clean, ecc = (page.index(f'items/{item}/" title') for item in ("gpu-present", "gpu-clean", "gpu-ecc"))
    assert present < clean < ecc


def test_few_columns_are_wide_and_leave_room_for_titles(sight: Sight) -> None:
    page = sight.text(PAGE)
    assert '<td class="name">PCIe link width</td>' in page
    assert ">gpu-003</text>" in page


def test_what_was_never_measured_is_not_drawn_as_a_pass(sight: Sight) -> None:
    page = sight.text(PAGE)
    assert "field-pass" not in _row(page, "gpu-burn")  # nobody took the nodes for it
    assert "field-unproved" in _row(page, "gpu-burn")
    assert 'aria-label="gpu-004 · gpu-ecc · unknown"' in _row(page, "gpu-ecc")


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ({"raw": "pass"}, "pass"), ({"raw": "unknown"}, "unknown"), ({"raw": "fail", "pending": "fail"}, "fail"),
        ({"raw": "pass", "valid_until": datetime(2026, 1, 1, tzinfo=UTC)}, "stale"),
    ],
)  # fmt: skip
def test_what_the_whole_cluster_holds_is_shown_as_it_counts_now(
    sight: Sight, fleet: Fleet, now: datetime, row: dict[str, object], shown: str
) -> None:
    columns = {
        "layer": "operations", "scope": "cluster", "cadence": "daily", "severity": "warning", "since": now,
        "item_version": "x", **row,
    }  # fmt: skip
    ScopeState.objects.create(cluster=fleet.cluster, item="ops-maintenance-window", subject="", **columns)

    held = sight.text(PAGE).partition('aria-labelledby="sh"')[2].partition("</section>")[0]

    assert f'class="verdict is-{shown}"' in held
    assert "/items/ops-maintenance-window/" in held


def test_what_fails_for_the_whole_cluster_comes_first_and_with_its_name(
    fleet: Fleet, sight: Sight, now: datetime
) -> None:
    held = {"layer": "operations", "scope": "cluster", "cadence": "daily", "since": now, "item_version": "x"}
    for item, raw in (("python-env-uniform", "pass"), ("ops-maintenance-window", "fail")):
        ScopeState.objects.create(cluster=fleet.cluster, item=item, subject="", raw=raw, severity="warning", **held)

    shared = sight.text(PAGE).partition('aria-labelledby="sh"')[2].partition("</section>")[0]

    assert shared.index("ops-maintenance-window") < shared.index("python-env-uniform")
    assert "Daily maintenance window" in shared


def test_a_node_that_went_silent_is_stale_and_not_pass(db: None, now: datetime) -> None:
    fleet = make_fleet(at=now - 120 * MINUTE)
    healthy_nodes(fleet, ["gpu-001"], at=now - 16 * MINUTE)
    page = seen_by(person("vera", fleet.cluster, Role.VIEWER)).text(PAGE)
    assert 'aria-label="gpu-001 · hung-io · stale"' in page
    assert "Cannot tell" in page


def test_the_worst_nodes_come_first_with_value_and_threshold(sight: Sight) -> None:
    page = sight.text(PAGE)
    worst = page[page.index('aria-labelledby="wf"') :]
    hosts = re.findall(r"/nodes/(gpu-\d+)/\"", worst)
    assert list(dict.fromkeys(hosts)) == ["gpu-003", "gpu-004"]
    assert "8\u202flanes, needs 16\u202flanes" in worst


def test_a_machine_that_is_not_believed_is_among_the_worst(sight: Sight) -> None:
    Node.objects.filter(hostname="gpu-002").update(trouble="hardware_changed")
    worst = sight.text(PAGE).partition('aria-labelledby="wf"')[2]
    row = worst[worst.index('/nodes/gpu-002/"') :].partition("</tr>")[0]
    assert "hardware changed, to be confirmed" in row
    assert 'data-label="Owner">Hardware engineer<' in row


def test_nodes_under_their_switches(sight: Sight) -> None:
    page = sight.text(PAGE)
    assert ">leaf-01</text>" in page
    assert ">leaf-02</text>" in page


def test_one_switch_can_be_looked_at_alone(sight: Sight) -> None:
    page = sight.text(PAGE, place="leaf-02")
    assert 'aria-label="gpu-004 · gpu-ecc · unknown"' in page
    assert "gpu-003 · gpu-pcie-width" not in page
    assert "only leaf-02; show all" in page


def test_above_256_nodes_it_counts_by_switch_and_stays_small(fleet: Fleet, sight: Sight) -> None:
    _many_nodes(fleet, 300)
    page = sight.text(PAGE)
    assert "Items by switch" in page
    assert "Items on nodes" not in page
    assert '<td class="name">' not in page
    # 300 rows that failed at 15 switches of 20 nodes each
    assert 'aria-label="leaf-50 · hung-io · fail × 20"' in page
    assert 'href="/clusters/helios/?place=leaf-50"' in page
    assert len(page.encode()) < 500_000


def test_of_many_nodes_only_what_deviates_is_drawn_and_the_other_items_are_links(fleet: Fleet, sight: Sight) -> None:
    _many_nodes(fleet, 300)
    Node.objects.filter(hostname="gpu-004").update(retired_at=timezone.now())  # it was never measured: all unknown
    page = sight.text(PAGE)
    matrix = page[page.index('class="heat') : page.index("</table>")]
    assert "field-pass" not in matrix
    assert "sysctl-somaxconn" not in _items_of(matrix)
    assert '<a class="id" href="/clusters/helios/items/sysctl-somaxconn/">' in page
    # gpu-003 has a GPU on half of its lanes at leaf-01
    assert 'aria-label="leaf-01 · gpu-pcie-width · fail × 1"' in matrix


def test_of_many_nodes_the_worst_are_listed_and_all_are_counted(fleet: Fleet, sight: Sight) -> None:
    _many_nodes(fleet, 300)
    # 300 that fail, gpu-003 that fails, gpu-004 that was never measured
    assert "25 of 302 nodes with something to say" in sight.text(PAGE)


def test_of_many_nodes_a_switch_that_went_silent_is_one_line(fleet: Fleet, sight: Sight, now: datetime) -> None:
    _many_nodes(fleet, 300)
    silent = NodeReadiness.objects.filter(node__switch="leaf-64")
    silent.update(tick_until=now - MINUTE)
    matrix = sight.text(PAGE).partition('class="heat')[2].partition("</table>")[0]
    assert "Whole nodes" in matrix
    assert 'aria-label="leaf-64 · tick evidence · stale × 20"' in matrix
    # what they said before counts for nothing: no failure of theirs is drawn
    assert "leaf-64 · hung-io" not in matrix
    assert "leaf-63 · hung-io · fail × 20" in matrix


def test_of_many_nodes_the_number_of_queries_does_not_grow(fleet: Fleet, sight: Sight, now: datetime) -> None:
    _many_nodes(fleet, 300)
    sight.text(PAGE)
    with CaptureQueriesContext(connection) as few:
        sight.text(PAGE)
    _many_nodes(fleet, 300, first=300)
    with CaptureQueriesContext(connection) as many:
        sight.text(PAGE)
    assert len(many) == len(few)
    assert len(few) <= 23  # two whether the ledger is whole, one what waits for the reader, one links between nodes


def test_the_number_of_queries_does_not_follow_the_number_of_nodes(sight: Sight, fleet: Fleet, now: datetime) -> None:
    sight.text(PAGE)
    with CaptureQueriesContext(connection) as few:
        sight.text(PAGE)
    healthy_nodes(fleet, [f"gpu-{number:03d}" for number in range(10, 18)], at=now - MINUTE)
    with CaptureQueriesContext(connection) as many:
        sight.text(PAGE)
    assert len(many) == len(few)
    assert len(few) <= 23  # two whether the ledger is whole, one what waits for the reader, one links between nodes


def test_the_csv_holds_every_row_and_no_formula(sight: Sight, fleet: Fleet) -> None:
    NodeItemState.objects.filter(node__hostname="gpu-001", item="hung-io").update(detail="=HYPERLINK(0)")
    response = sight.client.get(f"{PAGE}nodes.csv")
    text = b"".join(response.streaming_content).decode()
    records = list(csv.DictReader(text.splitlines()))
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert len(records) == NodeItemState.objects.count()
    failed = [record for record in records if record["verdict"] == "fail"]
    assert [(record["node"], record["item"], record["subject"]) for record in failed] == [
        ("gpu-003", "gpu-pcie-width", "gpu3")
    ]
    assert "'=HYPERLINK(0)" in text


def test_a_node_that_retired_is_no_column_but_keeps_its_page(sight: Sight) -> None:
    Node.objects.filter(hostname="gpu-004").update(retired_at=timezone.now())
    assert "gpu-004" not in sight.text(PAGE)
    assert "Retired." in sight.text("/clusters/helios/nodes/gpu-004/")


def _items_of(matrix: str) -> set[str]:
    return set(re.findall(r"/items/([a-z0-9-]+)/\" title", matrix))


def _many_nodes(fleet: Fleet, number: int, first: int = 0) -> None:
    """Nodes with one failed row each, straight into the tables: their way there is not what is tested."""
    pattern = fleet.node("gpu-001")
    item = ruleset_for(fleet.cluster).items["hung-io"]
    nodes = [
        Node(
            cluster=fleet.cluster,
            hostname=f"n{at:04d}",
            switch=f"leaf-{50 + at // 20}",
            enrolled_at=pattern.enrolled_at,
        )
        for at in range(first, first + number)
    ]
    Node.objects.bulk_create(nodes)
    summary = pattern.readiness
    summary.health_bad = summary.health_failed = 1
    for node in nodes:
        summary.pk, summary.node = node.pk, node
        summary.save(force_insert=True)
    NodeItemState.objects.bulk_create(
        NodeItemState(
            node=node, item="hung-io", subject="", layer=item.layer, scope=item.scope, cadence=item.cadence,
            severity=item.severity, raw="fail", reason="criterion", since=pattern.enrolled_at, blocks=2,
            observed_at=summary.last_observed_at, item_version=item.version, value={"facts": {"longest_wait": 90.0}},
        )
        for node in nodes
    )  # fmt: skip
