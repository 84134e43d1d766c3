"""Kernel settings: the live ones, and what the files set at the next boot."""

from __future__ import annotations

import pytest

from readiness_agent.facts import Unreadable
from readiness_agent.parsers.sysctl import (
    ConfFile,
    effective_setting,
    files_of_grep,
    in_boot_order,
    parse_sysctl_dump,
    parse_sysctl_file,
)
from tests.agents.parsers.inputs import shared

SWAPPINESS = "vm.swappiness"


def value_in(*texts: str, key: str = SWAPPINESS) -> str | None:
    files = [ConfFile(f"/etc/sysctl.d/{index}.conf", text) for index, text in enumerate(texts)]
    setting = effective_setting(files, key)
    return setting and setting.value


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("vm.swappiness", "60"),
        ("net.core.somaxconn", "4096"),
        ("net.ipv4.tcp_max_syn_backlog", "4096"),
        ("net.core.netdev_max_backlog", "1000"),
        ("fs.file-max", "26396503"),
    ],
)
@pytest.mark.parametrize("file", ["h200x2/sysctl.txt", "h200x2-burn/commands/sysctl-a"])
def test_a_dump_of_all_settings_holds_ours(file: str, key: str, value: str) -> None:
    assert parse_sysctl_dump(shared(f"captures/{file}"))[key] == value


def test_an_error_line_in_a_dump_is_no_setting() -> None:
    text = "sysctl: permission denied on key 'fs.protected_fifos'\nvm.swappiness = 60\n"

    assert parse_sysctl_dump(text) == {"vm.swappiness": "60"}


def test_the_last_line_of_a_dump_counts_only_when_it_is_complete() -> None:
    assert parse_sysctl_dump("vm.swappiness = 1") == {}


@pytest.mark.parametrize(("text", "value"), [("60\n", 60), ("26396503\n", 26396503), (" 1 \n", 1)])
def test_one_live_value_is_a_number(text: str, value: int) -> None:
    assert parse_sysctl_file(text) == value


@pytest.mark.parametrize("text", ["", "1", "\n", "4096 87380 16777216\n", "N/A\n", "-\n", "1_000\n", "٥\n"])
def test_what_is_no_single_number_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_sysctl_file(text)


def test_the_last_file_wins() -> None:
    files = files_of_grep(shared("cases/system/sysctl_d_grep_override.txt"))

    setting = effective_setting(files, "net.core.netdev_max_backlog")

    assert setting is not None
    assert (setting.value, setting.path) == ("30000", "/etc/sysctl.d/99-gke-overrides.conf")


def test_a_value_of_three_numbers_is_kept_whole() -> None:
    files = files_of_grep(shared("cases/system/sysctl_d_grep_override.txt"))

    setting = effective_setting(files, "net.ipv4.tcp_rmem")

    assert setting is not None
    assert setting.value == "4096 87380 16777216"


def test_the_last_line_of_one_file_wins_and_is_named() -> None:
    setting = effective_setting(
        [ConfFile("/etc/sysctl.d/a.conf", "vm.swappiness=10\n\nvm.swappiness = 1\n")], SWAPPINESS
    )

    assert setting is not None
    assert (setting.value, setting.path, setting.line) == ("1", "/etc/sysctl.d/a.conf", 3)


@pytest.mark.parametrize(
    "line", ["# vm.swappiness = 1", "; vm.swappiness = 1", "vm.swappiness", "", "vm.swappines = 1"]
)
def test_comments_and_lines_without_a_value_set_nothing(line: str) -> None:
    assert value_in(line + "\n") is None


@pytest.mark.parametrize("line", ["-vm.swappiness = 1", "vm/swappiness = 1", "  vm.swappiness=1  ", "vm.*ness = 1"])
def test_all_spellings_of_a_key_set_it(line: str) -> None:
    assert value_in(line + "\n") == "1"


def test_a_slash_spelling_keeps_the_dots_of_a_device_name() -> None:
    text = "net/ipv4/conf/eth0.100/forwarding = 1\n"

    assert value_in(text, key="net.ipv4.conf.eth0/100.forwarding") == "1"


def test_a_glob_stays_within_one_part_of_the_name() -> None:
    assert value_in("net.*.rp_filter = 2\n", key="net.ipv4.conf.all.rp_filter") is None
    assert value_in("net.ipv4.conf.*.rp_filter = 2\n", key="net.ipv4.conf.all.rp_filter") == "2"


def test_a_glob_never_overrides_a_key_that_is_spelled_out() -> None:
    assert value_in("vm.swappiness = 1\n", "vm.* = 60\n") == "1"


def test_a_key_with_a_dash_and_no_value_is_left_out_of_globs() -> None:
    assert value_in("vm.* = 1\n", "-vm.swappiness\n") is None


def test_files_are_read_in_the_order_of_their_names_whatever_their_directory() -> None:
    paths = ["/usr/lib/sysctl.d/99-z.conf", "/etc/sysctl.d/10-a.conf", "/run/sysctl.d/50-m.conf"]

    assert in_boot_order(paths) == ["/etc/sysctl.d/10-a.conf", "/run/sysctl.d/50-m.conf", "/usr/lib/sysctl.d/99-z.conf"]


def test_a_file_of_the_same_name_in_etc_masks_the_one_of_the_package() -> None:
    paths = ["/lib/sysctl.d/50-x.conf", "/usr/lib/sysctl.d/50-x.conf", "/etc/sysctl.d/50-x.conf"]

    assert in_boot_order(paths) == ["/etc/sysctl.d/50-x.conf"]


def test_sysctl_conf_comes_last_when_no_link_in_the_directory_brings_it_in() -> None:
    assert in_boot_order(["/etc/sysctl.conf", "/etc/sysctl.d/99-zz.conf"])[-1] == "/etc/sysctl.conf"


def test_sysctl_conf_comes_where_its_link_stands() -> None:
    paths = ["/etc/sysctl.conf", "/etc/sysctl.d/99-sysctl.conf", "/etc/sysctl.d/99-zz.conf"]

    assert in_boot_order(paths) == ["/etc/sysctl.d/99-sysctl.conf", "/etc/sysctl.d/99-zz.conf"]


def test_only_files_that_end_in_conf_are_read() -> None:
    assert in_boot_order(["/etc/sysctl.d/README.sysctl", "/etc/sysctl.d/10-a.conf.dpkg-old"]) == []
