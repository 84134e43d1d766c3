"""A setting as an item of a cluster's own."""

import pytest

from checks.domain.catalogue import Catalogue
from checks.domain.errors import InvalidOverride
from checks.domain.profiles import Ruleset
from checks.domain.setting_items import item_key, read_settings, setting_item
from checks.domain.verdicts import Cadence, Severity

NAME = "sysctl:net.core.netdev_max_backlog"


def rules(catalogue: Catalogue, settings: object) -> Ruleset:
    return Ruleset.build(catalogue, "8xh200", {"settings": settings} if settings else {})


def test_a_setting_of_the_cluster_is_an_item_of_the_tick(catalogue: Catalogue) -> None:
    ruleset = rules(catalogue, {NAME: {"equals": "5000"}})

    key = item_key(NAME)
    assert key in ruleset.due(Cadence.TICK)
    assert ruleset.settings == {key: NAME}
    assert ruleset.items[key].criteria[0].threshold == "5000"


def test_it_is_a_warning_until_it_is_said_to_block(catalogue: Catalogue) -> None:
    warning, blocker = (setting_item(read_settings({NAME: {"equals": "5", "blocks": way}})[0]) for way in (False, True))

    assert (warning.severity, blocker.severity) == (Severity.WARNING, Severity.BLOCKER)


def test_rules_with_a_setting_have_another_name_and_rules_without_keep_theirs(catalogue: Catalogue) -> None:
    plain = Ruleset.build(catalogue, "8xh200", {})

    assert rules(catalogue, {NAME: {"equals": "5000"}}).judged_under != plain.judged_under
    assert Ruleset.build(catalogue, "8xh200", {"settings": {}}).judged_under == plain.judged_under


def test_names_that_read_alike_have_keys_of_their_own() -> None:
    assert item_key("sysctl:a.b_c") != item_key("sysctl:a.b.c")
    assert len(item_key("sysctl:net." + "long." * 36 + "x")) <= 64


def test_what_is_no_kernel_setting_is_read_once_a_day(catalogue: Catalogue) -> None:
    assert item_key("cmdline:iommu") in rules(catalogue, {"cmdline:iommu": {"equals": "pt"}}).due(Cadence.DAILY)


@pytest.mark.parametrize(
    "name",
    [
        "sysctl:../../etc/shadow",
        "sysctl:net",
        "sysctl:/etc/passwd",
        "sysctl:net..core",
        "file:/etc/passwd",
        "sysctl:a b.c",
        "",
    ],
)
def test_a_name_that_could_lead_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(InvalidOverride):
        read_settings({name: {"equals": "1"}})


@pytest.mark.parametrize(
    "rule", [{}, {"equals": ""}, {"equals": 5}, {"equals": "1", "blocks": "yes"}, {"equals": "1", "more": 1}, "5"]
)
def test_a_rule_that_says_nothing_is_refused(rule: object) -> None:
    with pytest.raises(InvalidOverride):
        read_settings({NAME: rule})
