"""Fingerprints made by hand."""

from collections.abc import Mapping

from checks.domain.drift.prints import Print

SYSCTL = frozenset({"sysctl"})


def whole(node: str, kinds: frozenset[str] = SYSCTL, **settings: str) -> Print:
    """A fingerprint of kernel settings that shares nothing; ``a_b`` stands for ``sysctl:a.b``."""
    return Print.whole(node, kinds, {f"sysctl:{name.replace('_', '.')}": value for name, value in settings.items()})


def fleet(nodes: int, usual: Mapping[str, str], odd: Mapping[int, Mapping[str, str]]) -> list[Print]:
    """*nodes* fingerprints of *usual* settings, but for those of the nodes in *odd*; nothing is shared."""
    return [Print.whole(f"gpu-{n:03d}", SYSCTL, {**usual, **odd.get(n, {})}) for n in range(1, nodes + 1)]


def never(_: str) -> bool:
    """A filter that filters nothing."""
    return False
