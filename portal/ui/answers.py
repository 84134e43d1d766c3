"""The gate's own answer, as pages say it: who is ready, what stops the others, in sentences."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from checks.domain.readiness import Answer, Why
from checks.domain.verdicts import Decision, Purpose
from checks.models import Cluster
from checks.selectors.nodesets import fold_node_set
from checks.selectors.readiness import answer_gate
from portal.accounts.models import User
from portal.ui import words
from portal.ui.lines import Line
from portal.ui.sentences import closed, joined


@dataclass(frozen=True, slots=True)
class Counted:
    """Nodes by what may be said of them; *unknown* are those of which nothing certain is known."""

    asked: int
    ready: int
    not_ready: int
    unknown: int
    not_ready_nodes: str
    unknown_nodes: str


def answer_of(user: User, cluster: Cluster, nodes: Sequence[str] | None, *, now: datetime) -> Answer:
    """What the gate answers to the question of health: the very decision that a scheduler gets."""
    return answer_gate(user=user, cluster=cluster.slug, nodes=nodes, purpose=Purpose.HEALTH, run=None, now=now)


def count_answer(answer: Answer, failing: Collection[str]) -> Counted:
    """Split the nodes that are not ready: those that fail, and those that cannot tell."""
    fails = [node for node in answer.not_ready_nodes if node in failing]
    tells_nothing = [*(node for node in answer.not_ready_nodes if node not in failing), *answer.unknown_nodes]
    return Counted(
        asked=answer.asked,
        ready=len(answer.ready_nodes),
        not_ready=len(fails),
        unknown=len(tells_nothing),
        not_ready_nodes=fold_node_set(fails),
        unknown_nodes=fold_node_set(tells_nothing),
    )


def cluster_sentence(answer: Answer, counted: Counted) -> str:
    """The answer's reason in one sentence."""
    if not answer.asked:
        return _("No node is enrolled yet, so there is nothing to start on.")
    if answer.decision is Decision.READY:
        said = ngettext(
            "The node passes every blocking item on fresh evidence",
            "All %(n)d nodes pass every blocking item on fresh evidence",
            answer.asked,
        )
        return closed(said % {"n": answer.asked})
    fails = ngettext("%(n)d node fails", "%(n)d nodes fail", counted.not_ready) % {"n": counted.not_ready}
    dark = ngettext(
        "of %(n)d node nothing certain is known", "of %(n)d nodes nothing certain is known", counted.unknown
    ) % {"n": counted.unknown}
    ready = _("%(ready)d of %(asked)d nodes are ready") % {"ready": counted.ready, "asked": answer.asked}
    parts = [text for text, number in ((fails, counted.not_ready), (dark, counted.unknown)) if number]
    return joined([closed(_(", and ").join(parts)), closed(ready)])


def node_sentence(answer: Answer, worst: Line | None) -> str:
    """Why the node may or may not take a job, led by its worst line."""
    if answer.decision is Decision.READY:
        return _("Every blocking item passes on fresh evidence.")
    first = next(iter(answer.reasons), None)
    if first is not None and not first.item:
        return why_said(first)
    if worst is None:
        return why_said(first) if first else ""
    needed = {"value": worst.value, "needs": worst.needs}
    value = _("%(value)s, needs %(needs)s") % needed if worst.value and worst.needs else worst.why
    said = {"title": worst.title, "on": worst.on, "value": value or words.VERDICTS[worst.verdict]}
    more = answer.reasons_total - 1
    rest = ngettext("%(n)d more reason below", "%(n)d more reasons below", more) % {"n": more} if more > 0 else ""
    return joined([closed(_("%(title)s on %(on)s: %(value)s") % said), closed(rest)])


def why_said(why: Why) -> str:
    """A reason that speaks of a whole node or question, as a sentence."""
    cadence = words.CADENCES_SHORT.get(str(why.value), "") if why.value else ""
    said = str(words.REASONS.get(why.code.value, why.code.value))
    if cadence:
        said = _("%(reason)s (%(cadence)s evidence)") % {"reason": said, "cadence": cadence}
    return closed(said)
