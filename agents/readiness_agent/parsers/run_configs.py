"""Configurations of a run: DeepSpeed's JSON, tokenizers, and lists of distributions for pip."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Optional

from readiness_agent.parsers.saved import JSON_INTEGER_MAX, Reading, Saved, Value

DEPRECATED = {
    "stage3_gather_fp16_weights_on_model_save": "stage3_gather_16bit_weights_on_model_save",
    "cpu_offload": "offload_optimizer",
    "cpu_offload_params": "offload_param",
}
"""Keys of DeepSpeed's ``zero_optimization`` that later releases replaced."""

_KNOWN = (
    "zero_optimization", "fp16", "bf16", "amp", "aio", "optimizer", "scheduler", "train_batch_size",
    "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "checkpoint",
)  # fmt: skip
_PLAIN = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "gradient_clipping")
_TOKENS = ("bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token")
_SETTINGS = (
    "tokenizer_class", "model_max_length", "padding_side", "truncation_side", "add_bos_token", "add_eos_token",
    "clean_up_tokenization_spaces", "do_lower_case", "legacy",
)  # fmt: skip

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_EXACT = re.compile(rf"({_NAME})(?:\[[^\]]*\])?\s*===?\s*([^\s;,*]+)(?=[\s;,]|$)")
_OPEN = re.compile(rf"({_NAME})(?:\[[^\]]*\])?\s*([~<>!=]=?[^;]*)?")
_URL = re.compile(rf"(?:({_NAME})(?:\[[^\]]*\])?\s*@\s*)?((?:git\+)?[a-z]+://\S+)")
_COMMIT = re.compile(r"@([0-9a-f]{40})(?=[#&]|$)")
_SHA256 = re.compile(r"sha256[=:]([0-9a-f]{64})")
_EDITABLE = re.compile(r"^(?:-e|--editable)[= ]\s*")
_ELSEWHERE = ("-r", "--requirement")
_EGG = re.compile(rf"[#&]egg=({_NAME})")


def read_deepspeed_config(text: str) -> Saved:
    """Stage, offload, precision and batch of a DeepSpeed configuration. Never raises."""
    reading = Reading()
    config = _object(text)
    if config is None or not any(name in config for name in _KNOWN):
        reading.problem("this is no JSON object with keys of a DeepSpeed configuration")
        return reading.result()
    zero = _part(config, "zero_optimization")
    _zero(reading, zero)
    _precision(reading, config)
    for name, value in _part(config, "aio").items():
        reading.fact(f"aio.{name}", _scalar(value), _unit(value))
    for name in _PLAIN:
        reading.fact(name, _scalar(config.get(name)), _unit(config.get(name)))
    reading.fact("tag_validation", _scalar(_part(config, "checkpoint").get("tag_validation")), "text")
    reading.fact("auto_values", _count_auto(config) or None, "count")
    if not any(name in config for name in _PLAIN[:2]):
        reading.problem("no batch size is stated")
    for old in [name for name in DEPRECATED if name in zero]:
        reading.problem(f"{old} is deprecated: {DEPRECATED[old]} took its place")
    return reading.result()


def _zero(reading: Reading, zero: Dict[str, Any]) -> None:
    stage = zero.get("stage")
    reading.fact("zero_stage", _scalar(stage), "count")
    if isinstance(stage, int) and not 0 <= stage <= 3:
        reading.problem(f"ZeRO has no stage {stage}")
    paths: List[str] = []
    for name in ("offload_optimizer", "offload_param"):
        part = _part(zero, name)
        reading.fact(name, _scalar(part.get("device")), "text")
        pinned = part.get("pin_memory")
        reading.fact(f"{name}_pin_memory", pinned if isinstance(pinned, bool) else None, "bool")
        path = part.get("nvme_path")
        paths += [path] if isinstance(path, str) else []
        if part.get("device") == "nvme" and not path:
            reading.problem(f"{name} goes to nvme and names no nvme_path")
    reading.fact("nvme_path", " ".join(dict.fromkeys(paths)) or None, "text")
    size = zero.get("reduce_bucket_size")
    reading.fact("reduce_bucket_size", _scalar(size), _unit(size))
    if size == 0 and not isinstance(size, bool):
        reading.problem("reduce_bucket_size is 0")


def _precision(reading: Reading, config: Dict[str, Any]) -> None:
    """A loss scale of 0 means that it is found while training."""
    switches = {name: _part(config, name).get("enabled") for name in ("fp16", "bf16", "amp")}
    on = [name for name, switch in switches.items() if switch is True]
    left_open = "auto" if "auto" in switches.values() else "none stated"
    reading.fact("precision", " ".join(on) or left_open, "text")
    if len(on) > 1:
        reading.problem(f"{' and '.join(on)} are both on: DeepSpeed takes one of them")
    fp16 = _part(config, "fp16")
    scale = fp16.get("loss_scale")
    if not switches["fp16"] or scale is None:
        return
    is_dynamic = scale == 0 and not isinstance(scale, bool)
    reading.fact("loss_scale", "dynamic" if is_dynamic else _scalar(scale), "text" if is_dynamic else _unit(scale))
    power = fp16.get("initial_scale_power")
    if is_dynamic and isinstance(power, int) and 0 <= power < 63:
        reading.fact("initial_loss_scale", 2**power, "count")
    reading.fact("min_loss_scale", _scalar(fp16.get("min_loss_scale")), "count")


def _count_auto(value: Any) -> int:
    """How many values are left to the framework around DeepSpeed."""
    if isinstance(value, dict):
        return sum(_count_auto(one) for one in value.values())
    return int(value == "auto")


def read_tokenizer_config(text: str) -> Saved:
    """Special tokens and limits of one ``tokenizer_config.json``; two of them are compared by their facts."""
    reading = Reading()
    config = _object(text)
    if config is None or not any(name in config for name in (*_TOKENS, "tokenizer_class")):
        reading.problem("this is no JSON object with keys of a tokenizer's configuration")
        return reading.result()
    for name in _TOKENS:
        if name in config:
            reading.fact(name, _token(config[name]), "text")
    for name in _SETTINGS:
        reading.fact(name, _scalar(config.get(name)), _unit(config.get(name)))
    return reading.result()


def _token(value: Any) -> Optional[str]:
    """The text of a token; a token that is null is a setting, too."""
    if value is None:
        return "null"
    content = value.get("content") if isinstance(value, dict) else value
    return content if isinstance(content, str) else None


def read_requirements(text: str) -> Saved:
    """How each distribution is pinned: version, commit of 40 digits, archive with its hash, range, or not at all."""
    reading = Reading()
    kinds: Dict[str, List[str]] = {"commits": [], "hashed": [], "ranges": [], "unpinned": []}
    joined = text.replace("\\\n", " ")
    lines = [re.sub(r"(?:^|\s)#.*$", "", line).strip() for line in joined.splitlines()]
    lines = [_EDITABLE.sub("", line) for line in lines]
    requirements = [line for line in lines if line and not line.startswith("-")]
    for line in lines:
        if line.startswith(_ELSEWHERE):
            reading.problem(f"more distributions stand in another file: {line[:80]}")
    for line in requirements:
        _requirement(reading, line, kinds)
    if not requirements:
        reading.problem("this text lists no distribution")
        return reading.result()
    reading.fact("requirements", len(requirements), "count")
    for name, members in kinds.items():
        reading.fact(name, " ".join(members) or None, "text")
    return reading.result()


def _requirement(reading: Reading, line: str, kinds: Dict[str, List[str]]) -> None:
    url, exact, loose = _URL.match(line), _EXACT.match(line), _OPEN.match(line)
    if url:
        egg, commit, digest = _EGG.search(line), _COMMIT.search(url[2]), _SHA256.search(line)
        name = url[1] or (egg[1] if egg else url[2].partition("://")[2].partition("@")[0].rpartition("/")[2])
        reading.fact("commit", commit[1] if commit else None, "text", name)
        kinds["commits" if commit else "hashed" if digest else "unpinned"].append(name)
    elif exact:
        reading.fact("version", exact[2], "text", exact[1])
    elif loose:
        kinds["ranges" if (loose[2] or "").strip() else "unpinned"].append(loose[1])
    else:
        reading.problem(f"a line names no distribution: {line[:80]}")


def _object(text: str) -> Optional[Dict[str, Any]]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _part(config: Dict[str, Any], name: str) -> Dict[str, Any]:
    part = config.get(name)
    return part if isinstance(part, dict) else {}


def _scalar(value: Any) -> Optional[Value]:
    """A value as it stands; an integer that no other program can hold becomes a text."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > JSON_INTEGER_MAX:
        return str(value)
    is_number = isinstance(value, float) and abs(value) < 1e300
    return value if isinstance(value, (bool, int, str)) or is_number else None


def _unit(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    return "count" if isinstance(value, (int, float)) and abs(value) <= JSON_INTEGER_MAX else "text"
