"""Words that pages use for verdicts, roles, layers, cadences and reasons, in the reader's language."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from checks.domain.verdicts import ROLL_UP_ORDER
from checks.models import Stage

VERDICTS: dict[str, Promise] = {
    "pass": pgettext_lazy("verdict", "pass"),
    "warn": pgettext_lazy("verdict", "warn"),
    "fail": pgettext_lazy("verdict", "fail"),
    "unknown": pgettext_lazy("verdict", "unknown"),
    "stale": pgettext_lazy("verdict", "stale"),
    "na": pgettext_lazy("verdict", "n/a"),
    "waived": pgettext_lazy("verdict", "waived"),
}

# The order of every roll-up and list.
WORST_FIRST = tuple(verdict.value for verdict in ROLL_UP_ORDER)

DECISIONS: dict[str, Promise] = {
    "ready": pgettext_lazy("decision", "ready"),
    "not_ready": pgettext_lazy("decision", "not ready"),
    "unknown": pgettext_lazy("decision", "cannot tell"),
}

# The answer to "may a job start?", as large as a page can say it.
ANSWERS: dict[str, Promise] = {"ready": _("Yes"), "not_ready": _("Not yet"), "unknown": _("Cannot tell")}

# The shape that stands beside a decision.
DECISION_VERDICTS = {"ready": "pass", "not_ready": "fail", "unknown": "unknown"}

LAYERS: dict[str, Promise] = {
    "physical": pgettext_lazy("layer", "Physical"),
    "system": pgettext_lazy("layer", "System"),
    "framework": pgettext_lazy("layer", "Framework"),
    "data": pgettext_lazy("layer", "Data"),
    "operations": pgettext_lazy("layer", "Operations"),
}

FLOWS: dict[str, Promise] = {
    "data": pgettext_lazy("flow", "data flow"),
    "compute": pgettext_lazy("flow", "compute flow"),
    "communication": pgettext_lazy("flow", "communication flow"),
    "storage": pgettext_lazy("flow", "storage flow"),
    "all": pgettext_lazy("flow", "all flows"),
}

OWNERS: dict[str, Promise] = {
    "hardware": _("Hardware engineer"),
    "platform": _("AI platform engineer"),
    "data": _("Data engineer"),
    "user": _("Owner of the run"),
}

SEVERITIES: dict[str, Promise] = {"blocker": _("blocker"), "warning": _("warning only")}

CADENCES: dict[str, Promise] = {
    "tick": _("each tick"),
    "daily": _("daily"),
    "offline": _("offline, in a window"),
    "attested": _("attested by a person"),
    "run": _("for each run"),
    "start": _("at each start"),
}

CADENCES_SHORT: dict[str, Promise] = {
    "tick": pgettext_lazy("cadence", "tick"),
    "daily": pgettext_lazy("cadence", "daily"),
    "offline": pgettext_lazy("cadence", "offline"),
    "attested": pgettext_lazy("cadence", "attested"),
    "run": pgettext_lazy("cadence", "a run"),
    "start": pgettext_lazy("cadence", "start"),
}

OWNERS_SHORT: dict[str, Promise] = {
    "hardware": pgettext_lazy("owner", "Hardware"),
    "platform": pgettext_lazy("owner", "Platform"),
    "data": pgettext_lazy("owner", "Data"),
    "user": pgettext_lazy("owner", "Run"),
}

NODE_ANSWERS: dict[str, Promise] = {
    "ready": pgettext_lazy("node answer", "Yes"),
    "not_ready": pgettext_lazy("node answer", "No"),
    "unknown": pgettext_lazy("node answer", "Cannot tell"),
}

# States of a layer's signatures. None of them is a verdict, and none but *signed* opens anything.
SIGN_STATES: dict[str, Promise] = {
    "unsigned": pgettext_lazy("signatures", "unsigned"),
    "half": pgettext_lazy("signatures", "half signed"),
    "signed": pgettext_lazy("signatures", "signed"),
    "outdated": pgettext_lazy("signatures", "outdated"),
    "expired": pgettext_lazy("signatures", "expired"),
    "revoked": pgettext_lazy("signatures", "revoked"),
}

ROLES: dict[str, Promise] = {
    "viewer": pgettext_lazy("role", "viewer"),
    "hardware": pgettext_lazy("role", "hardware engineer"),
    "platform": pgettext_lazy("role", "AI platform engineer"),
    "data": pgettext_lazy("role", "data engineer"),
    "lead": pgettext_lazy("role", "lead"),
    "admin": pgettext_lazy("role", "administrator"),
}

STAGES: dict[str, Promise] = {stage.value: stage.label for stage in Stage}

# Acts of the ledger.
ACTS: dict[str, Promise] = {
    "run_created": pgettext_lazy("act", "planned the run"),
    "run_edited": pgettext_lazy("act", "changed the run"),
    "pool_set": pgettext_lazy("act", "changed its nodes"),
    "stage_moved": pgettext_lazy("act", "moved the run on"),
    "signed": pgettext_lazy("act", "signed"),
    "signature_revoked": pgettext_lazy("act", "revoked a signature"),
    "waiver_asked": pgettext_lazy("act", "asked for a waiver"),
    "waiver_approved": pgettext_lazy("act", "agreed to a waiver"),
    "waiver_ended": pgettext_lazy("act", "ended a waiver"),
    "gate_forced_open": pgettext_lazy("act", "forced the gate open"),
    "override_ended": pgettext_lazy("act", "ended the override"),
    "attested": pgettext_lazy("act", "stated a result"),
    "run_measured": pgettext_lazy("act", "measured the run"),
    "rejudged": pgettext_lazy("act", "had an item judged again"),
    "evidence_uploaded": pgettext_lazy("act", "brought what a tool measured"),
    "run_started": pgettext_lazy("act", "told that it started"),
    "run_restarted": pgettext_lazy("act", "told that it came back"),
    "run_node_replaced": pgettext_lazy("act", "put a spare in"),
    "overrides_changed": pgettext_lazy("act", "changed thresholds"),
    "threshold_proposed": pgettext_lazy("act", "proposed a threshold"),
    "threshold_accepted": pgettext_lazy("act", "accepted a threshold"),
    "profile_changed": pgettext_lazy("act", "changed the hardware profile"),
    "node_profile_changed": pgettext_lazy("act", "changed a node's hardware profile"),
    "training_env_changed": pgettext_lazy("act", "changed the training environment"),
    "subject_retired": pgettext_lazy("act", "took a part out of the checks"),
    "delegated": pgettext_lazy("act", "delegated a signature"),
    "delegation_ended": pgettext_lazy("act", "ended a delegation"),
    "policy_proposed": pgettext_lazy("act", "proposed a policy"),
    "policy_approved": pgettext_lazy("act", "put a policy in force"),
    "scenario_saved": pgettext_lazy("act", "kept a cost scenario"),
    "estimate_frozen": pgettext_lazy("act", "froze an estimate"),
    "bill_read": pgettext_lazy("act", "read a bill in"),
    "cluster_priced": pgettext_lazy("act", "said what a GPU hour costs"),
}

# What a signature says of its signer, as short as a line under a name allows.
MEANINGS: dict[str, Promise] = {
    "performed": pgettext_lazy("signature", "performed"),
    "reviewed": pgettext_lazy("signature", "reviewed"),
    "responsible": pgettext_lazy("signature", "accepts responsibility"),
}

CAUSES: dict[str, Promise] = {
    "report": _("by a report"),
    "rejudge": _("judged again under other rules"),
    "person": _("by a person"),
}

TROUBLES: dict[str, Promise] = {
    "hardware_changed": _(
        "Another serial stands where a known one was. Its verdicts stay unknown until somebody confirms the machine."
    ),
    "boot_conflict": _(
        "Reports of two different boots alternate under one token: two machines may share it. "
        "Find the second one and enrol it under its own name, then confirm this one."
    ),
}

PARTS: dict[str, Promise] = {"worker": _("Worker"), "beat": _("Beat"), "sweep": _("Sweep")}

LEDGER: dict[str, Promise] = {
    "broken": _("changed"),
    "back": _("rolled back"),
    "unclear": _("cannot be told"),
    "failed": _("not told"),
}

REASONS: dict[str, Promise] = {
    "never_measured": _("never measured"),
    "not_reported": _("missing from the last full report"),
    "not_measured": _("tried, but nothing came back"),
    "missing": _("a needed tool or file is missing"),
    "hung": _("the tool hung and was stopped"),
    "denied": _("the agent was not allowed to read it"),
    "unreadable": _("the answer could not be understood"),
    "not_captured": _("the capture does not hold it"),
    "error": _("the probe failed"),
    "not_loaded": _("not yet proved under load"),
    "not_judged": _("not judged at the moment"),
    "no_threshold": _("no threshold for this hardware"),
    "unit_mismatch": _("value and threshold do not have the same unit"),
    "criterion": _("a criterion is missed"),
    "rejudging": _("rules changed, being judged again"),
    "not_measured_under_version": _("not measured under this version of the item"),
    "hardware_changed": _("hardware changed, to be confirmed"),
    "nothing_proved": _("nothing proved yet"),
    "one_boot": _("seen good under one boot only"),
    "not_uniform": _("not the same on all nodes"),
    "boot_conflict": _("two machines report under one name"),
    "replayed": _("replayed from a capture"),
    "measuring": _("taken by its agent, to be measured"),
    "no_nodes": _("no node was asked about"),
    "unknown_node": _("not enrolled here"),
    "run_required": _("a run must be named"),
    "unsigned": _("signature missing"),
    "half_signed": _("one signature of several missing"),
    "outdated": _("what was signed changed"),
    "outdated_node": _("changed since it was signed"),
    "expired": _("a signature has ended"),
    "revoked": _("a signature was revoked"),
    "waived": _("accepted by two people for a while"),
    "override_ended": _("the gate is no longer forced open"),
    "not_in_pool": _("not a node of the run's pool"),
    "too_few_nodes": _("too few nodes are ready"),
    "run_over": _("the run is over"),
    "not_started": _("the run has not started"),
    "restart_over": _("the time in which it may come back is over"),
    "identity_changed": _("not what was signed"),
    "unsettled": _("not yet settled"),
    "suspect_check": _("failed on so many nodes at once that the check itself is in doubt"),
    "stale": _("measured too long ago"),
}

# Reasons that speak of whole nodes or of several items at once, as headings and as what to do.
WHOLE_TITLES: dict[str, Promise] = {
    "stale": _("The agent is silent"),
    "never_measured": _("Not measured yet"),
    "not_reported": _("Missing from the report"),
    "not_measured": _("Nothing came back"),
    "missing": _("A tool or file is missing"),
    "hung": _("A tool hangs"),
    "denied": _("Access denied"),
    "unreadable": _("An answer that nobody understands"),
    "not_captured": _("Not in the capture"),
    "not_judged": _("Not judged at the moment"),
    "not_loaded": _("Not yet proved under load"),
    "no_threshold": _("No threshold for this hardware"),
    "not_measured_under_version": _("Not measured under this version"),
    "one_boot": _("Seen under one boot only"),
    "error": _("A probe fails"),
    "rejudging": _("Being judged by new rules"),
    "hardware_changed": _("Hardware changed"),
    "boot_conflict": _("Two machines under one name"),
    "nothing_proved": _("Nothing proved"),
    "unknown_node": _("Not enrolled"),
    "unsettled": _("Not yet settled"),
    "no_nodes": _("No node"),
}

WHOLE_REMEDIES: dict[str, Promise] = {
    "stale": _("Find out why the agent no longer reports: run `readiness-agent doctor` there."),
    "never_measured": _("Start the agent, or wait for its first full report."),
    "not_reported": _("See whether the agent is up to date: run `readiness-agent doctor` there."),
    "not_measured": _("Run `readiness-agent check` there and look at what it says."),
    "missing": _("Install what is missing: `readiness-agent doctor` names it."),
    "hung": _("Look at the driver first: `dmesg` and the tool by hand; a reboot frees what hangs in the kernel."),
    "denied": _("Let the agent run as root, or give its user the right to read."),
    "unreadable": _("Update the agent, and report the raw evidence if that does not help."),
    "not_captured": _("Take a new capture with `readiness-agent capture`, as root."),
    "measuring": _("Wait until it has been measured, or take other nodes."),
    "not_judged": _("Wait until what stands in the way has ended, then measure again."),
    "no_threshold": _("Give the node the hardware profile that fits it, or the cluster a threshold of its own."),
    "not_measured_under_version": _("Wait for the agent's next report, or ask for a re-check."),
    "one_boot": _("Write it to a file that is read at boot, or wait for the next boot."),
    "error": _("Update the agent, and report the raw evidence if that does not help."),
    "rejudging": _("Wait a few seconds."),
    "hardware_changed": _("Confirm the changed hardware, or put the old part back."),
    "boot_conflict": _("Find the second machine that reports under this name, and enrol it under its own."),
    "nothing_proved": _("Give the node the hardware profile that fits it."),
    "unknown_node": _("Enrol it, or correct its name in the question."),
    "unsettled": _("Wait for the next reports: it must say the same several times in a row."),
    "outdated_node": _("Leave the node out, or sign again."),
    "too_few_nodes": _("Mend nodes of the pool, or add some to it and sign again."),
    "not_in_pool": _("Take nodes of the run's pool."),
    "not_started": _("Tell the portal that the run has started."),
    "restart_over": _("Ask for a start, with signatures of now."),
    "override_ended": _("Mend what is new, or have the gate forced open again."),
    "no_nodes": _("Enrol the nodes of this cluster."),
}

OPERATORS: dict[str, str] = {"eq": "=", "ne": "≠", "lt": "<", "le": "≤", "gt": ">", "ge": "≥"}

UNITS: dict[str, str | Promise] = {
    "packets": pgettext_lazy("unit", "packets"),
    "lanes": pgettext_lazy("unit", "lanes"),
    "percent": "%",
    "celsius": "°C",
    "watts": "W",
    "volts": "V",
    "microseconds": "µs",
    "milliseconds": "ms",
    "seconds": "s",
    "bytes": "B",
    "per_hour": "/h",
}
# Units that say nothing beside a value.
SILENT_UNITS = frozenset({"count", "text", "bool", "ratio"})
