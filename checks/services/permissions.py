"""Who may do what about a run: asked inside the transaction of the act, of the roles held now."""

from collections.abc import Collection
from typing import Any

from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError
from checks.models import Cluster, Role
from checks.selectors.roles import roles_of


class MayNot(CountersignError):
    """The person is known here, and may not do that."""

    code = "may_not"
    status = 403


class ReasonMissing(CountersignError):
    """The act needs a reason, which stands in the ledger."""

    code = "reason_missing"

    def __init__(self) -> None:
        super().__init__(_("Say why: the reason stands in the ledger."))


def require_role(by: Any, cluster: Cluster, allowed: Collection[str]) -> frozenset[str]:
    """The roles among *allowed* that *by* holds in *cluster* now.

    Raises:
        MayNot: none of them, or the cluster is closed.
    """
    if cluster.closed_at is not None:
        raise MayNot(_("%(cluster)s is closed; nothing of it changes any more.") % {"cluster": cluster.slug})
    held = roles_of(by, cluster) & frozenset(allowed)
    if not held:
        names = ", ".join(str(role.label) for role in Role if role in allowed)
        said = _("Only these may do that in %(cluster)s: %(roles)s. Ask an administrator for a role.")
        raise MayNot(said % {"cluster": cluster.slug, "roles": names})
    return held


def require_reason(reason: str) -> str:
    """*reason* without the space around it.

    Raises:
        ReasonMissing: nothing is left.
    """
    if not reason.strip():
        raise ReasonMissing
    return reason.strip()
