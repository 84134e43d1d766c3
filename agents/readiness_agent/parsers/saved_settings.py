"""Saved limits of a shell and settings of the kernel, each under its own name."""

from __future__ import annotations

import re
from typing import Iterable, List

from readiness_agent.parsers.saved import Reading, Saved, whole
from readiness_agent.parsers.sysctl import ConfFile, effective_setting, files_of_grep, keys_of

_LIMIT = re.compile(r"([a-zA-Z][A-Za-z -]*[a-z]) +\((?:([0-9a-z ]+), )?-[a-zA-Z]\) +([0-9]{1,18}|unlimited)")
SAVED_CONF = "/etc/sysctl.d/saved.conf"
"""Where a single file of settings counts as lying."""


def read_ulimit_lines(text: str) -> Saved:
    """Every line of ``ulimit -a`` in the unit that stands in its brackets. Never raises."""
    reading = Reading()
    for found in map(_LIMIT.fullmatch, text.splitlines()):
        if found:
            limit = found[3] if found[3] == "unlimited" else int(found[3])
            reading.fact(found[1].strip(), limit, found[2] or "count")
    return reading.result()


def conf_file(text: str) -> List[ConfFile]:
    """One file of settings, as if it were the only one."""
    return [ConfFile(SAVED_CONF, text)]


def read_sysctl_files(text: str) -> Saved:
    """Every key in ``grep -r . /etc/sysctl.d``, as the last file in boot order sets it. Never raises."""
    return _settings(files_of_grep(text))


def read_sysctl_conf(text: str) -> Saved:
    """Every key in one file of settings. Never raises."""
    return _settings(conf_file(text))


def _settings(files: Iterable[ConfFile]) -> Saved:
    reading = Reading()
    files = list(files)
    for key in keys_of(files):
        setting = effective_setting(files, key)
        if setting is not None:
            number = whole(setting.value)
            value = number if number is not None else " ".join(setting.value.split())[:256]
            reading.fact(key, value, "text" if number is None else "count")
    return reading.result()
