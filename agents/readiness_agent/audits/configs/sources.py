"""Finds the files of a configuration and reads them, each once, with its digest."""

from __future__ import annotations

import hashlib
import os
import re
from typing import Iterator, List, NamedTuple, Sequence, Tuple

from readiness_agent.audits.configs.lenient import read_object
from readiness_agent.errors import usage_error

DEEPSPEED, SCRIPT, PYTHON, MANIFEST = "deepspeed", "script", "python", "manifest"

LARGEST = 4 * 1024 * 1024
"""Bytes of one file; longer ones are no configuration, and no code that a person wrote."""

MOST_FILES = 5_000

_SKIPPED = frozenset({
    ".git", ".hg", ".svn", "__pycache__", "node_modules", "site-packages", "dist-packages", ".venv", "venv", "build",
    "wandb", "outputs", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".tox",
})  # fmt: skip
_SCRIPT_ENDS = (".sh", ".bash", ".slurm", ".sbatch", ".sub", ".srun", ".job")
_SHEBANG = re.compile(r"#!\S*(?:/|env )(?:bash|sh|zsh|dash)\b")
_JOB = re.compile(r"^kind:[ \t]*[\"']?\w*(?:Job|JobSet)\b", re.MULTILINE)
"""Job, JobSet, PyTorchJob, MPIJob, RayJob and their like; not CronJob, which no training of weeks is."""
_DEEPSPEED_KEYS = frozenset({
    "zero_optimization", "fp16", "bf16", "train_batch_size", "train_micro_batch_size_per_gpu",
    "gradient_accumulation_steps",
})  # fmt: skip


class Source(NamedTuple):
    """One file that was read."""

    name: str
    """As the person named it; below a folder, relative to the folder."""
    kind: str
    text: str
    digest: str
    """``sha256:…`` of its bytes."""


class Found(NamedTuple):
    """All files that say something, and in a sentence each what could not be read."""

    sources: Tuple[Source, ...]
    unread: Tuple[str, ...]

    def of_kind(self, kind: str) -> List[Source]:
        """Those of one kind."""
        return [source for source in self.sources if source.kind == kind]


def read_sources(paths: Sequence[str]) -> Found:
    """The configuration files in *paths*; of a folder those that are known by name or content.

    Raises:
        AgentError: exit 64, a named file is none that this audit reads, or there are too many.
    """
    sources: List[Source] = []
    unread: List[str] = []
    for path, name, is_named in _walk(paths):
        try:
            body = _read(path)
        except OSError as error:
            unread.append(f"{name} could not be read ({error.strerror or error})")
            continue
        text = body.decode("utf-8", "replace")
        kind = _kind(name, text) if len(body) <= LARGEST else ""
        if kind:
            sources.append(Source(name, kind, text, "sha256:" + hashlib.sha256(body).hexdigest()))
        elif is_named:
            raise usage_error(
                f"{path} is no DeepSpeed configuration (JSON), launch script, manifest of a Kubernetes job or Python "
                "file of at most 4 MiB"
            )
    order = (DEEPSPEED, SCRIPT, MANIFEST, PYTHON)  # of many files the first are named as artefacts
    return Found(tuple(sorted(sources, key=lambda one: order.index(one.kind))), tuple(unread))


def _walk(paths: Sequence[str]) -> Iterator[Tuple[str, str, bool]]:
    """Path, name to show, and whether a person named exactly that file; links inside of a folder are not followed."""
    count = 0
    for top in paths:
        for path in _below(top) if os.path.isdir(top) else [top]:
            count += 1
            if count > MOST_FILES:
                raise usage_error(f"more than {MOST_FILES} files: name the folder of the training code alone")
            name = path if path == top else os.path.relpath(path, top)
            yield path, name, path == top


def _below(top: str) -> Iterator[str]:
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(one for one in folders if one not in _SKIPPED)
        for name in sorted(files):
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield path


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(LARGEST + 1)


def _kind(name: str, text: str) -> str:
    if name.endswith((".py", ".pyw")):
        return PYTHON
    if name.endswith(_SCRIPT_ENDS) or _SHEBANG.match(text) or "\n#SBATCH " in text[:4096]:
        return SCRIPT
    if name.endswith((".yaml", ".yml")):
        return MANIFEST if _JOB.search(text) else ""
    if name.endswith((".json", ".json5", ".jsonc", ".hjson")):
        held = read_object(text).value
        if held is None:  # damaged: by its words, so that it is told of and not passed over
            return DEEPSPEED if any(f'"{key}"' in text for key in _DEEPSPEED_KEYS) else ""
        return DEEPSPEED if _DEEPSPEED_KEYS & held.keys() else ""
    return ""
