"""Everything the portal stores. One module a subject; import from here."""

from checks.models.acts import BreakerTrip, Heartbeat, Outbox, RecheckRequest
from checks.models.catalog import CatalogVersion
from checks.models.clusters import Cluster, Membership, Node, Role
from checks.models.costs import (
    ActualCost,
    BaseRate,
    ClusterPrice,
    CostScenario,
    CurrencyRate,
    Estimate,
    PriceBook,
    PriceRow,
)
from checks.models.drift import Fingerprint, FingerprintChange, NodeFingerprint, SettingItem, SettingItemAct
from checks.models.history import Flip, Gap
from checks.models.ledger import LedgerAnchor, LedgerEntry, LedgerWatch
from checks.models.links import LinkSeat, LinkSide, LinkTrial
from checks.models.notices import Notice, NoticeMark
from checks.models.reports import Evidence, NodeMemory, Report, ReportReceipt, ValueRollup
from checks.models.runs import OVER, Run, RunEvidence, RunNode, RunStart, Stage, StartKind
from checks.models.signoff import (
    Attestation,
    AttestedFile,
    Delegation,
    DelegationEnd,
    Manifest,
    ManifestBlob,
    Meaning,
    Override,
    OverrideEnd,
    PinnedEvidence,
    PolicyApproval,
    PolicyVersion,
    Revocation,
    Signature,
    SignoffPackage,
    Waiver,
    WaiverApproval,
    WaiverEnd,
)
from checks.models.states import NodeItemState, NodeReadiness, ScopeState
from checks.models.tokens import Token, TokenKind
from checks.models.tools import ToolEvidence
from checks.models.windows import MaintenanceWindow, NodeClaim

__all__ = [
    "OVER",
    "ActualCost",
    "Attestation",
    "AttestedFile",
    "BaseRate",
    "BreakerTrip",
    "CatalogVersion",
    "Cluster",
    "ClusterPrice",
    "CostScenario",
    "CurrencyRate",
    "Delegation",
    "DelegationEnd",
    "Estimate",
    "Evidence",
    "Fingerprint",
    "FingerprintChange",
    "Flip",
    "Gap",
    "Heartbeat",
    "LedgerAnchor",
    "LedgerEntry",
    "LedgerWatch",
    "LinkSeat",
    "LinkSide",
    "LinkTrial",
    "MaintenanceWindow",
    "Manifest",
    "ManifestBlob",
    "Meaning",
    "Membership",
    "Node",
    "NodeClaim",
    "NodeFingerprint",
    "NodeItemState",
    "NodeMemory",
    "NodeReadiness",
    "Notice",
    "NoticeMark",
    "Outbox",
    "Override",
    "OverrideEnd",
    "PinnedEvidence",
    "PolicyApproval",
    "PolicyVersion",
    "PriceBook",
    "PriceRow",
    "RecheckRequest",
    "Report",
    "ReportReceipt",
    "Revocation",
    "Role",
    "Run",
    "RunEvidence",
    "RunNode",
    "RunStart",
    "ScopeState",
    "SettingItem",
    "SettingItemAct",
    "Signature",
    "SignoffPackage",
    "Stage",
    "StartKind",
    "Token",
    "TokenKind",
    "ToolEvidence",
    "ValueRollup",
    "Waiver",
    "WaiverApproval",
    "WaiverEnd",
]
