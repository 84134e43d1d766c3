"""The agent in one file, as nodes download it: built from this checkout, byte for byte the same in every process."""

import hashlib
import io
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from django.conf import settings

NAME = "readiness-agent.pyz"
_INTERPRETER = b"#!/usr/bin/env python3\n"
# The oldest time a zip can hold: a build's own time would give each process another checksum.
_MADE_AT = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class AgentArchive:
    """An executable zip archive, and its SHA-256 in hex."""

    content: bytes
    sha256: str


@lru_cache(maxsize=1)
def agent_archive() -> AgentArchive:
    """Built once a process: its code does not change while it runs."""
    content = build(settings.BASE_DIR / "agents")
    return AgentArchive(content, hashlib.sha256(content).hexdigest())


def install_script() -> bytes:
    """The shell script that puts the agent on a node, and takes it away."""
    path: Path = settings.BASE_DIR / "agents" / "deploy" / "install.sh"
    return path.read_bytes()


def build(source: Path) -> bytes:
    """Pack ``__main__.py`` and the package below *source* so that ``python3 FILE`` runs them."""
    packed = io.BytesIO(_INTERPRETER)
    packed.seek(0, io.SEEK_END)
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted([source / "__main__.py", *(source / "readiness_agent").rglob("*.py")]):
            archive.writestr(_entry(str(path.relative_to(source))), path.read_bytes())
    return packed.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _MADE_AT)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry
