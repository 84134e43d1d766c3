"""Planning a run through its form, and the list of runs."""

from datetime import UTC, datetime

import pytest

from checks.models import LedgerEntry, Role, Run
from checks.services.cluster_settings import change_settings
from checks.services.nodes import retire_node
from tests.fleet import Fleet, make_fleet, person
from tests.ui.conftest import Sight, seen_by

PLAN = "/clusters/helios/runs/new/"
PREVIEW = "/clusters/helios/runs/preview/"
COMMIT = "4f0e2b7c" * 5
FORM = {
    "name": "Cygnus 13 B", "slug": "cygnus-13b", "nodes": "gpu-[001-003]", "nodes_needed": "2", "world_size": "16",
    "tensor": "2", "pipeline": "1", "context": "", "data_parallel": "8", "model_name": "cygnus", "parameters": "13B",
    "weights": "2", "gradients": "2", "optimizer": "10", "dataset": "cygnus-web-v4",
    "artefacts": f"trainer {COMMIT}\n", "planned_start": "2026-12-01T20:00", "planned_end": "2026-12-10T08:00",
}  # fmt: skip


@pytest.fixture
def wren(fleet: Fleet) -> Sight:
    """The AI platform engineer of helios."""
    return seen_by(person("wren", fleet.cluster, Role.PLATFORM, display_name="Wren"))


def _sent(sight: Sight, path: str = PLAN, **changed: str) -> tuple[int, str]:
    response = sight.client.post(path, FORM | changed)
    return response.status_code, response.content.decode()


def test_a_run_is_planned_as_the_form_says(wren: Sight) -> None:
    assert _sent(wren)[0] == 302
    run = Run.objects.get(slug="cygnus-13b")
    assert sorted(run.pool.values_list("hostname", flat=True)) == ["gpu-001", "gpu-002", "gpu-003"]
    assert (run.nodes_needed, run.world_size, run.parameters, run.stage) == (2, 16, 13_000_000_000, "draft")
    assert run.layout == {"tensor": 2, "pipeline": 1, "data": 8}
    assert run.bytes_per_parameter == {"weights": 2, "gradients": 2, "optimizer": 10}
    assert run.artefacts == [{"name": "trainer", "digest": f"git:{COMMIT}"}]
    assert str(run.owner) == "Wren"
    assert LedgerEntry.objects.filter(what="run_created", who__username="wren").exists()


def test_dates_are_read_and_shown_in_the_clusters_time_zone(fleet: Fleet, wren: Sight, now: datetime) -> None:
    zone = {"time_zone": "Asia/Shanghai"}
    change_settings(cluster=fleet.cluster, changes=zone, by=None, reason="it is there", now=now)
    _sent(wren)
    assert Run.objects.get().planned_start == datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
    assert 'value="2026-12-01T20:00"' in wren.text("/runs/cygnus-13b/change/")


def test_a_layout_that_is_not_the_world_size_is_told_beside_it_and_stores_nothing(wren: Sight) -> None:
    status, page = _sent(wren, data_parallel="16")
    assert status == 422
    assert "2 × 1 × 1 × 16 = 32, and the world size is 16: make them equal." in page
    assert 'value="Cygnus 13 B"' in page
    assert not Run.objects.exists()


def test_names_of_nodes_that_nobody_enrolled_are_told(wren: Sight) -> None:
    status, page = _sent(wren, nodes="gpu-[001-002,017-018]")
    assert status == 422
    assert "Not enrolled in helios: gpu-017, gpu-018. Enrol them, or leave them out." in page


def test_a_node_that_left_the_cluster_is_no_node_of_a_pool(fleet: Fleet, wren: Sight, now: datetime) -> None:
    retire_node(node=fleet.node("gpu-003"), by=None, reason="sold", now=now)
    assert "No longer in helios: gpu-003. Leave them out." in _sent(wren)[1]


def test_a_pool_smaller_than_the_need_is_told_beside_the_need(wren: Sight) -> None:
    assert "It needs 4 nodes, and the pool has 3" in _sent(wren, nodes_needed="4")[1]


def test_a_name_that_is_taken_is_told_beside_the_name(wren: Sight) -> None:
    _sent(wren)
    status, page = _sent(wren)
    assert (status, Run.objects.count()) == (422, 1)
    assert "There is already a run called cygnus-13b." in page


def test_a_run_that_ends_before_it_starts_is_refused_beside_its_end(wren: Sight) -> None:
    assert "It must end after its start." in _sent(wren, planned_end="2026-12-01T19:00")[1]


@pytest.mark.parametrize("line", ["train.yaml", "train.yaml sha256:12", "trainer v1.2 final"])
def test_configuration_without_a_digest_is_refused_with_an_example(wren: Sight, line: str) -> None:
    assert f"“{line}” is not a name and a digest; write for example" in _sent(wren, artefacts=line)[1]


def test_checking_only_stores_nothing(wren: Sight) -> None:
    assert _sent(wren, check="1")[0] == 200
    assert not Run.objects.exists()


def test_the_preview_counts_named_and_ready_nodes_and_names_unknown_ones(wren: Sight) -> None:
    response = wren.client.post(PREVIEW, FORM | {"nodes": "gpu-[001-004],gpu-099"})
    text = " ".join(response.content.decode().split())
    assert "<dt>Nodes named</dt><dd>4</dd>" in text
    assert "<dt>Ready now</dt><dd>2 <small>of 2 needed</small></dd>" in text
    assert "gpu-099" in text
    assert "8 processes on each node" in text


def test_the_preview_says_what_is_wrong_with_a_node_set_and_with_a_layout(wren: Sight) -> None:
    response = wren.client.post(PREVIEW, FORM | {"nodes": "gpu-[001", "data_parallel": "4"})
    assert response.status_code == 200
    assert "is no node set" in response.content.decode()
    assert "2 × 1 × 1 × 4 = 8, and the world size is 16" in response.content.decode()


def test_a_change_touches_only_what_was_changed(wren: Sight) -> None:
    _sent(wren)
    assert _sent(wren, "/runs/cygnus-13b/change/", nodes="gpu-[001-002]", dataset="cygnus-web-v5")[0] == 302
    run = Run.objects.get()
    assert (run.dataset, run.pool.count()) == ("cygnus-web-v5", 2)
    edited = LedgerEntry.objects.get(what="run_edited")
    assert edited.data == {"before": {"dataset": "cygnus-web-v4"}, "after": {"dataset": "cygnus-web-v5"}}
    assert LedgerEntry.objects.filter(what="pool_set").count() == 1


def test_a_change_of_need_and_pool_goes_through_both_ways(wren: Sight) -> None:
    _sent(wren)
    more = {"nodes": "gpu-[001-004]", "nodes_needed": "4", "world_size": "32", "data_parallel": "16"}
    assert _sent(wren, "/runs/cygnus-13b/change/", **more)[0] == 302
    less = {"nodes": "gpu-001", "nodes_needed": "1", "world_size": "8", "data_parallel": "4"}
    assert _sent(wren, "/runs/cygnus-13b/change/", **less)[0] == 302
    assert (Run.objects.get().nodes_needed, Run.objects.get().pool.count()) == (1, 1)


def test_an_unchanged_form_writes_no_ledger_entry(wren: Sight) -> None:
    _sent(wren)
    before = LedgerEntry.objects.count()
    page = wren.text("/runs/cygnus-13b/change/")
    assert "gpu-[001-003]" in page
    assert _sent(wren, "/runs/cygnus-13b/change/", parameters="13000000000")[0] == 302
    assert LedgerEntry.objects.count() == before


def test_a_run_like_another_begins_with_its_values_and_a_name_of_its_own(wren: Sight) -> None:
    _sent(wren)
    page = wren.text(PLAN, like="cygnus-13b")
    assert 'value="Cygnus 13 B, again"' in page
    assert 'name="slug" maxlength="63" class="input"' in page
    assert "gpu-[001-003]" in page


def test_what_a_program_wrote_beyond_the_form_survives_it(wren: Sight) -> None:
    _sent(wren)
    Run.objects.update(layout={"tensor": 2, "pipeline": 1, "data": 8, "expert": 4})
    assert _sent(wren, "/runs/cygnus-13b/change/", dataset="cygnus-web-v5")[0] == 302
    assert Run.objects.get().layout == {"tensor": 2, "pipeline": 1, "data": 8, "expert": 4}


def test_the_list_shows_runs_of_ones_own_clusters_and_no_others(fleet: Fleet, wren: Sight) -> None:
    _sent(wren)
    assert "cygnus-13b" in wren.text("/runs/")
    boreas = make_fleet("boreas", at=fleet.cluster.created_at, profile="8xh100")
    boris = seen_by(person("boris", boreas.cluster, Role.LEAD))
    assert "cygnus-13b" not in boris.text("/runs/")
    boris.text("/runs/cygnus-13b/", status=404)


def test_an_empty_list_says_what_to_do_next(wren: Sight) -> None:
    page = wren.text("/runs/")
    assert "No run is planned" in page
    assert PLAN in page


def test_runs_that_are_over_stand_apart(wren: Sight) -> None:
    _sent(wren)
    wren.text("/runs/")
    Run.objects.update(stage="aborted")
    assert "/runs/cygnus-13b/" not in wren.text("/runs/")
    assert "/runs/cygnus-13b/" in wren.text("/runs/", stage="over")


def test_a_viewer_looks_and_plans_nothing(fleet: Fleet, wren: Sight) -> None:
    _sent(wren)
    vera = seen_by(person("vera", fleet.cluster, Role.VIEWER))
    assert PLAN not in vera.text("/runs/")
    vera.text(PLAN, status=403)
    vera.text("/runs/cygnus-13b/change/", status=403)
    assert vera.client.post(PLAN, FORM | {"slug": "other"}).status_code == 403
