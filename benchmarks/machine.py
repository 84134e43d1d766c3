"""On what a figure was measured; printed above every table."""

import os
import platform
from pathlib import Path

import django
import psycopg


def describe() -> str:
    """One line: processor, cores, memory, kernel, versions."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return (
        f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB, Linux {platform.release().partition('-')[0]}, "
        f"CPython {platform.python_version()}, Django {django.__version__}, psycopg {psycopg.__version__}"
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
