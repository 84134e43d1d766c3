"""The kernel: its settings, its command line, its modules, and what stands below /sys about it."""

from __future__ import annotations

import os
import re
from itertools import islice
from typing import Dict, Iterator, List, Optional

from readiness_agent.facts import NOT_CAPTURED, CouldNotMeasure
from readiness_agent.fingerprint.leaving import is_left_out, is_secret
from readiness_agent.fingerprint.reading import names_in, text_of, together, value_of
from readiness_agent.parsers.sysctl import parse_sysctl_dump
from readiness_agent.source import Json, Source

Found = Dict[str, Optional[str]]

ROOT = "/proc/sys"
TREE = "kernel settings"
"""The name of reading all of them, in a capture."""

MOST_FILES = 20_000
LONGEST = 4096

SELECTED = re.compile(r"\[(.+?)\]")
CHOICES = {
    "transparent_hugepage.enabled": "/sys/kernel/mm/transparent_hugepage/enabled",
    "transparent_hugepage.defrag": "/sys/kernel/mm/transparent_hugepage/defrag",
}
FILES = {
    "clocksource": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "smt": "/sys/devices/system/cpu/smt/control",
    "cpus": "/sys/devices/system/cpu/online",
    "numa_nodes": "/sys/devices/system/node/online",
}
HUGEPAGES = "/sys/kernel/mm/hugepages"
VULNERABILITIES = "/sys/devices/system/cpu/vulnerabilities"
GOVERNORS = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"


def read_sysctls(source: Source) -> Found:
    """Every kernel setting by the name that ``sysctl`` gives it; from its output where a capture holds only that."""
    try:
        return _found(source.call(TREE, read_tree))
    except CouldNotMeasure as error:
        if error.kind != NOT_CAPTURED:
            raise
    return dict(parse_sysctl_dump(source.run(("sysctl", "-a")).stdout))


def read_tree() -> Json:
    """Name and text of all files below ``/proc/sys``, without what moves by itself and without secrets.

    The text is None where this user may not read it.
    """
    named = ((sysctl_name(path), path) for path in _files(ROOT))
    told = ((name, path) for name, path in named if not (is_left_out(f"sysctl:{name}") or is_secret(name)))
    return [[name, _read(path)] for name, path in islice(told, MOST_FILES)]


def sysctl_name(path: str) -> str:
    """``net.ipv4.conf.eth0/1.mtu`` for ``/proc/sys/net/ipv4/conf/eth0.1/mtu``."""
    return path[len(ROOT) + 1 :].translate(str.maketrans("./", "/."))


def sysctl_path(name: str) -> str:
    """The file of the setting *name*."""
    return f"{ROOT}/{name.translate(str.maketrans('./', '/.'))}"


def read_cmdline(source: Source) -> Found:
    """Words of the kernel's command line; one that stands there several times has all of its values.

    What follows ``--`` is for the first process, and no setting of the kernel.
    """
    words: Dict[str, List[str]] = {}
    for word in source.read("/proc/cmdline").partition(" -- ")[0].split():
        name, separator, value = word.partition("=")
        words.setdefault(name, []).append(value if separator else "set")
    return {name: " ".join(values) for name, values in words.items()}


def read_modules(source: Source) -> Found:
    """Loaded modules, each with its version where it states one."""
    names = [line.split(" ", 1)[0] for line in source.read("/proc/modules").splitlines() if line.strip()]
    return {name: _version(source, name) for name in names}


def read_kernel(source: Source) -> Found:
    """What is chosen below ``/sys``."""
    found: Found = {name: _chosen(text) for name, path in CHOICES.items() if (text := text_of(source, path))}
    found.update((name, text.strip()) for name, path in FILES.items() if (text := text_of(source, path)))
    for size in names_in(source, HUGEPAGES):
        found[size] = value_of(source, f"{HUGEPAGES}/{size}/nr_hugepages")
    for name in names_in(source, VULNERABILITIES):
        found[f"vulnerability.{name}"] = value_of(source, f"{VULNERABILITIES}/{name}")
    governors = [text_of(source, path).strip() for path in source.glob(GOVERNORS)]
    if governors:
        found["cpufreq.governor"] = together(governors)
    microcode = re.search(r"^microcode\s*:\s*(\S+)", text_of(source, "/proc/cpuinfo"), re.M)
    if microcode:
        found["microcode"] = microcode[1]
    return found


def _files(root: str) -> Iterator[str]:
    for directory, directories, names in os.walk(root):
        # Looking into it would mount it.
        directories[:] = sorted(one for one in directories if one != "binfmt_misc")
        yield from (f"{directory}/{name}" for name in sorted(names))


def _read(path: str) -> Optional[str]:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(LONGEST).decode("utf-8", "replace").strip()
    except OSError:
        return None  # write-only, or not for this user


def _found(pairs: Json) -> Found:
    if not isinstance(pairs, list):
        return {}
    named = (pair for pair in pairs if isinstance(pair, list) and len(pair) == 2)
    return {str(name): None if value is None else str(value) for name, value in named}


def _chosen(text: str) -> str:
    """Of ``always [madvise] never`` the word that holds."""
    found = SELECTED.search(text)
    return found[1] if found else text.strip()


def _version(source: Source, name: str) -> str:
    try:
        return source.read(f"/sys/module/{name}/version").strip() or "loaded"
    except CouldNotMeasure:
        return "loaded"  # most state none; a capture may hold the list alone
