"""Training code by its syntax tree: which calls stand where, under which conditions. Nothing is imported or run."""

from __future__ import annotations

import ast
import re
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from readiness_agent.audits.configs.sources import Source

_RANK = re.compile(
    r"(?:^|_)(?:rank|ranks)(?:$|_)|rank_?(?:0|zero)|is_(?:main|master|chief|first|last)|main_process|global_zero", re.I
)
_OTHER_RANKS = re.compile(r"lora|low_rank|rank_loss|ranking", re.I)
_RANK_VARIABLES = frozenset({"RANK", "LOCAL_RANK", "GLOBAL_RANK", "SLURM_PROCID", "SLURM_LOCALID", "NODE_RANK"})

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]


class Call(NamedTuple):
    """One call. *name* is dotted, with imports resolved: ``torch.cuda.amp.GradScaler``, ``engine.save_checkpoint``."""

    name: str
    node: ast.Call
    place: str
    function: str
    """The function that it stands in; empty outside of any."""
    guards: Tuple[ast.expr, ...]
    """Conditions under which it is reached."""

    @property
    def method(self) -> str:
        """The last part of its name."""
        return self.name.rpartition(".")[2]

    def argument(self, place: int, *names: str) -> Optional[ast.expr]:
        """An argument by position or name; *place* -1: only by name."""
        for keyword in self.node.keywords:
            if keyword.arg in names:
                return keyword.value
        given = self.node.args
        return given[place] if 0 <= place < len(given) and not isinstance(given[place], ast.Starred) else None

    def is_partial(self) -> bool:
        """Whether only some ranks reach it."""
        return any(mentions_rank(guard) for guard in self.guards)


class Module(NamedTuple):
    """One file of code. *error* says why it could not be read; then all else is empty."""

    name: str
    imports: Dict[str, str]
    """What a name stands for: ``{"GS": "torch.cuda.amp.GradScaler"}``; a module imported as such stands for itself."""
    calls: Tuple[Call, ...]
    assigned: Dict[Tuple[str, str], List[ast.expr]]
    """By function and name, all that is assigned to it; a subscript or an attribute counts for its whole target."""
    functions: Dict[str, Function]
    places: Dict[str, int]
    """The line of each imported name."""
    environment: Tuple[Tuple[str, ast.expr], ...] = ()
    """What is assigned to ``os.environ[...]``."""
    error: str = ""

    def all_imported(self) -> Sequence[str]:
        """Dotted names of all that is imported."""
        return tuple(self.imports.values())


def read_module(source: Source) -> Module:
    """Read one file. Never raises."""
    try:
        tree = ast.parse(source.text)
        scan = _Scan(source.name)
        scan.visit(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        where = f"{source.name}:{line}" if line else source.name
        said = f"{where} cannot be read as Python ({getattr(error, 'msg', None) or error})"
        return Module(source.name, {}, (), {}, {}, {}, error=said)
    environment = tuple(scan.environment)
    return Module(source.name, scan.imports, tuple(scan.calls), scan.assigned, scan.functions, scan.places, environment)


def mentions_rank(node: ast.AST) -> bool:
    """Whether an expression depends on which rank evaluates it."""
    if isinstance(node, ast.Compare) and any(_is_minus_one(one) for one in node.comparators):
        return False  # local_rank == -1 asks whether the training is distributed at all
    if isinstance(node, ast.Constant):
        return node.value in _RANK_VARIABLES if isinstance(node.value, str) else False
    word = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    if word and _RANK.search(word) and not _OTHER_RANKS.search(word):
        return True
    return any(mentions_rank(child) for child in ast.iter_child_nodes(node))


def dotted(node: ast.AST, imports: Dict[str, str]) -> str:
    """The dotted name of an expression with imports resolved; ``?`` stands for a part that is no name."""
    if isinstance(node, ast.Name):
        return imports.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value, imports)}.{node.attr}"
    if isinstance(node, ast.Call):
        return f"{dotted(node.func, imports)}()"
    return "?"


def _is_minus_one(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant) and node.operand.value == 1


class _Scan(ast.NodeVisitor):
    """Walks one tree and remembers where it is."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._function = ""
        self._guards: List[ast.expr] = []
        self.imports: Dict[str, str] = {}
        self.places: Dict[str, int] = {}
        self.calls: List[Call] = []
        self.assigned: Dict[Tuple[str, str], List[ast.expr]] = {}
        self.functions: Dict[str, Function] = {}
        self.environment: List[Tuple[str, ast.expr]] = []

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            local = alias.asname or alias.name.partition(".")[0]
            self._imported(local, alias.name if alias.asname else local, alias.name, node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            full = f"{node.module or ''}.{alias.name}".lstrip(".")
            self._imported(alias.asname or alias.name, full, full, node.lineno)

    def _imported(self, local: str, stands_for: str, full: str, line: int) -> None:
        self.imports[local] = stands_for
        self.places.setdefault(full, line)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._enter(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._enter(node)

    def _enter(self, node: Function) -> None:
        """A function's body; a decorator that names a rank guards all of it."""
        outer, guards = self._function, self._guards
        self.functions[node.name] = node
        for decorator in node.decorator_list:
            self.visit(decorator)
        self._function, self._guards = node.name, [one for one in node.decorator_list if mentions_rank(one)]
        self._block(node.body)
        self._function, self._guards = outer, guards

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        self._block(node.body, node.test)
        self._block(node.orelse, _negated(node.test))

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit(node.test)
        self._guarded(node.body, node.test)
        self._guarded(node.orelse, _negated(node.test))

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """``rank == 0 and save()`` is a condition, too."""
        self.visit(node.values[0])
        for place, value in enumerate(node.values[1:]):
            earlier = node.values[place]
            self._guarded(value, earlier if isinstance(node.op, ast.And) else _negated(earlier))

    def generic_visit(self, node: ast.AST) -> None:
        for _, held in ast.iter_fields(node):
            if isinstance(held, list) and held and isinstance(held[0], ast.stmt):
                self._block(held)
            elif isinstance(held, list):
                for one in held:
                    if isinstance(one, ast.AST):
                        self.visit(one)
            elif isinstance(held, ast.AST):
                self.visit(held)

    def visit_Call(self, node: ast.Call) -> None:
        place = f"{self._name}:{node.lineno}"
        name = dotted(node.func, self.imports)
        self.calls.append(Call(name, node, place, self._function, tuple(self._guards)))
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._assign(target, node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._assign(node.target, node.value)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._assign(node.target, node)  # type: ignore[arg-type]  # no expression: whoever resolves it cannot tell
        self.generic_visit(node)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple):
            for one in target.elts:
                self._assign(one, value)
            return
        held: ast.AST = target.value if isinstance(target, ast.Subscript) else target
        key = target.slice if isinstance(target, ast.Subscript) else None
        if isinstance(key, ast.Constant) and dotted(held, self.imports) == "os.environ":
            self.environment.append((str(key.value), value))
        self.assigned.setdefault((self._function, dotted(held, self.imports)), []).append(value)

    def _guarded(self, node: ast.AST, test: ast.expr) -> None:
        self._guards.append(test)
        self.visit(node)
        self._guards.pop()

    def _block(self, body: Sequence[ast.stmt], *tests: ast.expr) -> None:
        """Statements in their order; what stands behind ``if rank != 0: return`` is reached by the others only."""
        guards = self._guards
        self._guards = [*guards, *tests]
        for statement in body:
            self.visit(statement)
            if isinstance(statement, ast.If) and _leaves(statement.body) and not statement.orelse:
                self._guards = [*self._guards, _negated(statement.test)]
        self._guards = guards


def _leaves(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], (ast.Return, ast.Continue, ast.Break, ast.Raise))


def _negated(test: ast.expr) -> ast.expr:
    return ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=test), test)
