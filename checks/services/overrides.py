"""A gate forced open by one person: loudly, for at most a day, past exactly what stands in the way now."""

from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction
from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError
from checks.domain.forcing import Blocker, name_of
from checks.domain.verdicts import Purpose
from checks.domain.writing import is_line
from checks.models import OVER, Override, OverrideEnd, Role, Run, Stage
from checks.selectors.gate_context import context_of_cluster
from checks.selectors.run_gate import ask_run
from checks.selectors.runs import LEADING_ROLES, pool_of
from checks.services.ledger import write_entry
from checks.services.permissions import require_reason, require_role
from checks.services.proofs import Proof, require_fresh
from checks.services.runs import lock_run

LONGEST: Final = timedelta(hours=24)
_LONGEST_TICKET: Final = 150


class OverrideRefused(CountersignError):
    """The gate cannot be forced open like that; the sentence says what to change."""

    code = "override_refused"


class BlockersMoved(CountersignError):
    """What closes the gate is not what the person saw, so nobody has accepted it."""

    code = "blockers_changed"
    status = 409


@transaction.atomic
def force_open(
    *,
    run: Run,
    by: Any,
    reason: str,
    ticket: str,
    until: datetime,
    proof: Proof,
    now: datetime,
    shown: str | None = None,
) -> Override:
    """Open the gate of *run* past everything that closes it now; a new blocker or another pool closes it again.

    *shown* names the blockers that a page listed (`checks.domain.forcing.name_of`); None where there was no page.

    It is no signature and never looks like one: the gate answers with the basis *override*, and people are told.

    Raises:
        ProofTooOld, ReasonMissing.
        MayNot: *by* neither leads nor administers the cluster.
        OverrideRefused: no ticket, longer than a day, the run is over, or nothing that could be accepted is in the way.
        BlockersMoved: something else is in the way than was shown.
    """
    require_fresh(proof, now=now)
    reason, ticket = require_reason(reason), ticket.strip()
    run = lock_run(run)
    held = require_role(by, run.cluster, LEADING_ROLES)
    _check(run, ticket, until, now)
    accepted = blockers_now(run, now=now)
    if not accepted:
        raise OverrideRefused(_("Nothing is in the way that could be accepted; the gate needs no force."))
    if shown is not None and shown != name_of(accepted):
        raise BlockersMoved(_("Something else is in the way now than the page showed; look at it again."))
    forced = Override.objects.create(
        run=run, by=by, role=Role.LEAD if Role.LEAD in held else Role.ADMIN, at=now, until=until, reason=reason,
        ticket=ticket, accepted=[list(one) for one in accepted],
        pool=[str(node.pk) for node in pool_of(run) if node.retired_at is None],
    )  # fmt: skip
    _write("gate_forced_open", forced, by, reason, now)
    return forced


@transaction.atomic
def end_override(*, override: Override, by: Any, reason: str, proof: Proof, now: datetime) -> OverrideEnd:
    """Take an override back: the gate decides on its merits from this second on.

    Raises:
        ProofTooOld, ReasonMissing.
        MayNot: *by* neither leads nor administers the cluster.
        OverrideRefused: it is over already.
    """
    require_fresh(proof, now=now)
    reason = require_reason(reason)
    run = lock_run(override.run)
    require_role(by, run.cluster, LEADING_ROLES)
    if override.until < now or OverrideEnd.objects.filter(override=override).exists():
        raise OverrideRefused(_("This override is over already."))
    end = OverrideEnd.objects.create(override=override, by=by, at=now, reason=reason)
    _write("override_ended", override, by, reason, now)
    return end


def blockers_now(run: Run, *, now: datetime) -> tuple[Blocker, ...]:
    """What an override of the run would accept: of a start, or of a restart where it runs."""
    purpose = Purpose.RESTART if run.stage == Stage.RUNNING else Purpose.START
    context = context_of_cluster(run.cluster, now=now)
    return ask_run(context, run=run.slug, nodes=None, purpose=purpose, now=now, every=True).blockers()


def _check(run: Run, ticket: str, until: datetime, now: datetime) -> None:
    if run.stage in OVER:
        raise OverrideRefused(_("%(run)s is over; its gate stays closed.") % {"run": run.slug})
    if not ticket or len(ticket) > _LONGEST_TICKET or not is_line(ticket):
        raise OverrideRefused(_("Name the ticket under which this is followed up."))
    if not now < until <= now + LONGEST:
        raise OverrideRefused(_("An override lasts at most 24 hours; choose an end within them."))


def _write(what: str, override: Override, by: Any, reason: str, now: datetime) -> None:
    run = override.run
    data = {
        "override": override.pk, "ticket": override.ticket, "until": override.until, "role": override.role,
        "accepted": override.accepted,
    }  # fmt: skip
    write_entry(what=what, target=run.slug, who=by, cluster=run.cluster, reason=reason, now=now, data=data)
