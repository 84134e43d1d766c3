"""A dataset's listing: what its files should be, by digest and size, and which of them are not."""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from readiness_agent.errors import usage_error

_SUM = re.compile(r"\\?([0-9a-fA-F]{64}) [ *](.+)")
"""A line of ``sha256sum``."""

_BLOCK = 1 << 20


class Listed(NamedTuple):
    """What one file should be; None is not stated."""

    sha256: Optional[str]
    size: Optional[int]


class Measured(NamedTuple):
    """What one file is."""

    sha256: str
    size: int


def read_listing(path: str) -> Dict[str, Listed]:
    """Names with digests: lines of ``sha256sum``, or JSON objects with ``path``, ``sha256`` and ``size``, one a line.

    Raises:
        AgentError: it cannot be read, or a line is neither.
    """
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise usage_error(f"{path} cannot be read as a listing ({type(error).__name__}): name a UTF-8 file") from None
    listed: Dict[str, Listed] = {}
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#"):
            name, its = _line(line) or _refuse(path, number)
            listed[os.path.normpath(name)] = its
    if not listed:
        raise usage_error(f"{path} lists no file: make it with `sha256sum FILE… > {path}`")
    return listed


def _refuse(path: str, number: int) -> Tuple[str, Listed]:
    raise usage_error(
        f"{path}:{number} is no line of sha256sum and no JSON object with path and sha256 or size: correct that line"
    )


def _line(line: str) -> Optional[Tuple[str, Listed]]:
    found = _SUM.fullmatch(line)
    if found:
        return found[2], Listed(found[1].lower(), None)
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict) or not isinstance(told.get("path"), str):
        return None
    sha256, size = told.get("sha256"), told.get("size")
    good_sha = sha256 is None or (isinstance(sha256, str) and re.fullmatch("(sha256:)?[0-9a-fA-F]{64}", sha256))
    good_size = size is None or (isinstance(size, int) and not isinstance(size, bool) and size >= 0)
    if not good_sha or not good_size or (sha256 is None and size is None):
        return None
    return told["path"], Listed(sha256.rpartition(":")[2].lower() if sha256 else None, size)


def differences(listed: Mapping[str, Listed], measured: Mapping[str, Measured]) -> Iterator[Tuple[str, str]]:
    """Names of files that are not as listed, each with what is wrong."""
    for name in sorted({*listed, *measured}):
        should, is_ = listed.get(name), measured.get(name)
        if is_ is None:
            yield name, "it is listed, and not there"
        elif should is None:
            yield name, "it is there, and not listed"
        elif should.size not in (None, is_.size):
            yield name, f"it has {is_.size} bytes, the listing says {should.size}"
        elif should.sha256 not in (None, is_.sha256):
            yield name, "its SHA-256 is another one than the listing says"


def digest_of(measured: Mapping[str, Measured]) -> str:
    """One digest for all files: of the lines that ``sha256sum`` prints for them, in the order of their names."""
    names: List[str] = sorted(measured, key=os.fsencode)
    lines = (b"%s  %s\n" % (measured[name].sha256.encode(), os.fsencode(name)) for name in names)
    return f"sha256:{hashlib.sha256(b''.join(lines)).hexdigest()}"
