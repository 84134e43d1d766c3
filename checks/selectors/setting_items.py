"""Settings that are items of a cluster, as they stand."""

from collections.abc import Iterable
from dataclasses import dataclass

from checks.domain.setting_items import SettingRule, item_key
from checks.models import Cluster, SettingItem, SettingItemAct


@dataclass(frozen=True, slots=True)
class OpenSetting:
    """A setting that every node of the cluster has to have; *accepted* by a second person where it blocks."""

    row: SettingItem
    accepted: SettingItemAct | None

    @property
    def key(self) -> str:
        """The key of its item."""
        return item_key(self.row.name)

    @property
    def rule(self) -> SettingRule:
        """What nodes are judged by."""
        return SettingRule(self.row.name, self.row.equals, blocks=self.accepted is not None)


def open_settings(cluster: Cluster) -> tuple[OpenSetting, ...]:
    """Those that nobody has ended, by name."""
    rows = SettingItem.objects.filter(cluster=cluster).exclude(acts__kind=SettingItemAct.ENDED)
    found = rows.select_related("by").prefetch_related("acts__by").order_by("name")
    return tuple(OpenSetting(row, _accepted(row.acts.all())) for row in found)


def open_setting(cluster: Cluster, number: int) -> OpenSetting | None:
    """The one with that number, where nobody has ended it."""
    return next((one for one in open_settings(cluster) if one.row.pk == number), None)


def _accepted(acts: Iterable[SettingItemAct]) -> SettingItemAct | None:
    return next((act for act in acts if act.kind == SettingItemAct.ACCEPTED), None)
