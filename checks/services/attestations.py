"""What a person states about an attested item: judged like any fact, settled at once, with evidence and an end."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction
from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError
from checks.domain.facts import Fact
from checks.domain.freshness import stale_after
from checks.domain.items import Item
from checks.domain.profiles import Ruleset
from checks.domain.units import Scalar, fits
from checks.domain.verdicts import NODE_HELD, Scope, Source, Verdict
from checks.domain.writing import is_prose, is_storable
from checks.models import Attestation, AttestedFile, Cluster, Evidence, Node, Run
from checks.selectors.pages_access import ACTING_ROLES
from checks.selectors.rules import ruleset_for
from checks.selectors.shared_rows import subject_of
from checks.services.attested_files import SentFile, keep_files
from checks.services.evidence import digest_of
from checks.services.judging import judge_statement
from checks.services.ledger import write_entry
from checks.services.node_rows import StateRow, flip_between, new_row
from checks.services.node_store import Judged, load_all, lock_node, write_judged
from checks.services.permissions import require_role
from checks.services.scope_rows import as_state, lock_scope_row, write_back
from checks.services.summary import summarise

_OF_A_RUN: Final = frozenset({Scope.RUN, Scope.LINK, Scope.ARTEFACT, Scope.DATASET})
_LONGEST_STATEMENT: Final = 4000


class InvalidAttestation(CountersignError):
    """The statement cannot be taken as it is; the sentence says what is missing."""

    code = "invalid_attestation"


@transaction.atomic
def attest(
    *,
    cluster: Cluster,
    run: Run | None,
    node: Node | None,
    item: str,
    subject: str,
    facts: Mapping[str, Scalar],
    statement: str,
    files: Iterable[SentFile],
    valid_until: datetime,
    by: Any,
    now: datetime,
) -> Attestation:
    """State *facts* about an attested item until *valid_until*, and judge them at once.

    *node* for what a node holds, *run* for what belongs to a run or its dataset; *subject* only names a part of a node.
    Whoever states it is a contributor of the packages that hold it.

    Raises:
        MayNot: *by* has no role in the cluster that acts.
        InvalidAttestation, FileRefused: with what to change; nothing is stored.
    """
    require_role(by, cluster, ACTING_ROLES)
    ruleset = ruleset_for(cluster, node)
    described = _item(ruleset, item)
    subject = _subject(ruleset, described, cluster, run, node, subject)
    _check(described, facts, statement, valid_until, now)
    kept = keep_files(files)
    stated = Attestation.objects.create(
        cluster=cluster, run=run, node=node, item=item, subject=subject, facts=dict(facts),
        statement=statement.strip(), by=by, at=now, valid_until=valid_until,
    )  # fmt: skip
    AttestedFile.objects.bulk_create(
        AttestedFile(attestation=stated, digest=one.digest, name=one.name, media_type=one.media_type, size=one.size)
        for one in kept
    )
    raw = _judge(stated, ruleset, described, now)
    files_told = [{"name": one.name, "digest": one.digest} for one in kept]
    write_entry(
        what="attested", target=_target(stated), who=by, cluster=cluster, reason=stated.statement, now=now,
        data={"item": item, "subject": subject, "facts": dict(facts), "verdict": raw, "valid_until": valid_until,
              "files": files_told},
    )  # fmt: skip
    return stated


def _item(ruleset: Ruleset, key: str) -> Item:
    item = ruleset.items.get(key)
    if item is None or item.source is not Source.ATTESTED or not ruleset.applies(key):
        raise InvalidAttestation(_("%(item)s is no item that a person states here.") % {"item": key})
    return item


def _subject(ruleset: Ruleset, item: Item, cluster: Cluster, run: Run | None, node: Node | None, subject: str) -> str:
    """The row that the statement is about; checked, because a statement about another row would never be asked for."""
    if item.scope in NODE_HELD:
        if node is None or node.cluster_id != cluster.pk or subject not in ruleset.subjects(item.key):
            raise InvalidAttestation(
                _("Name the node, and the part of it, that %(item)s is about.") % {"item": item.key}
            )
        return subject
    if item.scope not in _OF_A_RUN:
        return ""
    if run is None or run.cluster_id != cluster.pk:
        raise InvalidAttestation(_("Name the run that %(item)s is about.") % {"item": item.key})
    if item.scope is Scope.DATASET and not run.dataset:
        raise InvalidAttestation(_("%(run)s names no dataset; write it into the run first.") % {"run": run.slug})
    return subject_of(item.scope, run)


def _check(item: Item, facts: Mapping[str, Scalar], statement: str, valid_until: datetime, now: datetime) -> None:
    if not statement.strip() or len(statement) > _LONGEST_STATEMENT or not is_prose(statement):
        raise InvalidAttestation(_("Say what you looked at and found, in at most 4000 characters."))
    for name, unit in item.facts.items():
        if name not in facts or not fits(facts[name], unit):
            said = _("State %(fact)s in %(unit)s; %(item)s is judged by it.")
            raise InvalidAttestation(said % {"fact": name, "unit": unit.value, "item": item.key})
    if strange := sorted(set(facts) - set(item.facts)):
        raise InvalidAttestation(_("%(item)s has no fact %(fact)s.") % {"item": item.key, "fact": strange[0]})
    if not is_storable(valid_until):
        raise InvalidAttestation(_("Choose times from the year 2000 to the year 2199."))
    longest = stale_after(item.cadence, timedelta(0), item)
    if valid_until <= now or (longest is not None and valid_until > now + longest):
        days = (longest or timedelta(0)).days
        raise InvalidAttestation(_("A statement of this kind holds for at most %(days)d days.") % {"days": days})


def _judge(stated: Attestation, ruleset: Ruleset, item: Item, now: datetime) -> str:
    """Write the row behind the statement; returns its raw verdict."""
    said = [
        Fact(item.key, stated.subject, name, value, item.facts[name].value, now)
        for name, value in stated.facts.items()
    ]  # fmt: skip
    digest = digest_of(stated.statement)
    Evidence.objects.bulk_create(
        [Evidence(digest=digest, probe="attested", text=stated.statement, stored_at=now)], ignore_conflicts=True
    )
    if stated.node is not None:
        return _judge_node(stated, ruleset, item, said, digest, now)
    row = lock_scope_row(stated.cluster, item, stated.subject, now=now)
    return write_back(row, _judged(as_state(row), stated, item, said, digest, now)).raw


def _judged(
    before: StateRow, stated: Attestation, item: Item, said: list[Fact], digest: str, now: datetime
) -> StateRow:
    gap = timedelta(seconds=stated.cluster.min_settle_gap_s)
    after = judge_statement(before, item, said, min_gap=gap, until=stated.valid_until, now=now)
    after.evidence = digest
    return after


def _judge_node(stated: Attestation, ruleset: Ruleset, item: Item, said: list[Fact], digest: str, now: datetime) -> str:
    """The same for a row that a node holds, under the node's lock and with its summary."""
    assert stated.node_id is not None  # noqa: S101  (the caller looked)
    locked = lock_node(stated.node_id)
    if locked is None or Node.objects.filter(pk=stated.node_id, retired_at__isnull=False).exists():
        raise InvalidAttestation(_("That node was taken out; nothing is stated about it any more."))
    known = load_all(locked)
    rows = {row.key: row for row in known.states}
    key = (item.key, stated.subject)
    before = rows.get(key) or new_row(ruleset, item.key, stated.subject, now=now)
    rows[key] = after = _judged(before, stated, item, said, digest, now)
    flip = flip_between(before, after, cause="person")
    write_judged(
        node_id=locked.node_id,
        cluster_id=locked.cluster_id,
        judged=Judged([after], [flip] if flip is not None else [], []),
        readiness=summarise(rows.values(), ruleset, before=known.readiness),
        outbox=[],
        now=now,
    )
    return Verdict(after.raw).value


def _target(stated: Attestation) -> str:
    about = stated.node.hostname if stated.node else stated.run.slug if stated.run else stated.cluster.slug
    return f"{about}/{stated.item}"
