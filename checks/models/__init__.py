"""Everything the portal stores. One module a subject; import from here."""

from checks.models.acts import BreakerTrip, Heartbeat, LedgerEntry, Outbox, RecheckRequest
from checks.models.catalog import CatalogVersion
from checks.models.clusters import Cluster, Membership, Node, Role
from checks.models.history import Flip, Gap
from checks.models.reports import Evidence, NodeMemory, Report, ReportReceipt, ValueRollup
from checks.models.states import NodeItemState, NodeReadiness, ScopeState
from checks.models.tokens import Token, TokenKind

__all__ = [
    "BreakerTrip",
    "CatalogVersion",
    "Cluster",
    "Evidence",
    "Flip",
    "Gap",
    "Heartbeat",
    "LedgerEntry",
    "Membership",
    "Node",
    "NodeItemState",
    "NodeMemory",
    "NodeReadiness",
    "Outbox",
    "RecheckRequest",
    "Report",
    "ReportReceipt",
    "Role",
    "ScopeState",
    "Token",
    "TokenKind",
    "ValueRollup",
]
