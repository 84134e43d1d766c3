"""Launch scripts of Megatron under Slurm: what their plain assignments and flags say, without running a shell.

A value that needs a shell to know, such as ``$SLURM_NNODES``, stays unknown.
"""

from __future__ import annotations

import re
from typing import Dict, List, Optional

from readiness_agent.parsers.saved import Reading, Saved

_SBATCH = re.compile(r"#SBATCH\s+(?:--([a-z-]+)[= ]\s*|-([NG])\s*)(\S+)")
_SHORT = {"N": "nodes", "G": "gpus"}
_PER_NODE = ("gpus-per-node", "nproc-per-node", "nproc_per_node")
"""Of Slurm and of torchrun."""
_ASSIGNED = re.compile(r"(export )?([A-Za-z_][A-Za-z0-9_]*)=(\"[^\"$`]*\"|'[^']*'|[^\s#;\"'`]*)\s*(?:#.*)?")
_FLAG = re.compile(r"--([a-z][a-z0-9_-]*)((?:=[^\s\\\"]+)?(?:[ \t]+[^\s\\\"#-][^\s\\\"]*)*)")
_REFERENCE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
_GPUS = re.compile(r"gpu(?::[A-Za-z0-9_-]+)?:([0-9]{1,3})")
_SHOWN = ("CUDA_", "NCCL_", "TORCH_NCCL_", "PYTORCH_")
"""Variables that change how CUDA, NCCL and PyTorch behave."""

NUMBERS = {
    "tensor_parallel": "tensor-model-parallel-size",
    "pipeline_parallel": "pipeline-model-parallel-size",
    "context_parallel": "context-parallel-size",
    "micro_batch_size": "micro-batch-size",
    "global_batch_size": "global-batch-size",
    "zero_stage": "zero-stage",
    "save_interval": "save-interval",
    "eval_interval": "eval-interval",
    "exit_minutes": "exit-duration-in-mins",
    "sequence_length": "seq-length",
    "layers": "num-layers",
}
"""Facts, and the flags that hold them."""


def read_launch_script(text: str) -> Saved:
    """Layout, batch, precision and variables of a launch. Never raises."""
    reading = Reading()
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    options = [found for found in map(_SBATCH.match, text.splitlines()) if found]
    sbatch = {found[1] or _SHORT[found[2]]: found[3] for found in options}
    variables = _variables(lines)
    flags = _flags(lines, variables)
    numbers = {fact: _number(flags.get(flag)) for fact, flag in NUMBERS.items()}
    known = {fact: number for fact, number in numbers.items() if number is not None}
    if not known and "nodes" not in sbatch:
        reading.problem("this is no launch script with flags of Megatron or options of Slurm")
        return reading.result()
    gpus = _hardware(reading, sbatch, variables, flags)
    for fact, number in known.items():
        reading.fact(fact, number, "count")
    _layout(reading, known, gpus)
    precision = [name for name in ("bf16", "fp16") if name in flags]
    reading.fact("precision", " ".join(precision) or None, "text")
    ramp = [_digits(word) for word in flags.get("rampup-batch-size", [])]
    reading.fact("rampup_batch_size", " ".join(str(one) for one in ramp if one is not None) or None, "text")
    for name, value in _exports(lines).items():
        reading.fact(f"env {name}", value, "text")
    return reading.result()


def _variables(lines: List[str]) -> Dict[str, str]:
    """Plain assignments; one that refers to another is filled in as far as that is known."""
    variables: Dict[str, str] = {}
    for part in (part for line in lines for part in line.partition("#")[0].split(";")):
        found = _ASSIGNED.fullmatch(part.strip())
        if found:
            variables[found[2]] = _filled(found[3].strip("\"'"), variables)
    return variables


def _filled(text: str, variables: Dict[str, str]) -> str:
    return _REFERENCE.sub(lambda found: variables.get(found[1], found[0]), text)


def _flags(lines: List[str], variables: Dict[str, str]) -> Dict[str, List[str]]:
    flags: Dict[str, List[str]] = {}
    for line in lines:
        for found in _FLAG.finditer(line):
            flags[found[1]] = _filled(found[2].lstrip("="), variables).split()
    return flags


def _number(words: Optional[List[str]]) -> Optional[int]:
    return _digits(words[0]) if words else None


def _digits(word: str) -> Optional[int]:
    """Underscores between digits are Python's, and stand in scripts as well."""
    plain = word.replace("_", "")
    return int(plain) if plain.isascii() and plain.isdigit() and len(plain) < 19 else None


def _hardware(
    reading: Reading, sbatch: Dict[str, str], variables: Dict[str, str], flags: Dict[str, List[str]]
) -> Optional[int]:
    """Nodes and GPUs that are asked for; all GPUs together, where both are known."""
    nodes = _digits(sbatch.get("nodes", ""))
    gres = _GPUS.fullmatch(sbatch.get("gres", ""))
    stated = (sbatch.get("gpus-per-node", "").rpartition(":")[2], variables.get("GPUS_PER_NODE", ""))
    words = [*stated, *(word for name in _PER_NODE for word in flags.get(name, [])[:1])]
    per_node = int(gres[1]) if gres else next((one for one in map(_digits, words) if one is not None), None)
    per_node = per_node if per_node is not None else _of_tasks(sbatch)
    gpus = nodes * per_node if nodes and per_node else None
    reading.fact("nodes", nodes, "count")
    reading.fact("gpus_per_node", per_node, "count")
    reading.fact("gpus", gpus, "count")
    return gpus


def _of_tasks(sbatch: Dict[str, str]) -> Optional[int]:
    tasks, each = _digits(sbatch.get("ntasks-per-node", "")), _digits(sbatch.get("gpus-per-task", ""))
    return tasks * each if tasks and each else None


def _layout(reading: Reading, known: Dict[str, int], gpus: Optional[int]) -> None:
    """The data-parallel size, and how many micro-batches a replica runs in each step."""
    tensor, pipeline = known.get("tensor_parallel"), known.get("pipeline_parallel")
    if gpus is None or not tensor or not pipeline:
        return
    replica = tensor * pipeline * known.get("context_parallel", 1)
    if not replica or gpus % replica:
        reading.problem(f"{gpus} GPUs are no multiple of {replica}, the GPUs of one replica")
        return
    replicas = gpus // replica
    reading.fact("data_parallel", replicas, "count")
    whole_batch, micro = known.get("global_batch_size"), known.get("micro_batch_size")
    if whole_batch is None or not micro:
        return
    if whole_batch % (micro * replicas):
        reading.problem(f"a global batch of {whole_batch} is no multiple of {micro} x {replicas}")
        return
    reading.fact("micro_batches", whole_batch // (micro * replicas), "count")


def _exports(lines: List[str]) -> Dict[str, str]:
    found = [one for one in (_ASSIGNED.fullmatch(line.strip()) for line in lines) if one and one[1]]
    return {one[2]: one[3].strip("\"'") for one in found if one[2].startswith(_SHOWN)}
