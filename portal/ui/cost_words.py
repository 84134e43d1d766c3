"""Words of the pages about costs: lines, parts, ways that bytes take, and what is wrong with an input."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

LINES: Mapping[str, Promise] = {
    "training": _("Training"),
    "checkpoints.writes": _("Writing checkpoints"),
    "interruptions.acquire": _("Waiting for a machine"),
    "interruptions.boot": _("Booting it"),
    "interruptions.pull": _("Pulling the image"),
    "interruptions.refill": _("Refilling the data cache"),
    "interruptions.load": _("Loading the checkpoint"),
    "interruptions.init": _("Setting up communicators"),
    "interruptions.compile": _("Compiling and autotuning"),
    "interruptions.lost_work": _("Work lost since the checkpoint"),
    "interruptions.extra_steps": _("Extra warm-up steps"),
    "spot.acquire": _("Spot: waiting for a machine"),
    "spot.boot": _("Spot: booting it"),
    "spot.pull": _("Spot: pulling the image"),
    "spot.refill": _("Spot: refilling the data cache"),
    "spot.load": _("Spot: loading the checkpoint"),
    "spot.init": _("Spot: setting up communicators"),
    "spot.compile": _("Spot: compiling and autotuning"),
    "spot.lost_work": _("Spot: work lost since the checkpoint"),
    "spot.extra_steps": _("Spot: extra warm-up steps"),
    "window": _("Maintenance window"),
    "idle": _("Idle before the first step"),
    "warm_pool": _("Warm pool"),
    "rehearsal": _("Rehearsal"),
    "egress": _("Moving checkpoints"),
    "storage": _("Keeping checkpoints"),
    "requests": _("Requests to the store"),
}

PARTS: Mapping[str, Promise] = {
    "training": _("Training"),
    "checkpoints": _("Writing checkpoints"),
    "interruptions": _("Interruptions"),
    "spot": _("Spot losses"),
    "window": _("Maintenance window"),
    "idle": _("Idle before the first step"),
    "warm_pool": _("Warm pool"),
    "rehearsal": _("Rehearsal"),
    "egress": _("Moving checkpoints"),
    "storage": _("Keeping checkpoints"),
    "requests": _("Requests to the store"),
}

CAUSES: Mapping[str, Promise] = {
    "compute": _("Compute"),
    "egress": _("Moving data"),
    "storage": _("Storage"),
    "requests": _("Requests to the store"),
    "other": pgettext_lazy("cause of a cost", "Anything else"),
}

ROUTES: Mapping[str, Promise] = {
    "same_region": _("Same region"),
    "nat": _("Same region, through a NAT gateway"),
    "zone": _("To another zone"),
    "region": _("To another region"),
    "internet": _("Out to the internet"),
    "accelerated": _("Accelerated upload"),
    "into": _("Into the store from outside"),
}

# Scenarios to begin with: title, and what is claimed of them.
SCENARIOS: Mapping[str, tuple[Promise, Promise]] = {
    "article_checkpoints": (
        _("100 checkpoints of 120 GB, to the internet"),
        _("said to cost about 1,200 USD"),
    ),
    "window_22_2": (
        _("A window of two hours every day"),
        _("22 hours of training, 2 of maintenance: a twelfth of the capacity"),
    ),
    "rehearsal_72h": (_("A rehearsal of 72 hours on all GPUs"), _("before the run, on the nodes that it will have")),
    "spot_restart": (
        _("Everything on spot machines"),
        _("200 ms more for the first AllReduce, 50 warm-up steps after each restart"),
    ),
}

LAYOUTS: Mapping[str, Promise] = {
    "weights": _("weights only, 2 bytes a parameter"),
    "adam": _("fp16 weights and Adam moments, 10 bytes"),
    "adam_fp32": _("fp32 weights and Adam moments, 12 bytes"),
    "adam_master": _("bf16 weights, fp32 master and moments, 14 bytes"),
}

# One sentence beside the field, by the rule that an input breaks.
RULES: Mapping[str, Promise] = {
    "positive": _("Give a number above 0."),
    "not_negative": _("It cannot be less than 0."),
    "spot_dearer": _("Spot is dearer than on-demand: such a price is a limit or a missing pool, never an offer."),
    "rising": _("Give three numbers that rise: low, expected, high."),
    "longer_than_writing": _(
        "Writing one checkpoint takes longer than the interval: save less often, or write faster."
    ),
    "mttf_shorter_than_restart": _("The job fails again before it is back: shorten the restart, or use fewer nodes."),
    "no_failures": _("Without failures no interval is best: give a rate above 0, or an interval."),
    "ettr_range": _(
        "Failures come faster than the run recovers from them: shorten the interval or the restart, or use fewer nodes."
    ),
}

# Where an input of the domain stands on the form, where the names differ.
FIELDS: Mapping[str, str] = {
    "interval_s": "interval_min",
    "spot_share": "spot_percent",
    "restart": "acquire_s",
}

# How far a bill is above its estimate: the shape that says so.
LEVELS: Mapping[str, str] = {"ok": "pass", "amber": "warn", "red": "fail"}
