"""Hardware profiles: what each kind of node has, what it must reach, and where the figure comes from."""

import pytest

from checks.domain.catalogue import Catalogue

KINDS_OF_SOURCE = {"datasheet", "capture", "article", "public", "ours"}

# Figures that only the site can know; a cluster sets them as overrides, and until then their criteria do not apply.
SITE_THRESHOLDS = {
    "checkpoint_device",
    "inforom_allowed",
    "nic_rx_ring",
    "nic_tx_ring",
    "nvlink_crc_rate_max",
    "nvlink_replay_rate_max",
    "rdma_symbol_error_rate_max",
    "vbios_allowed",
}

# Key: GPU's product token, GPUs, network cards for training.
HARDWARE = {
    "8xa100-40": ("A100", 8, 8),
    "8xa100-80": ("A100", 8, 8),
    "8xh100": ("H100", 8, 8),
    "8xh200": ("H200", 8, 8),
    "2xh200-virtual": ("H200", 2, 0),
    "gb200-nvl4": ("GB200", 4, 4),
    "virtual": ("", 0, 0),
    "no-gpu": ("", 0, 0),
}


def thresholds_asked_for(catalogue: Catalogue) -> set[str]:
    """The names that criteria look up in the profile."""
    criteria = (criterion for item in catalogue.items.values() for criterion in item.all_criteria)
    return {criterion.threshold_from for criterion in criteria if criterion.threshold_from}


def thresholds_given(catalogue: Catalogue) -> set[str]:
    """The names that at least one profile states."""
    return {name for profile in catalogue.profiles.values() for name in profile.thresholds}


def test_the_profiles_have_their_parts_and_counts(catalogue: Catalogue) -> None:
    assert {key: (one.part, one.gpus, one.nics) for key, one in catalogue.profiles.items()} == HARDWARE


def test_every_threshold_that_a_criterion_asks_for_is_in_a_profile_or_a_table_or_is_the_sites_own(
    catalogue: Catalogue,
) -> None:
    given = thresholds_given(catalogue) | catalogue.reference.thresholds.keys()
    assert thresholds_asked_for(catalogue) - given == SITE_THRESHOLDS


def test_no_profile_gives_a_threshold_that_no_criterion_reads(catalogue: Catalogue) -> None:
    assert thresholds_given(catalogue) - thresholds_asked_for(catalogue) == set()
    assert catalogue.reference.thresholds.keys() <= thresholds_asked_for(catalogue)


def test_every_threshold_says_where_it_comes_from(catalogue: Catalogue) -> None:
    for profile in catalogue.profiles.values():
        assert profile.sources.keys() == profile.thresholds.keys()
        assert set(profile.sources.values()) <= KINDS_OF_SOURCE


def test_a_profile_counts_the_gpus_that_it_asks_to_see(catalogue: Catalogue) -> None:
    for profile in catalogue.profiles.values():
        assert profile.thresholds.get("gpu_count", 0) == profile.gpus


def test_a_profile_is_either_virtual_or_bare_metal(catalogue: Catalogue) -> None:
    for profile in catalogue.profiles.values():
        assert len(profile.traits & {"virtual", "bare_metal"}) == 1


def test_a_node_without_gpus_has_no_trait_but_its_kind(catalogue: Catalogue) -> None:
    assert catalogue.profiles["virtual"].traits == {"virtual"}
    assert catalogue.profiles["no-gpu"].traits == {"bare_metal"}


def test_every_node_with_gpus_writes_checkpoints(catalogue: Catalogue) -> None:
    for profile in catalogue.profiles.values():
        assert ("checkpoint" in profile.traits) is (profile.gpus > 0)


def test_the_virtual_h200_node_has_nvlink_and_fabric_but_no_rdma(catalogue: Catalogue) -> None:
    profile = catalogue.profiles["2xh200-virtual"]

    assert profile.traits == {"virtual", "gpu", "nvlink", "fabric", "checkpoint"}
    assert profile.thresholds["pcie_width"] == 16


def test_only_multi_node_nvlink_asks_for_a_clique(catalogue: Catalogue) -> None:
    asking = {key for key, one in catalogue.profiles.items() if "fabric_clique_unset" in one.thresholds}
    joined = {key for key, one in catalogue.profiles.items() if "multi_node_nvlink" in one.traits}
    assert asking == joined == {"gb200-nvl4"}


@pytest.mark.parametrize(("key", "floor"), [("8xa100-40", 228), ("8xa100-80", 228), ("8xh100", 460), ("8xh200", 431)])
def test_the_floor_of_an_all_reduce_is_the_parts_own(catalogue: Catalogue, key: str, floor: int) -> None:
    assert catalogue.profiles[key].thresholds["allreduce_busbw_min"] == floor
