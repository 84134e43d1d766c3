"""Which acts of the ledger people are told about; to whom and in which words, the portal decides elsewhere."""

from typing import Final

#: Acts that wait for somebody, or that somebody must not learn by chance.
TOLD: Final = frozenset(
    {
        "stage_moved",
        "signed",
        "signature_revoked",
        "waiver_asked",
        "waiver_approved",
        "waiver_ended",
        "gate_forced_open",
        "override_ended",
        "policy_proposed",
        "policy_approved",
        "delegated",
        "delegation_ended",
        "role_granted",
        "breaker_tripped",
        "enrolment_refused",
        "restored",
    }
)
