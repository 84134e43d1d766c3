"""Kernel settings: live values, and what the files of sysctl.d set at the next boot."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence

from readiness_agent.facts import Unreadable

DIRECTORIES = (
    "/etc/sysctl.d",
    "/run/sysctl.d",
    "/usr/local/lib/sysctl.d",
    "/usr/lib/sysctl.d",
    "/lib/sysctl.d",
)
"""Where systemd-sysctl looks; a file hides all files of its name in later directories (sysctl.d(5))."""

SYSCTL_CONF = "/etc/sysctl.conf"
"""Read last by ``sysctl --system``; systemd reads it only through a link called 99-sysctl.conf in a directory."""

_SYSCTL_CONF_LINK = "99-sysctl.conf"
_NUMBER = re.compile(r"-?[0-9]{1,19}")


class ConfFile(NamedTuple):
    """One file, with its path."""

    path: str
    text: str


class Setting(NamedTuple):
    """The line that decides a key at boot."""

    value: str
    path: str
    line: int


class _Line(NamedTuple):
    key: str
    """With slashes, as below /proc/sys; may hold wildcards."""
    setting: Optional[Setting]
    """None for ``-key``: leave this key alone."""


def parse_sysctl_file(text: str) -> int:
    """One live value, the text of a file below /proc/sys.

    Raises:
        Unreadable: it is no single whole number, or it is cut: the kernel ends it with a new line.
    """
    if not text.endswith("\n"):
        raise Unreadable(f"{text[:40]!r} is cut: the kernel ends a value with a new line")
    return parse_sysctl_value(text)


def parse_sysctl_value(text: str) -> int:
    """One value of a dump or a file of settings.

    Raises:
        Unreadable: it is no single whole number.
    """
    value = text.strip()
    if not _NUMBER.fullmatch(value):
        raise Unreadable(f"{value[:40]!r} is no whole number")
    return int(value)


def parse_sysctl_dump(text: str) -> Dict[str, str]:
    """The output of ``sysctl -a``. An unfinished last line is left out: its value may have been longer."""
    complete = text.rpartition("\n")[0]
    found: Dict[str, str] = {}
    for line in complete.splitlines():
        key, separator, value = line.partition(" = ")
        if separator and " " not in key:
            found[key] = value.strip()
    return found


def files_of_grep(text: str) -> List[ConfFile]:
    """Files from the output of ``grep -r . /etc/sysctl.d``, in boot order; only the matched lines are known."""
    lines: Dict[str, List[str]] = {}
    for line in text.splitlines():
        path, separator, setting = line.partition(":")
        if separator and path.startswith("/"):
            lines.setdefault(path, []).append(setting)
    return [ConfFile(path, "\n".join(lines[path]) + "\n") for path in in_boot_order(lines)]


def in_boot_order(paths: Iterable[str]) -> List[str]:
    """The files that count at boot, in the order in which they are applied."""
    chosen: Dict[str, str] = {}
    for path in sorted(paths, key=_directory_rank):
        directory, _, name = path.rpartition("/")
        if directory in DIRECTORIES and name.endswith(".conf"):
            chosen.setdefault(name, path)
    ordered = [chosen[name] for name in sorted(chosen)]
    if SYSCTL_CONF in paths and _SYSCTL_CONF_LINK not in chosen:
        ordered.append(SYSCTL_CONF)
    return ordered


def effective_setting(files: Sequence[ConfFile], key: str) -> Optional[Setting]:
    """What *files*, in boot order, set *key* to; None when they leave it alone.

    The last assignment wins; a key that is spelled out is never changed by a wildcard.
    """
    wanted = _with_slashes(key)
    lines = [line for file in files for line in _lines(file)]
    exact = [line for line in lines if line.key == wanted]
    if exact:
        return exact[-1].setting
    matching = [line for line in lines if "*" in line.key and _matches(line.key, wanted)]
    return matching[-1].setting if matching else None


def keys_of(files: Sequence[ConfFile]) -> List[str]:
    """Every key that *files* assign, with dots, once; wildcards name no key of their own."""
    lines = [line for file in files for line in _lines(file) if line.setting is not None and "*" not in line.key]
    return list(dict.fromkeys(_with_dots(line.key) for line in lines))


def _directory_rank(path: str) -> int:
    directory = path.rpartition("/")[0]
    return DIRECTORIES.index(directory) if directory in DIRECTORIES else len(DIRECTORIES)


def _lines(file: ConfFile) -> List[_Line]:
    found = []
    for number, raw in enumerate(file.text.split("\n"), start=1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        key, separator, value = (part.strip() for part in line.partition("="))
        if separator:
            found.append(_Line(_with_slashes(key.lstrip("-")), Setting(value, file.path, number)))
        elif key.startswith("-"):
            found.append(_Line(_with_slashes(key[1:]), None))
    return found


def _with_slashes(key: str) -> str:
    """The path below /proc/sys: whichever of dot and slash comes first separates, the other is part of a name."""
    first = re.search(r"[./]", key)
    if first is None or first.group() == "/":
        return key
    return key.translate(str.maketrans("./", "/."))


def _with_dots(path: str) -> str:
    """``net.ipv4.conf.eth0/1.mtu`` for ``net/ipv4/conf/eth0.1/mtu``."""
    return path.translate(str.maketrans("./", "/."))


def _matches(pattern: str, path: str) -> bool:
    """Whether *pattern* means *path*; a wildcard stays within one part of the name."""
    patterns, parts = pattern.split("/"), path.split("/")
    return len(patterns) == len(parts) and all(map(fnmatchcase, parts, patterns))
