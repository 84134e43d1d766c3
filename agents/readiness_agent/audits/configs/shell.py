"""One launch script: what its plain assignments, exports, options of Slurm and flags say, without running a shell.

A value that needs a shell or the surrounding environment to know stays undecided.
"""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Tuple

_SBATCH = re.compile(r"^#SBATCH[ \t]+(-{1,2})([A-Za-z][A-Za-z-]*)(?:(?:=|[ \t]+)(\S+))?", re.MULTILINE)
_COMMENT = re.compile(r"(?m)^[ \t]*#.*$|[ \t]#[^\"'\n]*$")
_ASSIGNED = re.compile(
    r"(?:^|(?<=[\s;]))(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)="
    r"(\((?:[^()\"']|\"[^\"]*\"|'[^']*')*\)|\"(?:[^\"\\]|\\.)*\"|'[^']*'|\$\(\([^()]*\)\)|\$\([^)]*\)|[^\s;#()\"'`]*)",
    re.MULTILINE,
)
_FLAG = re.compile(
    r"(?<![\w=-])--([A-Za-z][\w.-]*)(?:(?:=|[ \t]+)(\"[^\"\n]*\"|'[^'\n]*'|(?!-[-A-Za-z]|\d*>)[^\s\"'\\)|;&>]+))?"
)
_REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)")
_ARITHMETIC = re.compile(r"\$\(\(([\d\s*+/-]+)\)\)")
_SOURCED = re.compile(r"(?:^|(?<=[;&\s]))(?:source|\.)[ \t]+([^\s;&]+)", re.MULTILINE)
_HARMLESS = re.compile(r"(?:activate|conda\.sh|\.bashrc|\.bash_profile|/etc/profile\S*|lmod\S*|modules?\.sh)\Z")
_GPUS = re.compile(r"(?:gpu:)?(?:[A-Za-z][\w-]*:)?(\d{1,4})\Z")
_SHORT = {"N": "nodes", "t": "time", "n": "ntasks", "p": "partition", "q": "qos", "J": "job-name", "A": "account"}
_PARALLEL_OPS = re.compile(r"\s*([*+/-])\s*")

UNDECIDED = "\0"
"""A value that only a shell, or the environment around it, knows."""


class Script(NamedTuple):
    """What one script states; a value that is `UNDECIDED` is stated, and cannot be told."""

    name: str
    text: str
    variables: Dict[str, str]
    sbatch: Dict[str, str]
    flags: Dict[str, str]
    """Names with underscores; a flag without a value holds an empty text."""
    sourced: Tuple[str, ...]

    def place(self, word: str) -> str:
        """Where *word* stands first."""
        at = self.text.find(word)
        return f"{self.name}:{self.text.count(chr(10), 0, at) + 1}" if at >= 0 else self.name


def read_script(name: str, text: str) -> Script:
    """Read one script. Never raises."""
    sbatch = {_SHORT.get(key, key) if dash == "-" else key: value or "" for dash, key, value in _SBATCH.findall(text)}
    body = _COMMENT.sub("", text).replace("\\\n", " ")
    variables = _variables(body, _of_slurm(sbatch))
    return Script(name, text, variables, sbatch, _flags(_filled(body, variables)), _sourced(body))


def decided(value: str) -> Optional[str]:
    """*value* without quotes; None where only a shell knows it."""
    plain = value.strip("\"'")
    return None if UNDECIDED in plain or "$" in plain or "`" in plain else plain


def number(value: Optional[str]) -> Optional[int]:
    """A whole number, as scripts write it."""
    plain = (decided(value) or "") if value is not None else ""
    digits = plain.replace("_", "")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 16 else None


def gpus_of(option: Optional[str]) -> Optional[int]:
    """How many GPUs ``gpu:h200:8``, ``h200:8`` or ``8`` ask for."""
    found = _GPUS.match(option or "")
    return int(found[1]) if found else None


def _of_slurm(sbatch: Dict[str, str]) -> Dict[str, str]:
    """Variables that Slurm sets by the options of the script itself."""
    per_node = gpus_of(sbatch.get("gres")) or gpus_of(sbatch.get("gpus-per-node"))
    nodes = sbatch.get("nodes", "").partition("-")[0]
    known = {
        "SLURM_NNODES": nodes, "SLURM_JOB_NUM_NODES": nodes, "SLURM_NTASKS_PER_NODE": sbatch.get("ntasks-per-node", ""),
        "SLURM_GPUS_ON_NODE": str(per_node or ""), "SLURM_GPUS_PER_NODE": str(per_node or ""),
        "SLURM_NTASKS": sbatch.get("ntasks", ""),
    }  # fmt: skip
    return {name: value for name, value in known.items() if value}


def _variables(body: str, known: Dict[str, str]) -> Dict[str, str]:
    """Assignments in their order; one that is made twice with other values depends on the way through the script."""
    variables = dict(known)
    for found in _ASSIGNED.finditer(body):
        name, raw = found[1], found[2]
        literal = raw.startswith("'")
        value = raw[1:-1] if raw[:1] in "\"'(" and len(raw) > 1 else raw
        filled = value if literal else _filled(value, variables)
        if "$(" in filled or "`" in filled:
            filled = UNDECIDED
        grows = f"${name}" in raw or f"${{{name}" in raw
        again = name in variables and name not in known and variables[name] != filled and not grows
        variables[name] = UNDECIDED if again else filled
    return variables


def _filled(text: str, variables: Dict[str, str]) -> str:
    """References filled in as far as they are known; ``${A[@]}`` counts as ``$A``."""
    text = re.sub(r"\$\{([A-Za-z_]\w*)\[[@*]\]\}", r"${\1}", text)
    filled = _REFERENCE.sub(lambda found: variables.get(found[1] or found[2], found[0]), text)
    return _ARITHMETIC.sub(lambda found: _computed(found[1]), filled)


def _computed(expression: str) -> str:
    """Whole numbers with ``* + - /``, from left to right where all operators are alike, else undecided."""
    parts = _PARALLEL_OPS.split(expression.strip())
    numbers, operators = parts[::2], set(parts[1::2])
    if len(operators) > 1 or not all(one.isdigit() and len(one) < 12 for one in numbers):
        return UNDECIDED
    result = int(numbers[0])
    for one in map(int, numbers[1:]):
        if operators == {"/"} and one == 0:
            return UNDECIDED
        result = {"*": result * one, "+": result + one, "-": result - one, "/": result // (one or 1)}[min(operators)]
    return str(result)


def _flags(text: str) -> Dict[str, str]:
    """Flags of whatever command; one that is given twice with other values cannot be told."""
    flags: Dict[str, str] = {}
    for name, value in _FLAG.findall(text):
        key = name.replace("-", "_")
        plain = value.strip("\"'")
        flags[key] = plain if flags.get(key, plain) == plain else UNDECIDED
    return flags


def _sourced(body: str) -> Tuple[str, ...]:
    names: List[str] = [found.strip("\"'") for found in _SOURCED.findall(body)]
    return tuple(name for name in names if not _HARMLESS.search(name))
