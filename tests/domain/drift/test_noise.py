"""The filter of settings that differ by nature, as the catalogue ships it."""

import pytest

from checks.domain.catalogue import Catalogue, CatalogueInvalid
from checks.domain.drift.noise import Noise, read_noise
from checks.domain.tables import CatalogueError


@pytest.mark.parametrize(
    "name",
    [
        "sysctl:kernel.hostname", "sysctl:kernel.random.boot_id", "sysctl:fs.file-nr", "cmdline:BOOT_IMAGE",
        "nic:mlx5_0.guid",
        "sysctl:net.ipv4.conf.veth1a2b.rp_filter",
        "sysctl:user.max_user_namespaces",
    ],
)  # fmt: skip
def test_what_differs_by_nature_is_noise(catalogue: Catalogue, name: str) -> None:
    assert catalogue.noise.covers(name)
    assert catalogue.noise.covers(name)  # from its memory, too


@pytest.mark.parametrize(
    "name",
    [
        "sysctl:net.core.netdev_max_backlog", "sysctl:fs.aio-max-nr", "sysctl:fs.file-max",
        "cmdline:iommu",
        "sysctl:kernel.numa_balancing", "env:NCCL_ALGO", "nic:mlx5_0.fw_ver", "sysctl:net.ipv4.tcp_rmem",
        "sysctl:vm.nr_hugepages",
    ],
)  # fmt: skip
def test_what_people_set_is_no_noise(catalogue: Catalogue, name: str) -> None:
    assert not catalogue.noise.covers(name)


def test_every_rule_says_why_in_both_languages(catalogue: Catalogue) -> None:
    assert catalogue.noise.rules
    assert all(rule.reason("en") and rule.reason("zh-hans") != rule.reason("en") for rule in catalogue.noise.rules)


def test_an_empty_filter_covers_nothing() -> None:
    assert not Noise().covers("sysctl:kernel.hostname")


def test_a_pattern_that_is_none_and_a_missing_text_are_mistakes_of_the_catalogue() -> None:
    errors: list[CatalogueError] = []

    read_noise({"noise.toml": {"kernel.random": {"en": "x"}, "sysctl:a": 5}}, errors)

    assert CatalogueInvalid(tuple(errors)).message.count("noise.toml") == 3
