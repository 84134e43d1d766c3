"""Resource limits for open files and locked memory, from the four places that state them."""

from __future__ import annotations

import re
from typing import Dict, Iterable, List, NamedTuple, Optional, Tuple, Union

from readiness_agent.facts import Unreadable
from readiness_agent.parsers.saved import JSON_INTEGER_MAX

Amount = Union[int, str]
"""Files, or bytes; or the text ``unlimited``."""

UNLIMITED = "unlimited"

_UNLIMITED_WORDS = ("unlimited", "infinity", "-1")
_KIB = 1024
_SCALES = {"nofile": 1, "memlock": _KIB}
_USER, _GROUP, _EVERYONE = 3, 2, 1


class Limit(NamedTuple):
    """Soft and hard limit; None where the source does not say."""

    soft: Optional[Amount]
    hard: Optional[Amount]


class Limits(NamedTuple):
    """Open files in files, locked memory in bytes."""

    nofile: Limit
    memlock: Limit


class Account(NamedTuple):
    """Whose limits are asked for."""

    name: str
    uid: int
    gid: int
    groups: Tuple[str, ...]


class Rule(NamedTuple):
    """One line of limits.conf. ``item`` is ``*`` for a line that frees a user of all limits."""

    domain: str
    kind: str
    item: str
    amount: Amount


def parse_process_limits(text: str) -> Limits:
    """``/proc/PID/limits``.

    Raises:
        Unreadable: a line is missing or cut.
    """
    return Limits(_table_row(text, "Max open files", "files"), _table_row(text, "Max locked memory", "bytes"))


def _table_row(text: str, name: str, unit: str) -> Limit:
    found = re.search(rf"^{name} +([0-9]{{1,20}}|unlimited) +([0-9]{{1,20}}|unlimited) +{unit}\s*$", text, re.MULTILINE)
    if not found:
        raise Unreadable(f"no complete line {name!r} in the limits of the process")
    return Limit(_amount(found.group(1)), _amount(found.group(2)))


def parse_ulimit(text: str) -> Limits:
    """``ulimit -a`` of a shell: soft limits only; locked memory stands there in kbytes.

    Raises:
        Unreadable: it shows no such limits.
    """
    nofile = re.search(r"^open files +\(-n\) +([0-9]{1,20}|unlimited)$", text, re.MULTILINE)
    memlock = re.search(r"^max locked memory +\(kbytes, -l\) +([0-9]{1,20}|unlimited)$", text, re.MULTILINE)
    if not nofile or not memlock:
        raise Unreadable("no complete output of ulimit -a: it lacks open files (-n) or max locked memory (kbytes, -l)")
    return Limits(Limit(_amount(nofile.group(1)), None), Limit(_amount(memlock.group(1), _KIB), None))


def parse_unit_limits(text: str) -> Optional[Limits]:
    """``systemctl show -p LoadState,LimitNOFILE,LimitNOFILESoft,LimitMEMLOCK,LimitMEMLOCKSoft UNIT``.

    None when the unit is not installed: systemd then prints its defaults.
    """
    shown: Dict[str, str] = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    if shown.get("LoadState") != "loaded":
        return None
    return Limits(_unit_limit(shown, "LimitNOFILE"), _unit_limit(shown, "LimitMEMLOCK"))


def _unit_limit(shown: Dict[str, str], name: str) -> Limit:
    return Limit(_amount_or_none(shown.get(name + "Soft", "")), _amount_or_none(shown.get(name, "")))


def parse_limits_conf(text: str) -> List[Rule]:
    """The rules of limits.conf or of a file in limits.d (limits.conf(5)); lines that PAM would skip are left out."""
    rules = []
    for raw in text.splitlines():
        words = raw.partition("#")[0].split()
        if len(words) == 2 and words[1] == "-":
            rules.append(Rule(words[0], "-", "*", UNLIMITED))
        if len(words) != 4:
            continue
        domain, kind, item, value = words
        amount = _amount_or_none(value, _SCALES.get(item, 1))
        if kind in ("soft", "hard", "-") and item in _SCALES and amount is not None:
            rules.append(Rule(domain, kind, item, amount))
    return rules


def resolve_limits(rules: Iterable[Rule], account: Account) -> Limits:
    """What *rules*, in the order in which PAM reads them, give *account*.

    A rule for the user beats one for a group, and that one beats ``*``; among equals the later one counts.
    """
    ranked = [(_rank(rule.domain, account), rule) for rule in rules]
    applying = sorted((pair for pair in ranked if pair[0]), key=lambda pair: pair[0])
    if any(rule.item == "*" for _, rule in applying):
        return Limits(Limit(None, None), Limit(None, None))
    return Limits(_resolve("nofile", applying), _resolve("memlock", applying))


def _resolve(item: str, applying: List[Tuple[int, Rule]]) -> Limit:
    soft: Optional[Amount] = None
    hard: Optional[Amount] = None
    for _, rule in applying:
        if rule.item == item and rule.kind in ("soft", "-"):
            soft = rule.amount
        if rule.item == item and rule.kind in ("hard", "-"):
            hard = rule.amount
    if isinstance(hard, int) and soft is not None and (soft == UNLIMITED or int(soft) > hard):
        soft = hard
    return Limit(soft, hard)


def _rank(domain: str, account: Account) -> int:
    """How closely *domain* names *account*; 0 when it does not. Groups and ``*`` never mean root."""
    group = domain.startswith("@")
    name = domain[1:] if group else domain
    if group:
        named = name in account.groups or _in_range(name, account.gid)
        return _GROUP if named and account.uid != 0 else 0
    if name == account.name or _in_range(name, account.uid):
        return _USER
    return _EVERYONE if name == "*" and account.uid != 0 else 0


def _in_range(text: str, number: int) -> bool:
    """``1000:2000``, ``1000:``, ``:2000`` or one number, as PAM writes ranges of ids."""
    found = re.fullmatch(r"([0-9]{0,10})(:?)([0-9]{0,10})", text)
    if not found or text in ("", ":"):
        return False
    low, colon, high = found.groups()
    if not colon:
        return number == int(low)
    return int(low or 0) <= number <= int(high or number)


def _amount(text: str, scale: int = 1) -> Amount:
    """In the item's own unit; what no report can carry is no limit that anybody set."""
    amount: Amount = UNLIMITED if text in _UNLIMITED_WORDS else int(text) * scale
    if isinstance(amount, int) and amount > JSON_INTEGER_MAX:
        raise Unreadable(f"{text} is no limit")
    return amount


def _amount_or_none(text: str, scale: int = 1) -> Optional[Amount]:
    is_told = text in _UNLIMITED_WORDS or (re.fullmatch(r"[0-9]{1,20}", text) and int(text) * scale <= JSON_INTEGER_MAX)
    return _amount(text, scale) if is_told else None
