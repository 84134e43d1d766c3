"""What a whole cluster holds, judged once for all of its nodes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import get_language

from checks.models import Cluster
from checks.selectors.pages_cluster import shared_verdicts
from portal.ui import words
from portal.ui.criteria import Rules


@dataclass(frozen=True, slots=True)
class SharedLine:
    """One item and its verdict as it counts now."""

    item: str
    title: str
    verdict: str
    shadow: bool


def shared_lines(cluster: Cluster, rules: Mapping[str, Rules], *, now: datetime) -> tuple[SharedLine, ...]:
    """What blocks before what is in shadow, the worst first, else in the order of the layers."""
    language = get_language() or "en"
    lines = [
        SharedLine(one.item, rules[one.item].item.texts(language).title, str(one.verdict), one.shadow)
        for one in shared_verdicts(cluster, now=now)
        if one.item in rules
    ]
    return tuple(sorted(lines, key=lambda line: (line.shadow, words.WORST_FIRST.index(line.verdict))))
