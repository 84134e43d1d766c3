"""The page of the portal's own state."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from checks.models import BreakerTrip
from checks.selectors.ledger_signs import CHAIN, IN_THE_DATABASE, LedgerSign
from checks.selectors.notice_signs import NoticeSign
from checks.selectors.signs import Sign, State
from checks.selectors.status import PortalStatus
from portal.ui import times, words

_VERDICTS = {State.OK: "pass", State.AMBER: "warn", State.RED: "fail"}


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the portal: its state, what it does, when it last lived or what it has to say instead."""

    name: str
    title: str
    does: str
    verdict: str
    word: str
    at: datetime | None
    figure: str = ""


@dataclass(frozen=True, slots=True)
class StatusPage:
    """Everything the template writes down."""

    verdict: str
    word: str
    sentence: str
    parts: tuple[Part, ...]
    trips: tuple[BreakerTrip, ...]

    @property
    def seen(self) -> tuple[object, ...]:
        """What the page's marker is made of: the signs themselves move all the time."""
        return (
            self.sentence,
            [(part.name, part.verdict, part.at and part.at.minute) for part in self.parts],
            len(self.trips),
        )


def status_page(status: PortalStatus, trips: Sequence[BreakerTrip]) -> StatusPage:
    """Collect the page."""
    parts = (
        *(_alive(sign, status.at) for sign in status.signs),
        _outbox(status),
        _partitions(status),
        *(_ledger(sign) for sign in status.ledger),
        *(_refusing(sign) for sign in status.notices),
        _reports(status),
    )
    bad = [part.title for part in parts if part.verdict == "fail"]
    late = [part.title for part in parts if part.verdict == "warn"]
    verdict = "fail" if bad else "warn" if late else "pass"
    answers = {"fail": _("No"), "warn": _("Mostly"), "pass": _("Yes")}
    return StatusPage(verdict, answers[verdict], _sentence(bad or late, verdict), parts, tuple(trips))


def _sentence(names: Sequence[str], verdict: str) -> str:
    if verdict == "pass":
        return _("Every part gave a sign of life in time.")
    listed = ", ".join(names)
    if verdict == "warn":
        return _("Late: %(parts)s.") % {"parts": listed}
    return _("Needs a hand: %(parts)s. The gate answers without them, from evidence and the clock.") % {"parts": listed}


def _alive(sign: Sign, at: datetime) -> Part:
    does = {
        "worker": _("sends notices, asks for re-checks, rolls values up"),
        "beat": _("starts what must happen by the clock"),
        "sweep": _("notes when a node went silent, and when it came back"),
    }
    lived = None if sign.age_s is None else at - timedelta(seconds=sign.age_s)
    return Part(
        sign.name, str(words.PARTS[sign.name]), does[sign.name], _VERDICTS[sign.state], _word(sign.state), lived
    )


def _outbox(status: PortalStatus) -> Part:
    figure = _("%(n)d unsent") % {"n": status.unsent}
    if status.unsent and status.oldest_unsent.age_s:
        figure += ", " + _("oldest %(age)s") % {"age": times.duration(status.oldest_unsent.age_s)}
    state = status.oldest_unsent.state
    return Part(
        "outbox", _("Outbox"), _("tasks on their way to the worker"), _VERDICTS[state], _word(state), None, figure
    )


def _partitions(status: PortalStatus) -> Part:
    until = status.partitions_until
    figure = _("until %(day)s") % {"day": times.absolute_time(until, now=status.at)} if until else _("none")
    does = _("room for the reports of the coming days; under two days ahead the portal takes itself out of service")
    return Part(
        "partitions", _("Partitions"), does, _VERDICTS[status.partitions], _word(status.partitions), None, figure
    )


def _ledger(sign: LedgerSign) -> Part:
    is_chain = sign.name == CHAIN
    title = _("Ledger") if is_chain else _("Anchor: %(place)s") % {"place": _place(sign.name)}
    does = (
        _("the chain of acts, walked each night and held against its anchors")
        if is_chain
        else _("knows the signed end of the ledger, each night")
    )
    figure = "" if sign.good_at else _("not yet")
    return Part(
        sign.name,
        title,
        sign.detail if sign.state is not State.OK and sign.detail else does,
        _VERDICTS[sign.state],
        _ledger_word(sign),
        sign.good_at,
        figure,
    )


def _refusing(sign: NoticeSign) -> Part:
    """A destination that did not take what people should be told."""
    title = _("Notices: %(place)s") % {"place": _("e-mail") if sign.place == "mail" else sign.place}
    counts = {"waiting": sign.waiting, "given_up": sign.given_up}
    figure = _("%(waiting)d waiting, %(given_up)d given up") % counts
    name = f"notices:{sign.place}"
    return Part(name, title, sign.error, _VERDICTS[sign.state], _("refused"), None, figure)


def _ledger_word(sign: LedgerSign) -> str:
    if sign.outcome in ("", "ok"):
        return _word(sign.state)
    return str(words.LEDGER[sign.outcome])


def _place(name: str) -> str:
    return _("the database itself") if name == IN_THE_DATABASE else name


def _reports(status: PortalStatus) -> Part:
    heard = {"heard": status.nodes_heard, "nodes": status.nodes}
    all_heard = status.nodes_heard == status.nodes
    figure = _("%(heard)d of %(nodes)d in 15 min") % heard
    word = words.VERDICTS["pass"] if all_heard else words.VERDICTS["warn"]
    return Part(
        "nodes",
        _("Nodes heard"),
        _("agents that reported lately"),
        "pass" if all_heard else "warn",
        str(word),
        None,
        figure,
    )


def _word(state: State) -> str:
    return {State.OK: _("alive"), State.AMBER: _("late"), State.RED: _("silent")}[state]
