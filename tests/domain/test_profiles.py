"""What a hardware profile and overrides make of the catalogue."""

import pytest

from checks.domain.catalogue import Catalogue
from checks.domain.errors import InvalidOverride, UnknownProfile
from checks.domain.profiles import Ruleset, TrainingEnv
from checks.domain.verdicts import Cadence


def test_a_node_has_as_many_gpu_rows_as_its_profile_states(h200x2: Ruleset, h100x8: Ruleset) -> None:
    assert h200x2.subjects("gpu-ecc") == ("gpu0", "gpu1")
    assert h100x8.subjects("gpu-ecc")[-1] == "gpu7"
    assert h200x2.subjects("gpu-present") == ("",)


def test_what_the_profile_lacks_does_not_apply_and_has_one_row(catalogue: Catalogue) -> None:
    plain = Ruleset.build(catalogue, "no-gpu", {})

    assert not plain.applies("gpu-ecc")
    assert plain.subjects("gpu-ecc") == ("",)
    assert "gpu-ecc" not in plain.due(Cadence.TICK)


def test_a_tick_measures_what_a_start_will_ask_but_is_full_without_it(h200x2: Ruleset) -> None:
    assert "gpu-clean" in h200x2.planned(Cadence.TICK)
    assert "gpu-clean" not in h200x2.due(Cadence.TICK)


def test_a_probe_that_does_not_exist_yet_is_never_due(h200x2: Ruleset) -> None:
    assert not any(h200x2.items[key].shadow for cadence in Cadence for key in h200x2.due(cadence))


def test_a_threshold_comes_from_the_profile(h200x2: Ruleset) -> None:
    assert h200x2.items["gpu-pcie-width"].criteria[0].threshold == 16


def test_an_override_replaces_a_threshold_of_the_profile(catalogue: Catalogue) -> None:
    stated = {"thresholds": {"pcie_width": {"threshold": 8, "reason": "riser", "source": "vendor"}}}

    overridden = Ruleset.build(catalogue, "2xh200-virtual", stated)

    assert overridden.items["gpu-pcie-width"].criteria[0].threshold == 8


def test_an_override_of_the_live_value_is_asked_after_a_reboot_too(catalogue: Catalogue) -> None:
    stated = {"sysctl-somaxconn": {"live": {"threshold": 32768, "reason": "r", "source": "s"}}}

    item = Ruleset.build(catalogue, "2xh200-virtual", stated).items["sysctl-somaxconn"]

    assert [criterion.threshold for criterion in item.criteria] == [32768, 32768]


def test_resolving_thresholds_leaves_the_version_alone(catalogue: Catalogue, h200x2: Ruleset) -> None:
    assert h200x2.items["gpu-pcie-width"].version == catalogue.items["gpu-pcie-width"].version


def test_rules_have_another_name_under_another_threshold_and_not_under_another_reason(catalogue: Catalogue) -> None:
    def name(threshold: int, reason: str) -> str:
        stated = {"sysctl-somaxconn": {"live": {"threshold": threshold, "reason": reason, "source": "s"}}}
        return Ruleset.build(catalogue, "8xh100", stated).judged_under

    assert name(4096, "one reason") == name(4096, "another reason")
    assert name(4096, "one reason") != name(8192, "one reason")


SOFTWARE = {"trainer-lib-pinned", "python-env-uniform", "nccl-cuda-match", "nccl-no-system", "image-uniform"}
"""What the daily round of a node asks about the software that jobs train with."""


@pytest.mark.parametrize(
    ("training_env", "asked"),
    [
        (TrainingEnv.CONTAINER, SOFTWARE),
        (TrainingEnv.HOST, SOFTWARE - {"image-uniform"}),
        (TrainingEnv.NONE, set()),
    ],
)
def test_software_is_asked_about_where_the_cluster_has_it(
    catalogue: Catalogue, training_env: TrainingEnv, asked: set[str]
) -> None:
    rules = Ruleset.build(catalogue, "8xh100", {}, training_env)

    assert {key for key in SOFTWARE if rules.applies(key)} == asked


def test_what_every_run_is_asked_does_not_hang_on_the_training_environment(catalogue: Catalogue) -> None:
    rules = Ruleset.build(catalogue, "8xh100", {}, TrainingEnv.NONE)

    assert all(map(rules.applies, ["checkpoint-space", "checkpoint-mount", "amp-config", "driver-cuda-match"]))


def test_rules_have_another_name_under_another_training_environment(catalogue: Catalogue) -> None:
    names = {Ruleset.build(catalogue, "8xh100", {}, one).judged_under for one in TrainingEnv}

    assert len(names) == len(TrainingEnv)


@pytest.mark.parametrize(
    "stated",
    [
        {"no-such-item": {"live": {"threshold": 1}}},
        {"sysctl-somaxconn": {"dead": {"threshold": 1}}},
        {"sysctl-somaxconn": {"live": {"threshold": "many"}}},
        {"sysctl-somaxconn": {"live": {"reason": "no threshold"}}},
        {"sysctl-somaxconn": 5},
        {"grad-norm-first-step": {"grad_norm": {"threshold": 50}}},
        {"thresholds": {"pcie_widht": {"threshold": 8}}},
        {"thresholds": {"pcie_width": {"threshold": "wide"}}},
    ],
)
def test_an_override_that_fits_nothing_is_refused(catalogue: Catalogue, stated: dict[str, object]) -> None:
    with pytest.raises(InvalidOverride):
        Ruleset.build(catalogue, "8xh100", stated)


def test_an_unknown_profile_is_refused_with_the_known_ones(catalogue: Catalogue) -> None:
    with pytest.raises(UnknownProfile, match="8xh200"):
        Ruleset.build(catalogue, "8xh2OO", {})
