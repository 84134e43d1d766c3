"""What the shipped tables make of driver events and of CUDA runtimes, known ones and unknown ones."""

import pytest

from checks.domain.catalogue import Catalogue
from checks.domain.profiles import Ruleset
from tests.catalog.conftest import Judged, Sample

NO_EVENT: Sample = {"xids": "none", "nonfatal_xids": "none", "off_bus": False, "recovery_action": "None"}


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "pass"),
        ({"xids": "13"}, "warn"),
        ({"xids": "13 (2x), 31, 43, 45"}, "warn"),
        ({"xids": "79", "off_bus": True}, "fail"),
        ({"xids": "13 (90x), 48"}, "fail"),
        ({"off_bus": True}, "fail"),
        ({"xids": "154", "recovery_action": "None"}, "pass"),
        ({"xids": "154", "recovery_action": "GPU Reset Required"}, "fail"),
        ({"nonfatal_xids": "149 (3x)"}, "pass"),
        ({"xids": ""}, "unknown"),
    ],
)
def test_events_of_the_driver_are_judged_by_the_table_of_their_numbers(
    judged: Judged, change: Sample, verdict: str
) -> None:
    assert judged("2xh200-virtual", "gpu-xid", NO_EVENT | change) == verdict


@pytest.mark.parametrize("number", ["999", "13, 999", "1"])
def test_an_event_that_no_table_knows_blocks_until_somebody_has_looked_it_up(
    catalogue: Catalogue, judged: Judged, number: str
) -> None:
    assert not {"999", "1"} & catalogue.reference.xids.keys()
    assert judged("8xh100", "gpu-xid", NO_EVENT | {"xids": number}) == "fail"


@pytest.mark.parametrize(
    ("driver", "runtime", "verdict"),
    [
        ("580.159.04", "13.0", "pass"),
        ("580.159.04", "13", "pass"),
        ("530.30.02", "12.1.105", "pass"),
        ("525.60.13", "12.4", "pass"),
        ("515.48.07", "12.1", "fail"),
        ("515.48.07", "11.7", "pass"),
        ("450.51.06", "11.8", "fail"),
        ("450.51.06", "11.0", "pass"),
        ("450.80.02", "11.8", "pass"),
        ("470.57.02", "10.2", "pass"),
        ("570.86.10", "13", "fail"),
        ("610.10.01", "14.0", "unknown"),
        ("580.x", "13", "unknown"),
    ],
)
def test_a_driver_runs_its_own_release_and_minor_versions_from_a_minimum_on(
    judged: Judged, driver: str, runtime: str, verdict: str
) -> None:
    sample: Sample = {"driver": driver, "user_driver": driver, "environment": "job", "cuda_runtime": runtime}
    assert judged("2xh200-virtual", "driver-cuda-match", sample) == verdict


def test_a_cluster_may_state_the_driver_of_a_release_that_our_table_lacks(catalogue: Catalogue) -> None:
    stated = {"thresholds": {"cuda_drivers": {"threshold": ["14:610"]}}}

    (criterion,) = Ruleset.build(catalogue, "8xh200", stated).items["driver-cuda-match"].criteria

    assert criterion.threshold == ("14:610",)
