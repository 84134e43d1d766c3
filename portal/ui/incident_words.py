"""Words of incidents: where they stand, what broke, what an item was to them, how far an action has come."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

WEIGHTS: dict[str, Promise] = {
    "critical": pgettext_lazy("weight", "critical"),
    "major": pgettext_lazy("weight", "major"),
    "minor": pgettext_lazy("weight", "minor"),
}

STANDINGS: dict[str, Promise] = {
    "open": pgettext_lazy("incident", "open"),
    "stable": pgettext_lazy("incident", "stable"),
    "closed": pgettext_lazy("incident", "closed"),
    "merged": pgettext_lazy("incident", "merged"),
}

# The verdict whose colour a standing takes; its shape is its own.
STANDING_COLOURS = {"open": "fail", "stable": "accent", "closed": "na", "merged": "na"}

COMPONENTS: dict[str, Promise] = {
    "faulty_gpu": pgettext_lazy("component", "Faulty GPU"),
    "gpu_memory": pgettext_lazy("component", "GPU memory"),
    "gpu_sram": pgettext_lazy("component", "GPU SRAM"),
    "gpu_processor": pgettext_lazy("component", "GPU system processor"),
    "gpu_thermal": pgettext_lazy("component", "GPU cooling"),
    "silent_corruption": pgettext_lazy("component", "Silent data corruption"),
    "switch_or_cable": pgettext_lazy("component", "Switch or cable"),
    "nic": pgettext_lazy("component", "Network card"),
    "nccl_timeout": pgettext_lazy("component", "NCCL time-out"),
    "ssd": pgettext_lazy("component", "SSD"),
    "power_supply": pgettext_lazy("component", "Power supply"),
    "chassis": pgettext_lazy("component", "Chassis and room"),
    "io_board": pgettext_lazy("component", "IO board"),
    "cpu": pgettext_lazy("component", "CPU"),
    "system_memory": pgettext_lazy("component", "System memory"),
    "software_bug": pgettext_lazy("component", "Software bug"),
    "dependency": pgettext_lazy("component", "Dependency"),
    "host_maintenance": pgettext_lazy("component", "Host maintenance"),
    "ib_link": pgettext_lazy("component", "InfiniBand link"),
    "nvlink": pgettext_lazy("component", "NVLink"),
    "pcie": pgettext_lazy("component", "PCIe"),
    "filesystem": pgettext_lazy("component", "File system"),
    "host_setting": pgettext_lazy("component", "Host setting"),
    "nan_loss": pgettext_lazy("component", "Loss or NaN"),
    "hang": pgettext_lazy("component", "Hang"),
    "data": pgettext_lazy("component", "Data"),
    "operator_change": pgettext_lazy("component", "Change by people"),
    "unknown": pgettext_lazy("component", "Not known yet"),
}

RELATIONS: dict[str, Promise] = {
    "caught": pgettext_lazy("relation", "caught"),
    "should_have_caught": pgettext_lazy("relation", "should have caught"),
    "caused_false_alarm": pgettext_lazy("relation", "false alarm"),
    "related": pgettext_lazy("relation", "related"),
}
RELATION_COLOURS = {"caught": "pass", "should_have_caught": "fail", "caused_false_alarm": "warn", "related": "na"}

ACTION_KINDS: dict[str, Promise] = {
    "new_item": pgettext_lazy("action", "new item"),
    "threshold": pgettext_lazy("action", "threshold"),
    "procedure": pgettext_lazy("action", "procedure"),
    "hardware": pgettext_lazy("action", "hardware"),
}
ACTION_STATES: dict[str, Promise] = {
    "proposed": pgettext_lazy("action", "proposed"),
    "accepted": pgettext_lazy("action", "accepted"),
    "done": pgettext_lazy("action", "done, not verified"),
    "verified": pgettext_lazy("action", "verified"),
    "rejected": pgettext_lazy("action", "rejected"),
}
ACTION_COLOURS = {
    "proposed": "na", "accepted": "accent", "done": "warn", "verified": "pass", "rejected": "na",
}  # fmt: skip

EVENTS: dict[str, Promise] = {
    "opened": _("Detected"),
    "seen_again": _("Seen again"),
    "reopened": _("Opened again"),
    "noted": _("Noted"),
    "changed": _("Corrected"),
    "stable": _("Stable"),
    "closed": _("Closed"),
    "linked": _("Item linked"),
    "action": _("Corrective action"),
    "verified": _("Corrective action verified"),
    "file": _("File added"),
    "merged": _("Merged"),
}
# Symbol and colour of a line of the timeline.
EVENT_MARKS = {
    "opened": ("t-open", "fail"), "seen_again": ("t-open", "warn"), "reopened": ("t-open", "fail"),
    "noted": ("i-act", "accent"), "changed": ("i-act", "na"), "stable": ("t-stable", "pass"),
    "closed": ("t-closed", "pass"), "linked": ("r-related", "accent"), "action": ("a-accepted", "accent"),
    "verified": ("a-verified", "pass"), "file": ("i-act", "na"), "merged": ("t-merged", "na"),
}  # fmt: skip

OPENERS: dict[str, Promise] = {
    "person": _("a person"),
    "flip": _("an item that failed on a cleared or running run"),
    "breaker": _("an item that failed on very many nodes at once"),
    "alertmanager": _("Alertmanager"),
}
