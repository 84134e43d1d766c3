"""Resource limits: of a process, of limits.conf, of a unit, of a shell."""

from __future__ import annotations

import pytest

from readiness_agent.facts import Unreadable
from readiness_agent.parsers.limits import (
    Account,
    Limit,
    parse_limits_conf,
    parse_process_limits,
    parse_ulimit,
    parse_unit_limits,
    resolve_limits,
)
from tests.agents.parsers.inputs import shared

TRAINER = Account(name="trainer", uid=1001, gid=1001, groups=("trainer", "gpu"))


def limits_of(*texts: str, account: Account = TRAINER) -> tuple[Limit, Limit]:
    rules = [rule for text in texts for rule in parse_limits_conf(text)]
    found = resolve_limits(rules, account)
    return found.nofile, found.memlock


def test_the_limits_of_a_job_are_read_in_files_and_bytes() -> None:
    limits = parse_process_limits(shared("captures/h200x2-burn/files/job.limits"))

    assert limits.nofile == Limit(20000, 20000)
    assert limits.memlock == Limit("unlimited", "unlimited")


def test_a_limit_cut_before_its_unit_is_unreadable_rather_than_smaller() -> None:
    with pytest.raises(Unreadable):
        parse_process_limits("Max open files            1048576              1048576")


def test_a_shell_of_an_old_cluster_shows_64_kib_of_locked_memory() -> None:
    limits = parse_ulimit(shared("cases/system/ulimit_memlock_64.txt"))

    assert limits.memlock.soft == 65536
    assert limits.nofile.soft == 1024


def test_a_shell_of_the_h200_node_shows_unlimited_locked_memory() -> None:
    limits = parse_ulimit(shared("captures/h200x2-burn/commands/ulimit"))

    assert limits.memlock.soft == "unlimited"
    assert limits.nofile.soft == 20000


def test_a_shell_says_nothing_about_hard_limits() -> None:
    assert parse_ulimit(shared("captures/h200x2-burn/commands/ulimit")).nofile.hard is None


def test_a_dash_sets_both_limits() -> None:
    nofile, memlock = limits_of("trainer - nofile 1048576\ntrainer - memlock unlimited\n")

    assert nofile == Limit(1048576, 1048576)
    assert memlock == Limit("unlimited", "unlimited")


def test_memory_in_limits_conf_is_in_kib() -> None:
    assert limits_of("* soft memlock 64\n")[1] == Limit(65536, None)


@pytest.mark.parametrize("word", ["unlimited", "infinity", "-1"])
def test_three_words_mean_unlimited(word: str) -> None:
    assert limits_of(f"* - memlock {word}\n")[1] == Limit("unlimited", "unlimited")


def test_a_user_comes_before_a_group_and_a_group_before_everyone_in_any_order() -> None:
    assert limits_of("trainer - nofile 3\n@gpu - nofile 2\n* - nofile 1\n")[0] == Limit(3, 3)
    assert limits_of("@gpu - nofile 2\n* - nofile 1\n")[0] == Limit(2, 2)


def test_of_two_equal_rules_the_later_one_counts() -> None:
    assert limits_of("* - nofile 1\n", "* - nofile 9\n")[0] == Limit(9, 9)


def test_the_rule_of_another_user_or_group_does_not_count() -> None:
    assert limits_of("other - nofile 9\n@other - nofile 9\n")[0] == Limit(None, None)


def test_everyone_does_not_include_root() -> None:
    root = Account("root", 0, 0, ("root",))

    assert limits_of("* - nofile 9\n@root - nofile 9\n", account=root)[0] == Limit(None, None)
    assert limits_of("root - nofile 9\n", account=root)[0] == Limit(9, 9)


@pytest.mark.parametrize("domain", ["1000:2000", "1001:", ":1001", "1001", "@1000:2000", "@1001"])
def test_a_range_of_ids_names_its_users(domain: str) -> None:
    assert limits_of(f"{domain} - nofile 9\n")[0] == Limit(9, 9)


def test_a_soft_limit_above_the_hard_one_is_cut_to_it() -> None:
    assert limits_of("* soft nofile 2000\n* hard nofile 1000\n")[0] == Limit(1000, 1000)


@pytest.mark.parametrize(
    "line", ["# * - nofile 9", "* - nofile", "* both nofile 9", "* - nofile nine", "* - nofiles 9"]
)
def test_comments_and_broken_lines_set_nothing(line: str) -> None:
    assert limits_of(line + "\n")[0] == Limit(None, None)


def test_a_comment_after_a_rule_is_cut_off() -> None:
    assert limits_of("* - nofile 9 # enough\n")[0] == Limit(9, 9)


def test_a_user_without_limits_has_none_that_we_know() -> None:
    assert limits_of("* - nofile 9\n", "trainer -\n")[0] == Limit(None, None)


def test_a_unit_shows_its_limits_in_bytes() -> None:
    limits = parse_unit_limits(
        "LimitNOFILE=1048576\nLimitNOFILESoft=1048576\nLimitMEMLOCK=infinity\nLimitMEMLOCKSoft=infinity\nLoadState=loaded\n"
    )

    assert limits is not None
    assert limits.nofile == Limit(1048576, 1048576)
    assert limits.memlock == Limit("unlimited", "unlimited")


def test_a_unit_that_is_not_installed_has_no_limits_although_systemd_prints_defaults() -> None:
    text = (
        "LimitNOFILE=524288\nLimitNOFILESoft=1024\nLimitMEMLOCK=8388608\nLimitMEMLOCKSoft=8388608\n"
        "LoadState=not-found\n"
    )

    assert parse_unit_limits(text) is None
