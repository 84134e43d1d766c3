"""Names that training code makes of parts: ``f"{run_name}/step-{step}"`` as text and kinds of parts."""

from __future__ import annotations

import ast
import re
from typing import List, NamedTuple, Optional, Sequence, Tuple

from readiness_agent.audits.configs.values import UNKNOWN, Resolver

STEP, RANK, TIME, JOB = "{step}", "{rank}", "{time}", "{job}"
"""Parts that differ from step to step, from rank to rank, from moment to moment, and from job to job."""

_KINDS: Sequence[Tuple[str, re.Pattern[str]]] = (
    (RANK, re.compile(r"(?:^|[_.])rank(?:$|[_.(])|procid|get_rank|hostname|gethostname|getpid", re.I)),
    (TIME, re.compile(r"time|strftime|datetime|\bnow\b|uuid|random|\bdate\b|stamp", re.I)),
    (STEP, re.compile(r"step|iter|epoch|batch_idx|num_updates", re.I)),
    (JOB, re.compile(r"(?:run|job|exp|experiment|project|trial)_?(?:name|id|dir|tag)\b|wandb|\bexperiment\b", re.I)),
)  # fmt: skip
_HOLE = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?[sdifgrx]|\{[^{}]*\}")
_JOINING = frozenset({"os.path.join", "posixpath.join", "pathlib.Path", "Path", "str", "os.fspath", "os.path.abspath"})


_SHELL = re.compile(r"\$\{([A-Za-z_]\w*)[^}]*\}|\$([A-Za-z_]\w*)|\0")


class Pattern(NamedTuple):
    """A text with kinds of parts in it, and the expressions whose kind cannot be told."""

    text: str
    strange: Tuple[str, ...] = ()
    names_job: bool = False
    """A part is the job's name by what it is called, such as ``args.run_name``, although its text is known."""


def pattern_of(resolver: Resolver, node: ast.AST, function: str, depth: int = 0) -> Pattern:
    """The pattern of what *node* makes."""
    held = resolver.value(node, function)
    if held is not UNKNOWN:
        is_name = not isinstance(node, ast.Constant) and _kind(resolver.name(node)) == JOB
        return Pattern("" if held is None else str(held), (), is_name)
    shell = resolver.shell_text(node)
    if shell is not None:
        return pattern_of_shell(shell)
    if depth <= 8:
        made = _made(resolver, node, function, depth + 1)
        if made is not None:
            return made
    return _part(resolver, node)


def pattern_of_shell(text: str) -> Pattern:
    """The pattern of a script's text, in which variables stand that only a shell knows."""
    strange: List[str] = []

    def part(found: re.Match[str]) -> str:
        name = found[1] or found[2] or "a command"
        kind = _kind(name)
        strange.extend([] if kind else [name])
        return kind or "{?}"

    return Pattern(_SHELL.sub(part, text), tuple(strange))


def joined(between: str, *parts: Pattern) -> Pattern:
    """Patterns one after the other."""
    texts = [
        part.text.rstrip("/") if between and place + 1 < len(parts) else part.text for place, part in enumerate(parts)
    ]
    strange = tuple(one for part in parts for one in part.strange)
    return Pattern(between.join(texts), strange, any(part.names_job for part in parts))


def _made(resolver: Resolver, node: ast.AST, function: str, depth: int) -> Optional[Pattern]:
    """Texts that are put together of others; None for what is none."""
    if isinstance(node, ast.JoinedStr):
        parts = [one.value if isinstance(one, ast.FormattedValue) else one for one in node.values]
        return joined("", *(pattern_of(resolver, part, function, depth) for part in parts))
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Div)):
        sides = [pattern_of(resolver, one, function, depth) for one in (node.left, node.right)]
        return joined("/" if isinstance(node.op, ast.Div) else "", *sides)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        given = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
        return _filled(resolver, node.left, given, function, depth)
    if isinstance(node, ast.Call):
        name = resolver.name(node.func)
        if name in _JOINING and node.args:
            return joined("/", *(pattern_of(resolver, one, function, depth) for one in node.args))
        if isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            given = [*node.args, *(one.value for one in node.keywords)]
            return _filled(resolver, node.func.value, given, function, depth)
    if isinstance(node, ast.Name):
        values = resolver.assigned(node.id, function)
        if len(values) == 1:
            return pattern_of(resolver, values[0], function, depth)
    return None


def _filled(
    resolver: Resolver, template: ast.AST, given: Sequence[ast.expr], function: str, depth: int
) -> Optional[Pattern]:
    """``"step-%d" % step`` and ``"step-{}".format(step)``."""
    held = resolver.value(template, function)
    if not isinstance(held, str):
        return None
    parts = [pattern_of(resolver, one, function, depth) for one in given]
    texts = iter(part.text for part in parts)
    text = _HOLE.sub(lambda _: next(texts, ""), held)
    whole = joined("", *parts)
    return Pattern(text, whole.strange, whole.names_job)


def _part(resolver: Resolver, node: ast.AST) -> Pattern:
    """One part that changes, by what its name says."""
    name = resolver.name(node)
    kind = _kind(" ".join([name, *_texts(node)]))
    return Pattern(kind) if kind else Pattern("{?}", (name,))


def _kind(words: str) -> str:
    """The kind of a part by the words in it; empty for none that is known."""
    return next((kind for kind, said in _KINDS if said.search(words)), "")


def _texts(node: ast.AST) -> List[str]:
    """Constants inside, such as the name of an environment variable."""
    return [one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
