"""Node sets as Slurm writes them: ``gpu[001-064,070]`` to host names, and back.

Only that notation: ClusterShell's groups, wildcards and set arithmetic would read this machine's files or run commands,
and no scheduler prints them.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetParseError
from ClusterShell.RangeSet import RangeSet
from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError

# Four times the largest cluster that the portal is measured with (4,096 nodes).
MAX_NODES = 16_384
MAX_TEXT = 512 * 1024

_PATTERN = re.compile(r"(?:[A-Za-z0-9._-]|\[[0-9,-]+\])+")
_BETWEEN_COMMAS = re.compile(r"(?:[^,\[\]]+|\[[^\[\]]*\]|[\[\]])+")
_BRACKET = re.compile(r"\[([0-9,-]+)\]")
_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")
_LAST_NUMBER = re.compile(r"([^.]*?)(\d{1,18})([^.\d]*(?:\..*)?)")


class BadNodeSet(CountersignError):
    """The text is no node set, or names more nodes than a cluster has."""

    code = "bad_node_set"
    status = 422


@lru_cache(maxsize=256)
def parse_node_set(text: str) -> tuple[str, ...]:
    """The host names that *text* names, each once, in the order asked; empty for an empty text.

    The size is counted before anything is expanded, so ``n[1-999999999]`` costs nothing.

    Raises:
        BadNodeSet: not Slurm's notation, or more than ``MAX_NODES`` names.
    """
    if len(text) > MAX_TEXT:
        said = _("The node set is longer than %(most)d characters; fold it, for example gpu[001-512].")
        raise BadNodeSet(said % {"most": MAX_TEXT})
    patterns = [part.strip() for part in _BETWEEN_COMMAS.findall(text) if part.strip()]
    if sum(map(_size, patterns)) > MAX_NODES:
        said = _("The node set names more than %(most)d nodes; ask for fewer at a time.")
        raise BadNodeSet(said % {"most": MAX_NODES})
    return tuple(dict.fromkeys(name for pattern in patterns for name in _expand(pattern)))


def fold_node_set(names: Iterable[str]) -> str:
    """The shortest text in Slurm's notation for *names*, folded over the last number of each host's first label.

    Folding over every number costs half a second for 512 names like ``ip-10-0-17-4``.
    """
    return _folded(tuple(names))


@lru_cache(maxsize=64)
def _folded(names: tuple[str, ...]) -> str:
    numbers: dict[tuple[str, str], list[str]] = defaultdict(list)
    plain: list[str] = []
    for name in names:
        if match := _LAST_NUMBER.fullmatch(name):
            numbers[match[1], match[3]].append(match[2])
        else:
            plain.append(name)
    folded = [_fold(prefix, found, suffix) for (prefix, suffix), found in numbers.items()]
    return ",".join(sorted({*plain, *folded}))


def _size(pattern: str) -> int:
    if not _PATTERN.fullmatch(pattern):
        raise _bad(pattern)
    return math.prod(sum(map(_range_size, inside.split(","))) for inside in _BRACKET.findall(pattern))


def _range_size(text: str) -> int:
    match = _RANGE.fullmatch(text)
    if match is None:
        raise _bad(text)
    size = 1 if match[2] is None else int(match[2]) - int(match[1]) + 1
    if size < 1:
        raise _bad(text)
    return size


def _expand(pattern: str) -> Iterable[str]:
    if "[" not in pattern:
        return (pattern,)
    try:
        return NodeSet(pattern, resolver=RESOLVER_NOGROUP)  # type: ignore[no-any-return]
    except NodeSetParseError as error:
        raise _bad(pattern) from error


def _fold(prefix: str, numbers: list[str], suffix: str) -> str:
    ranges = str(RangeSet(",".join(numbers)))
    return f"{prefix}{ranges}{suffix}" if ranges.isdigit() else f"{prefix}[{ranges}]{suffix}"


def _bad(text: str) -> BadNodeSet:
    said = _("%(text)s is no node set; write host names or ranges such as gpu[001-064,070].")
    return BadNodeSet(said % {"text": repr(text[:80])})
