"""A setting of a cluster's nodes as a checklist item of its own: what drift found, asked for from now on.

It stands with the cluster's overrides, ``{"settings": {"<kind>:<name>": {"equals": "…", "blocks": false}}}``, so that
whatever names and keeps rules names and keeps it. It is a warning until a second person accepts that it blocks.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from checks.domain.drift.prints import Kind, kind_of
from checks.domain.errors import InvalidOverride
from checks.domain.items import Criterion, Item, Operator, Texts
from checks.domain.units import Unit
from checks.domain.verdicts import Cadence, Flow, Layer, Owner, Scope, Severity, Source

SETTINGS: Final = "settings"
PREFIX: Final = "setting-"
#: The one fact of such an item.
FACT: Final = "value"
#: Most settings that one cluster asks for: each is a file that is read at every tick.
MOST: Final = 100
LONGEST_VALUE: Final = 500

_NAME: Final = re.compile(r"[a-z]+:[^\s:\x00-\x1f\x7f]{1,190}")
_SYSCTL: Final = re.compile(r"[A-Za-z0-9_-]+(?:[./][A-Za-z0-9_/-]+)+")
_LONGEST_KEY: Final = 64
_KEYS: Final = frozenset({"equals", "blocks"})


@dataclass(frozen=True, slots=True)
class SettingRule:
    """What one setting has to be on every node, and whether a node may not start without."""

    name: str
    equals: str
    blocks: bool = False

    def as_json(self) -> dict[str, object]:
        """The rule as it stands in the cluster's overrides, under its name."""
        return {"equals": self.equals, "blocks": self.blocks}


def item_key(name: str) -> str:
    """The key of the item of a setting: readable, and another one for each name."""
    readable = re.sub(r"[^a-z0-9]+", "-", name.partition(":")[2].lower()).strip("-")
    told_apart = hashlib.sha256(name.encode()).hexdigest()[:6]
    return f"{PREFIX}{readable[: _LONGEST_KEY - len(PREFIX) - 7]}-{told_apart}"


def read_settings(document: object) -> tuple[SettingRule, ...]:
    """The rules in *document*, by name.

    Raises:
        InvalidOverride: a name that no agent could read, a value that is no text, or more than ``MOST``.
    """
    if not isinstance(document, Mapping):
        raise InvalidOverride("The settings of a cluster must be a table by name of the setting.")
    if len(document) > MOST:
        raise InvalidOverride(f"A cluster asks for {MOST} settings at most; end one that is not needed any more.")
    return tuple(_rule(str(name), held) for name, held in sorted(document.items()))


def setting_item(rule: SettingRule) -> Item:
    """The item that holds every node to *rule*."""
    texts = _texts(rule)
    return Item(
        key=item_key(rule.name),
        layer=Layer.SYSTEM,
        flow=Flow.COMPUTE,
        scope=Scope.NODE,
        source=Source.PROBE,
        cadence=Cadence.TICK if kind_of(rule.name) == Kind.SYSCTL else Cadence.DAILY,
        owner=Owner.PLATFORM,
        severity=Severity.BLOCKER if rule.blocks else Severity.WARNING,
        settle=3 if kind_of(rule.name) == Kind.SYSCTL else 1,
        en=texts["en"],
        zh=texts["zh"],
        facts={FACT: Unit.TEXT},
        criteria=(Criterion(fact=FACT, operator=Operator.EQ, threshold=rule.equals),),
    )


def check_name(name: str) -> None:
    """Refuse a name that no agent could read safely.

    Raises:
        InvalidOverride
    """
    if not _NAME.fullmatch(name) or kind_of(name) not in tuple(Kind):
        raise InvalidOverride(f"{name[:80]!r} is no setting; choose one that a fingerprint of the cluster shows.")
    plain = name.partition(":")[2]
    if kind_of(name) == Kind.SYSCTL and (not _SYSCTL.fullmatch(plain) or ".." in plain or "//" in plain):
        raise InvalidOverride(f"{plain[:80]!r} is no name of a kernel setting, as sysctl writes it.")


def _rule(name: str, held: object) -> SettingRule:
    check_name(name)
    if not isinstance(held, Mapping) or not set(held) <= _KEYS:
        raise InvalidOverride(f'The setting {name} needs a rule: {{"equals": …, "blocks": true or false}}.')
    equals, blocks = held.get("equals"), held.get("blocks", False)
    if not isinstance(equals, str) or not equals.strip() or len(equals) > LONGEST_VALUE:
        raise InvalidOverride(
            f"The setting {name} needs the text that it has to equal, {LONGEST_VALUE} letters at most."
        )
    if not isinstance(blocks, bool):
        raise InvalidOverride(f"Whether the setting {name} blocks is true or false.")
    return SettingRule(name, equals, blocks)


def _texts(rule: SettingRule) -> dict[str, Texts]:
    kind, _, plain = rule.name.partition(":")
    look = {"en": f"Run `sysctl {plain}`.", "zh": f"执行 `sysctl {plain}`。"} if kind == Kind.SYSCTL else {
        "en": f"Run `readiness-agent fingerprint` on the node and look for `{rule.name}`.",
        "zh": f"在节点上执行 `readiness-agent fingerprint`，查找 `{rule.name}`。",
    }  # fmt: skip
    mend = {
        "en": f"Set `{plain}` to `{rule.equals}`, and find out what set it otherwise: the other nodes are not.",
        "zh": f"把 `{plain}` 设为 `{rule.equals}`，并查明是什么把它改成了别的值：其他节点并非如此。",
    }
    return {
        "en": Texts(
            title=f"Setting {plain}",
            consequence="This node is set otherwise than the cluster decided; one node that differs can slow or stop a "
            "job of all of them.",
            verify=look["en"],
            remedy=mend["en"],
            source_note="The value is the one that the cluster's nodes had when the setting was made an item.",
        ),
        "zh": Texts(
            title=f"设置项 {plain}",
            consequence="该节点的设置与集群的约定不同；一个与众不同的节点就可能拖慢或中断整个任务。",
            verify=look["zh"],
            remedy=mend["zh"],
            source_note="期望值取自该设置被列为检查项时集群各节点的取值。",
        ),
    }
