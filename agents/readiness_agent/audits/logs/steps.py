"""One step of a training as its log shows it, and the names under which logs keep the same thing."""

from __future__ import annotations

import re
from typing import Dict, NamedTuple, Optional, Tuple

FIELDS: Dict[str, Tuple[str, ...]] = {
    "loss": ("loss", "lm_loss", "train_loss", "training_loss", "loss_train", "lm_loss_avg"),
    "lr": ("lr", "learning_rate", "train_lr", "train_learning_rate"),
    "grad_norm": ("grad_norm", "gradient_norm", "train_grad_norm", "global_grad_norm", "gnorm", "grad_norm_total"),
    "throughput": (
        "throughput", "tokens_per_second", "tokens_per_sec", "tokens_s", "tok_s", "samples_per_second",
        "samples_per_sec", "samples_sec", "samples_s", "tflops", "throughput_per_gpu_tflop_s_gpu", "tgs",
        "elapsed_time_per_iteration_ms", "elapsed_time_per_iteration_s", "iteration_time", "step_time", "iter_time_s",
    ),
    "save_seconds": ("save_seconds", "checkpoint_save_seconds", "checkpoint_save_time", "save_checkpoint_seconds"),
}  # fmt: skip
"""What one step should tell, and what logs call it once signs between words are underscores."""

SKIPPED = ("is_skipped", "skipped_step", "number_of_skipped_iterations", "overflow", "skipped_iterations")

_GROUPS = ("train_", "training_", "perf_", "optim_")
_BETWEEN = re.compile(r"[^a-z0-9]+")
_NAMES = {name: field for field, names in FIELDS.items() for name in names}


class Step(NamedTuple):
    """What a log says of one optimizer step."""

    number: int
    values: Dict[str, float]
    """By the names of ``FIELDS``; NaN and infinities as they stand."""
    is_skipped: bool
    place: str
    lost: Tuple[str, ...] = ()
    """Fields that the line has, with something that is no number."""
    skips: Optional[int] = None
    """How many steps were skipped up to here, where the log counts them."""


def field_of(name: str) -> Optional[str]:
    """The field that *name* is one of the names of, whatever group it is kept in, such as ``train/loss``."""
    plain = normal(name)
    return _NAMES.get(plain) or next((_NAMES.get(plain[len(one) :]) for one in _GROUPS if plain.startswith(one)), None)


def normal(name: str) -> str:
    """*name* in small letters, with one underscore between words."""
    return _BETWEEN.sub("_", name.lower()).strip("_")
