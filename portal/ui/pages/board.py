"""The board: may a job start, what stops it, who must act, and what changed since the reader looked last."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from checks.domain.readiness import Answer
from checks.domain.verdicts import Decision
from checks.models import Cluster
from checks.selectors.pages_access import ClusterAccess
from checks.selectors.pages_history import Since, since
from checks.selectors.pages_people import people_by_role
from checks.selectors.pages_summary import Reports, failing_hosts, reports_by_cluster
from portal.accounts.models import User
from portal.ui.answers import Counted, answer_of, cluster_sentence, count_answer
from portal.ui.events import Event, newest, of_enrolled, of_gap, of_groups
from portal.ui.pages.blocked import Blocked, blocked_nodes
from portal.ui.pages.waiting import Waiting, waiting_for
from portal.ui.rules import rules_of
from portal.ui.stops import Act, Stop, acts_of, stops_of

# Of changes as many as there is room for beside the tables, within these bounds.
FEWEST_EVENTS, MOST_EVENTS = 4, 12
# More are read than shown: many of them share a line.
CHANGES = 100
_URGENCY = {Decision.NOT_READY: 0, Decision.UNKNOWN: 1, Decision.READY: 2}


@dataclass(frozen=True, slots=True)
class ClusterAnswer:
    """The gate's answer for all nodes of one cluster."""

    cluster: Cluster
    answer: Answer
    decision: str
    counted: Counted
    sentence: str
    reports: Reports
    may_enrol: bool

    @property
    def holds_s(self) -> int:
        """For how long the answer holds at most."""
        return self.answer.ttl_s


@dataclass(frozen=True, slots=True)
class SincePart:
    """What changed since the last visit, or in the last day."""

    start: datetime
    is_visit: bool
    events: tuple[Event, ...]
    more: int


@dataclass(frozen=True, slots=True)
class BoardPage:
    """Everything the template writes down."""

    clusters: tuple[ClusterAnswer, ...]
    focus: ClusterAnswer | None
    stops: tuple[Stop, ...]
    acts: tuple[Act, ...]
    since: SincePart
    waiting: tuple[Waiting, ...]
    blocked: Blocked | None

    @property
    def reasons_shown(self) -> int:
        """How many of the reasons the list below covers."""
        return len(self.focus.answer.reasons) if self.focus else 0

    @property
    def seen(self) -> tuple[object, ...]:
        """What the page's marker is made of."""
        minutes = [
            each.reports.newest and each.reports.newest.replace(second=0, microsecond=0) for each in self.clusters
        ]
        said = [(each.cluster.slug, each.decision, each.sentence, each.counted) for each in self.clusters]
        return (
            self.focus and self.focus.cluster.slug,
            said,
            minutes,
            self.stops,
            self.since.events,
            self.since.more,
            self.waiting,
            self.blocked,
        )


def board_page(
    *, user: User, mine: Sequence[ClusterAccess], asked: str, start: datetime, is_visit: bool, now: datetime
) -> BoardPage:
    """Collect the board; *asked* names the cluster in focus, else it is the one that needs somebody most."""
    answers = cluster_answers(user, mine, now=now)
    urgent = sorted(answers, key=lambda each: (_URGENCY[each.answer.decision], each.counted.asked == 0))
    focus = next((each for each in answers if each.cluster.slug == asked), next(iter(urgent), None))
    stops = stops_of(focus.answer, cluster=focus.cluster, rules=rules_of(focus.cluster)) if focus else ()
    roles = next((access.roles for access in mine if focus and access.cluster == focus.cluster), frozenset())
    blocked = blocked_nodes(focus.cluster, focus.answer.nodes_waiting, roles=roles) if focus else None
    if blocked:
        stops = tuple(replace(stop, usd_per_hour=blocked.usd_per_hour(stop.nodes)) for stop in stops)
    acts = acts_of(stops, roles=roles, people=people_by_role(focus.cluster) if focus else {})
    return BoardPage(
        clusters=answers,
        focus=focus,
        stops=stops,
        acts=acts,
        since=_since([access.cluster for access in mine], start, is_visit, limit=_room(stops, acts, answers)),
        waiting=waiting_for(user),
        blocked=blocked,
    )


def _room(stops: Sequence[Stop], acts: Sequence[Act], clusters: Sequence[ClusterAnswer]) -> int:
    """How many changes fit below "who must act", so that both columns of the board end together; heights in rem."""
    beside = 6.0 + 3.0 * len(stops) + 6.5 + 2.0 * len(clusters)
    above = 4.0 + sum(2.8 + 2.6 * len(act.todos) for act in acts)
    return min(MOST_EVENTS, max(FEWEST_EVENTS, int((beside - above - 4.5) / 3.3)))


def cluster_answers(user: User, mine: Sequence[ClusterAccess], *, now: datetime) -> tuple[ClusterAnswer, ...]:
    """Each cluster's answer: two statements each for the gate's, two more for all of them together."""
    clusters = [access.cluster for access in mine]
    reports, failing = reports_by_cluster(clusters), failing_hosts(clusters, now=now)
    return tuple(
        _answer(
            access,
            answer_of(user, access.cluster, None, now=now),
            failing[access.cluster.pk],
            reports.get(access.cluster.pk, Reports()),
        )
        for access in mine
    )


def _answer(access: ClusterAccess, answer: Answer, failing: frozenset[str], reports: Reports) -> ClusterAnswer:
    counted = count_answer(answer, failing)
    return ClusterAnswer(
        cluster=access.cluster,
        answer=answer,
        decision=answer.decision.value,
        counted=counted,
        sentence=cluster_sentence(answer, counted),
        reports=reports,
        may_enrol=access.may_enrol,
    )


def _since(clusters: Sequence[Cluster], start: datetime, is_visit: bool, *, limit: int) -> SincePart:
    by_id = {cluster.pk: cluster for cluster in clusters}
    changed: Since = since(clusters, start, limit=CHANGES)
    events = of_groups(by_id, changed.flips)
    events += [of_gap(by_id[gap.node.cluster_id], gap) for gap in changed.gaps]
    events += [of_enrolled(by_id[enrolled.cluster_id], enrolled) for enrolled in changed.enrolled]
    return SincePart(start, is_visit, newest(events, limit), changed.more + max(0, len(events) - limit))
