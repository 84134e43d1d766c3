"""What a tool's output does to a node: row by row what was read, what stands on it, and what nobody judges."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import get_language, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from checks.models import Cluster
from checks.services.tool_evidence import ToolFactLine, ToolLine, ToolReceipt
from portal.ui import figures
from portal.ui.criteria import Rules
from portal.ui.events import item_href, reason_said
from portal.ui.subjects import subjects_said

#: Why a row does not stand on the file.
LEFT: Mapping[str, Promise] = {
    "older": _("Left as it is: something newer was measured."),
    "leaves_open": _("Left as it is: the file tells less than is known."),
    "not_applicable": _("Does not apply to this hardware."),
    "no_row": _("Left as it is: that part was taken out, or nothing of it can be judged."),
}
#: Why something is judged by nobody.
UNJUDGED: Mapping[str, Promise] = {
    "no_item": _("No item of the checklist asks for it."),
    "no_figure": _("It says no figure that a criterion could be held against."),
    "not_tested": _("The tool skipped it; what was not tested proves nothing."),
    "other_node": _("It is about another node."),
    "no_part": _("The node has no such part on file."),
    "not_a_nodes": _("It is about a link between nodes, which no single file proves."),
    "no_unit": _("The file does not say its unit."),
}
#: What stands before the refusal's own words.
REFUSALS: Mapping[str, Promise] = {
    "wrong_tool": _("This is not what that tool prints; nothing was kept."),
    "unreadable_output": _("The output was cut or damaged; nothing was kept."),
    "other_host": _("The output is about another host; nothing was kept."),
    "bad_measured_at": _("Say when the tool ran: not in the future, and at most 30 days ago."),
    "node_retired": _("This node was taken out; nothing is kept about it any more."),
    "too_large": _("The output is too large for this page; send it with curl, packed with gzip."),
}
TOOLS: Mapping[str, Promise] = {
    "dcgmi-diag": pgettext_lazy("tool", "dcgmi diag -j"),
    "fio": pgettext_lazy("tool", "fio, text or JSON"),
    "gpud": pgettext_lazy("tool", "gpud, /v1/states"),
    "nccl-tests": pgettext_lazy("tool", "nccl-tests, all_reduce_perf"),
    "nhc": pgettext_lazy("tool", "LBNL NHC or AzNHC, log"),
    "nvidia-health-validation": pgettext_lazy("tool", "NVIDIA Health Validation, verdict"),
    "perftest": pgettext_lazy("tool", "perftest, text or JSON"),
    "superbench": pgettext_lazy("tool", "SuperBench, results-summary.jsonl"),
}


@dataclass(frozen=True, slots=True)
class EvidenceLine:
    """One item on the parts of which the file says the same kind of thing."""

    item: str
    title: str
    href: str
    verdict: str
    on: str
    values: tuple[str, ...]
    why: str
    left: str


@dataclass(frozen=True, slots=True)
class EvidenceRemark:
    """What the file says and nobody judges."""

    name: str
    value: str
    why: str


@dataclass(frozen=True, slots=True)
class EvidencePage:
    """A file, read. *taken* counts rows that stand on it."""

    receipt: ToolReceipt
    tool: str
    lines: tuple[EvidenceLine, ...]
    remarks: tuple[EvidenceRemark, ...]
    taken: int


def evidence_page(receipt: ToolReceipt, cluster: Cluster, rules: Mapping[str, Rules]) -> EvidencePage:
    """*receipt* in the reader's language."""
    remarks = (EvidenceRemark(one.name, one.value, str(UNJUDGED.get(one.code, one.why))) for one in receipt.remarks)
    return EvidencePage(
        receipt=receipt,
        tool=str(TOOLS.get(receipt.tool, receipt.tool)),
        lines=tuple(_lines(receipt, cluster, rules)),
        remarks=tuple(remarks),
        taken=sum(line.taken for line in receipt.verdicts),
    )


def _lines(receipt: ToolReceipt, cluster: Cluster, rules: Mapping[str, Rules]) -> Iterable[EvidenceLine]:
    for _key, group in groupby(sorted(receipt.verdicts, key=_alike), key=_alike):
        lines = list(group)
        known = rules.get(lines[0].item)
        if known is not None:
            yield _line(lines, receipt, cluster, known)


def _alike(line: ToolLine) -> tuple[Any, ...]:
    return (not line.taken, line.item, line.verdict, line.why, line.reason, line.detail)


def _line(lines: Sequence[ToolLine], receipt: ToolReceipt, cluster: Cluster, known: Rules) -> EvidenceLine:
    first, subjects = lines[0], [line.subject for line in lines]
    facts = [one for one in receipt.facts if one.item == first.item and one.subject in ("", *subjects)]
    return EvidenceLine(
        item=first.item,
        title=known.item.texts(get_language() or "en").title,
        href=item_href(cluster, receipt.node, first.item, first.subject),
        verdict=first.verdict,
        on=subjects_said(subjects),
        values=tuple(_values(facts, known)),
        why=reason_said(first.reason, first.detail) if first.taken else "",
        left=str(LEFT.get(first.why, "")),
    )


def _values(facts: Sequence[ToolFactLine], known: Rules) -> Iterable[str]:
    """Each fact by its name: one value, or from the least to the greatest of several parts."""
    by_name: dict[str, list[ToolFactLine]] = {}
    for fact in facts:
        by_name.setdefault(fact.name, []).append(fact)
    for name, said in by_name.items():
        numbers = [one.value for one in said if isinstance(one.value, int | float) and not isinstance(one.value, bool)]
        unit = said[0].unit
        if len(numbers) == len(said) and min(numbers) != max(numbers):
            yield f"{known.label(name)}: {figures.shown(min(numbers), unit)} – {figures.shown(max(numbers), unit)}"
        else:
            words = dict.fromkeys(figures.shown(one.value, one.unit) for one in said)
            yield f"{known.label(name)}: {', '.join(words)}"
