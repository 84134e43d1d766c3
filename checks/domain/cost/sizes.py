"""How large a checkpoint is, and the bytes of it in both spellings."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from checks.domain.cost.errors import require_positive
from checks.domain.cost.scenario import Layout

#: Bytes kept of a parameter. Gradients are memory, and are normally not saved.
BYTES: Final[Mapping[Layout, int]] = {
    Layout.WEIGHTS: 2,  # bf16 or fp16 weights
    Layout.ADAM: 10,  # fp16 weights, both fp32 moments of Adam (OPT)
    Layout.ADAM_FP32: 12,  # fp32 weights, both moments
    Layout.ADAM_MASTER: 14,  # bf16 weights, fp32 master weights, both moments (Megatron, DeepSpeed, BLOOM)
}


def checkpoint_bytes(parameters: float, layout: Layout) -> int:
    """Bytes of one whole checkpoint of a model with so many parameters.

    Raises:
        ImpossibleInput: there are no parameters.
    """
    require_positive("parameters", parameters)
    return round(parameters * BYTES[layout])


def as_gb(size: int) -> Decimal:
    """Bytes in GB of 1e9, as providers bill."""
    return Decimal(size) / 10**9


def as_gib(size: int) -> Decimal:
    """Bytes in GiB of 2^30, as file systems show them."""
    return Decimal(size) / 2**30
