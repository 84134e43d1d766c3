"""``parallel-layout``: how the processes are split, and whether batch and nodes fit that."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from readiness_agent.audits import Notes
from readiness_agent.audits.configs.setup import DeepSpeed, Setup
from readiness_agent.facts import ERROR, MISSING

ITEM = "parallel-layout"

_DEGREES = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
_BATCH_FLAGS = {
    "global": ("global_batch_size", "train_batch_size"),
    "micro": ("micro_batch_size", "train_micro_batch_size_per_gpu", "per_device_train_batch_size"),
    "accumulation": ("gradient_accumulation_steps",),
}
_BATCH_KEYS = {
    "global": "train_batch_size",
    "micro": "train_micro_batch_size_per_gpu",
    "accumulation": "gradient_accumulation_steps",
}


def audit_layout(setup: Setup, notes: Notes) -> None:
    """Facts of ``parallel-layout``, or why they cannot be told."""
    nodes, per_node = setup.launches.size()
    if not nodes or not per_node:
        notes.problem(ITEM, MISSING, "no launch script states both nodes and GPUs of each in plain numbers")
        return
    degrees = [_degree(setup, name, notes) for name in _DEGREES]
    if None in degrees:
        return
    tensor, pipeline, context = (one or 1 for one in degrees)
    gpus, replica = nodes * per_node, tensor * pipeline * context
    data = _stated_data(setup) or gpus // replica
    notes.fact(ITEM, "gpus", gpus, "count")
    notes.fact(ITEM, "layout_product", replica * data, "count")
    notes.fact(ITEM, "tensor_groups_split", _split_groups(tensor, per_node, gpus), "count")
    notes.finding(
        ITEM, setup.launches.scripts[0].name,
        f"{nodes} nodes x {per_node} GPUs; TP {tensor} x PP {pipeline} x CP {context} x DP {data}",
    )  # fmt: skip
    if data:
        _batch(setup, data, notes)


def _degree(setup: Setup, name: str, notes: Notes) -> Optional[int]:
    """One degree of parallelism; without a flag it is 1, as every launcher has it."""
    told = setup.launches.flag(name)
    if told is None:
        return 1
    if told.value is None or not told.value.isdigit() or int(told.value) < 1:
        notes.problem(ITEM, ERROR, told.why or f"{told.place}: {name} is {told.value!r}, which is no degree")
        return None
    return int(told.value)


def _stated_data(setup: Setup) -> Optional[int]:
    told = setup.launches.flag("data_parallel_size", "data_parallel")
    return int(told.value) if told and told.value and told.value.isdigit() else None


def _split_groups(tensor: int, per_node: int, gpus: int) -> int:
    """Tensor-parallel groups that reach over a node's end: their ranks follow each other."""
    firsts = range(0, gpus - tensor + 1, tensor)
    return sum(1 for first in firsts if first // per_node != (first + tensor - 1) // per_node)


def _batch(setup: Setup, data: int, notes: Notes) -> None:
    """What is left of the global batch after whole micro-batches on all replicas; 0 where it follows from them."""
    sizes = _sizes(setup, notes)
    if sizes is None:
        return
    whole, micro, steps = sizes.get("global"), sizes.get("micro"), sizes.get("accumulation")
    if whole is None and micro is None:
        notes.problem(ITEM, MISSING, "no file states a batch size")
        return
    if whole is None:
        left = 0  # micro-batch x accumulation x replicas, by definition
    elif micro and steps:
        left = abs(whole - micro * steps * data)
    else:
        left = whole % ((micro or 1) * data)
    notes.fact(ITEM, "batch_remainder", left, "count")
    notes.finding(
        ITEM, "batch", f"global {whole}, micro {micro}, accumulation {steps}, over {data} replicas: {left} left"
    )


def _sizes(setup: Setup, notes: Notes) -> Optional[Dict[str, int]]:
    """The sizes that are stated; None where one cannot be told, or two files disagree."""
    sizes: Dict[str, int] = {}
    for name in _BATCH_FLAGS:
        stated: List[Any] = []
        told = setup.launches.flag(*_BATCH_FLAGS[name])
        if told is not None:
            stated.append(told.value if told.value is not None else told.why)
        stated += [_of_config(config, name) for config in setup.deepspeed]
        numbers = {int(one) for one in stated if one is not None and str(one).isdigit()}
        odd = [one for one in stated if one not in (None, "auto") and not str(one).isdigit()]
        if odd or len(numbers) > 1:
            said = odd[0] if odd else f"the files state {' and '.join(map(str, sorted(numbers)))} as {name} batch"
            notes.problem(ITEM, ERROR, str(said))
            return None
        if numbers:
            sizes[name] = numbers.pop()
    return sizes


def _of_config(config: DeepSpeed, name: str) -> Any:
    return (config.held.value or {}).get(_BATCH_KEYS[name])
