"""One node's page, and one item's page on it."""

import re
from datetime import datetime, timedelta

from checks.models import Node, NodeItemState, RecheckRequest, Role
from checks.services.rechecks import request_recheck
from tests.fleet import Fleet, make_fleet, person
from tests.ui.conftest import HOUR, MINUTE, Sight, seen_by

NODE = "/clusters/helios/nodes/gpu-003/"
WIDTH = f"{NODE}items/gpu-pcie-width/"


def test_the_node_s_answer_names_its_worst_fault_and_leads_to_it(sight: Sight) -> None:
    page = sight.text(NODE)
    assert "May this node take a job, now?" in page
    assert "PCIe link width on GPU 3: 8\u202flanes, needs 16\u202flanes." in page
    assert f'class="btn primary" href="{WIDTH}?subject=gpu3"' in page


def test_a_healthy_node_may_take_a_job(sight: Sight) -> None:
    page = sight.text("/clusters/helios/nodes/gpu-001/")
    assert "Every blocking item passes on fresh evidence." in page
    assert "Evidence good for" in page


def test_subjects_that_say_the_same_share_a_line(sight: Sight) -> None:
    page = sight.text("/clusters/helios/nodes/gpu-001/")
    items = page[page.index('aria-labelledby="it"') : page.index('aria-labelledby="tl"')]
    assert items.count("/items/gpu-ecc/") == 1
    assert "GPU 0–7" in items


def test_facts_are_called_by_their_labels_in_both_languages(sight: Sight) -> None:
    assert "ECC on: yes" in sight.text("/clusters/helios/nodes/gpu-001/")
    sight.client.post("/accounts/language/", {"language": "zh-hans", "next": "/"})
    assert "ECC 已开启：是" in sight.text("/clusters/helios/nodes/gpu-001/")


def test_what_is_in_shadow_is_folded_away_with_its_count(sight: Sight) -> None:
    NodeItemState.objects.filter(item="gpu-burn").update(shadow=True, blocks=0)
    page = sight.text("/clusters/helios/nodes/gpu-001/")
    folded = page[page.index('<details class="more" id="more-shadow">') :]
    assert re.search(r"<summary>In shadow: judged where measured, blocks nothing: \d+ items?</summary>", folded)
    assert "/items/gpu-burn/" in folded
    assert "/items/gpu-burn/" not in page[: page.index('id="more-shadow"')]


def test_what_judge_and_agent_write_is_read_in_chinese(sight: Sight, fleet: Fleet, now: datetime) -> None:
    fleet.report("gpu-001", at=now, problems={"gpu-fabric": ("missing", "nvidia-smi: not installed")})
    sight.client.post("/accounts/language/", {"language": "zh-hans", "next": "/"})
    assert "nvidia-smi：未安装" in sight.text("/clusters/helios/nodes/gpu-001/")


def test_what_was_never_measured_says_so(sight: Sight) -> None:
    page = sight.text("/clusters/helios/nodes/gpu-004/items/gpu-ecc/")
    assert "It has never been measured here, so nothing is proved" in page
    assert "Nothing has ever been measured here, so there is no evidence." in page


def test_a_red_cell_leads_to_value_threshold_source_consequence_remedy_and_evidence(sight: Sight) -> None:
    page = sight.text(WIDTH)
    assert "8\u202flanes" in page
    assert ">16\u202flanes" in page
    assert ">Link width<" in page
    assert "profile 8xh200: pcie_width (" in page
    assert "With half of the lanes" in page  # the consequence, from checks/catalog/physical.toml
    assert "Reseat the GPU or its riser" in page
    assert "&lt;current_link_width&gt;8x&lt;/current_link_width&gt;" in page
    assert "pass → fail" in page
    assert "settled as fail" in page  # a hardware fault settles at once


def test_without_a_subject_the_worst_one_is_shown(sight: Sight) -> None:
    assert "Does it hold on gpu-003 GPU 3?" in sight.text(WIDTH)
    assert "Does it hold on gpu-003 GPU 0?" in sight.text(WIDTH, subject="gpu0")


def test_a_cluster_s_own_threshold_is_named_with_its_reason(sight: Sight, fleet: Fleet) -> None:
    held = {"gpu-pcie-width": {"width": {"threshold": 8, "reason": "riser of this chassis", "source": "vendor"}}}
    fleet.cluster.overrides = held
    fleet.cluster.judged_under = {}
    fleet.cluster.save()
    page = sight.text(WIDTH)
    assert "cluster override: riser of this chassis" in page
    assert "override of width" in page


def test_a_proof_under_load_shows_how_far_it_has_come(db: None, now: datetime) -> None:
    fleet = make_fleet(at=now - HOUR)
    fleet.enrol("gpu-001", at=now - HOUR)
    idle = {item: {"utilization": 0} for item in ("gpu-temperature", "gpu-clock-throttle", "gpu-pcie-generation")}
    fleet.report("gpu-001", at=now - timedelta(seconds=45), changed=idle)
    fleet.report("gpu-001", at=now - timedelta(seconds=10))
    page = seen_by(person("vera", fleet.cluster, Role.VIEWER)).text(
        "/clusters/helios/nodes/gpu-001/items/gpu-pcie-generation/"
    )
    assert "loaded 35 s of 300" in page
    assert '<progress max="300" value="35">' in page


def test_seconds_under_load_are_those_that_the_judge_counted(db: None, now: datetime) -> None:
    fleet = make_fleet(at=now - HOUR)
    fleet.enrol("gpu-001", at=now - HOUR)
    idle = {item: {"utilization": 0} for item in ("gpu-temperature", "gpu-clock-throttle", "gpu-pcie-generation")}
    fleet.report("gpu-001", at=now - timedelta(seconds=44.7), changed=idle)
    fleet.report("gpu-001", at=now - timedelta(seconds=10))
    row = NodeItemState.objects.get(item="gpu-pcie-generation", subject="gpu0")
    assert row.detail == "loaded 35 s of 300"  # 34.7 s
    sight = seen_by(person("vera", fleet.cluster, Role.VIEWER))
    assert row.detail in sight.text("/clusters/helios/nodes/gpu-001/")
    assert row.detail in sight.text("/clusters/helios/nodes/gpu-001/items/gpu-pcie-generation/")


def test_an_item_in_shadow_says_so(sight: Sight) -> None:
    page = sight.text("/clusters/helios/items/nccl-path/")
    assert "In shadow." in page
    assert "Re-check now" not in page


def test_a_replayed_node_says_so_and_when_it_was_captured(db: None, now: datetime) -> None:
    fleet = make_fleet(at=now - HOUR, accept_replay=True)
    fleet.enrol("old", at=now - HOUR, origin="replay")
    fleet.report("old", at=now, origin="replay")
    page = seen_by(person("vera", fleet.cluster, Role.VIEWER)).text("/clusters/helios/nodes/old/")
    assert "Replayed" in page
    captured = now - timedelta(days=3)
    assert f'captured <time datetime="{captured:%Y-%m-%dT%H:%M:%SZ}"' in page


def test_a_machine_that_is_not_believed_says_why(sight: Sight, fleet: Fleet) -> None:
    node = fleet.node("gpu-001")
    node.trouble = "boot_conflict"
    node.save()
    page = sight.text("/clusters/helios/nodes/gpu-001/")
    assert "two machines may share it" in page
    answer = page.partition('class="readouts"')[2].partition("</dl>")[0]
    assert "Hardware engineer" in answer
    assert "<dt>Not ready for</dt><dd>—</dd>" in answer  # since when is not known


def test_a_viewer_is_offered_no_re_check(fleet: Fleet) -> None:
    assert "Re-check now" not in seen_by(person("vera", fleet.cluster, Role.VIEWER)).text(WIDTH)


def test_a_re_check_is_followed_from_request_to_verdict(sight: Sight, fleet: Fleet, now: datetime) -> None:
    response = sight.client.post(f"{NODE}recheck/", {"item": "gpu-pcie-width"})
    assert response.headers["Location"] == WIDTH
    assert "waiting for the agent&#x27;s next call" in sight.text(WIDTH)
    RecheckRequest.objects.update(picked_up_at=now)
    assert "the agent is measuring" in sight.text(WIDTH)
    fleet.report("gpu-003", at=now + timedelta(seconds=5))
    assert RecheckRequest.objects.get().done_at is not None
    assert "measured: pass" in sight.text(WIDTH)


def test_a_re_check_that_nobody_answered_says_what_to_look_at(
    sight: Sight, fleet: Fleet, hana: object, now: datetime
) -> None:
    asked = now - HOUR - MINUTE
    request_recheck(node=fleet.node("gpu-003"), items=["gpu-pcie-width"], requested_by=hana, now=asked)  # type: ignore[arg-type]
    assert "look at its cron line or timer" in sight.text(WIDTH)


def test_asking_for_an_item_that_no_round_measures_is_refused_with_a_sentence(sight: Sight) -> None:
    response = sight.client.post(f"{NODE}recheck/", {"item": "gpu-burn"})
    assert response.status_code == 422
    assert "That did not work" in response.content.decode()


def test_the_item_over_all_nodes_tells_where_it_does_not_hold(sight: Sight) -> None:
    page = sight.text("/clusters/helios/items/gpu-pcie-width/")
    assert "Fail on 1 node" in page
    assert "Of 4 nodes: 1 fail, 1 unknown." in page
    assert (
        page.index("/nodes/gpu-003/items/") < page.index("/nodes/gpu-004/items/") < page.index("/nodes/gpu-001/items/")
    )
    assert "8 to 16\u202flanes" in page


def test_one_verdict_of_an_item_can_be_looked_at_alone(sight: Sight) -> None:
    page = sight.text("/clusters/helios/items/gpu-pcie-width/", verdict="fail")
    assert "/nodes/gpu-003/items/gpu-pcie-width/" in page
    assert "/nodes/gpu-001/items/gpu-pcie-width/" not in page


def test_an_item_is_paged_by_node_and_each_page_holds_all_of_a_node_s_parts(sight: Sight, fleet: Fleet) -> None:
    """51 nodes of eight GPUs are three pages; the one that fails and the one that knows nothing stand in front."""
    pattern = fleet.node("gpu-001")
    rows = list(NodeItemState.objects.filter(node=pattern, item="gpu-pcie-width"))
    for number in range(5, 52):
        node = Node.objects.create(cluster=fleet.cluster, hostname=f"gpu-{number:03d}", enrolled_at=pattern.enrolled_at)
        summary = pattern.readiness
        summary.pk, summary.node = node.pk, node
        summary.save(force_insert=True)
        for row in rows:
            row.node = node
        NodeItemState.objects.bulk_create(rows)
    first = sight.text("/clusters/helios/items/gpu-pcie-width/")
    assert "page 1 of 3" in first
    assert first.index("/nodes/gpu-003/items/") < first.index("/nodes/gpu-004/items/") < first.index("/nodes/gpu-001/")
    assert "49 of 51" in " ".join(re.sub(r"<[^>]+>", " ", first).split())
    last = sight.text("/clusters/helios/items/gpu-pcie-width/", page="3")
    assert re.findall(r"/nodes/(gpu-\d+)/items/gpu-pcie-width/\?subject=(\w+)", last) == [("gpu-051", "gpu0")]
    assert "GPU 0–7" in last
    assert "/nodes/gpu-003/" not in sight.text("/clusters/helios/items/gpu-pcie-width/", verdict="unknown")
