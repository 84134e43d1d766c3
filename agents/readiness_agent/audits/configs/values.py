"""What an expression of training code is worth, as far as code and launch scripts decide it."""

from __future__ import annotations

import ast
import operator
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Type

from readiness_agent.audits.configs.code import Call, Module, dotted
from readiness_agent.audits.configs.launches import Launches

UNKNOWN = object()
"""Cannot be told; never equal to any value of a program."""

_DEEPEST = 12
_LONGEST = 10_000
_LARGEST = 2**63
_SETTINGS = frozenset({
    "args", "arg", "opt", "opts", "options", "cfg", "config", "conf", "hparams", "training_args", "params", "flags",
})  # fmt: skip
_TYPES: Dict[str, Callable[[Any], Any]] = {"int": int, "float": float, "str": str, "bool": bool}
_OPERATORS: Dict[Type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_COMPARISONS: Dict[Type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Is: operator.eq, ast.IsNot: operator.ne, ast.Lt: operator.lt,
    ast.Gt: operator.gt, ast.LtE: operator.le, ast.GtE: operator.ge, ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}  # fmt: skip


class Resolver:
    """Resolves expressions of one module: constants, names assigned once, and settings that a launch script gives."""

    def __init__(self, module: Module, defaults: Mapping[str, Any], launches: Launches) -> None:
        """*defaults* are those of the settings, from ``defaults_of`` all modules."""
        self._module = module
        self._launches = launches
        self._defaults = defaults

    def value(self, node: Optional[ast.AST], function: str = "", depth: int = 0) -> Any:
        """The value of *node* inside of *function*, or ``UNKNOWN``."""
        if node is None or depth > _DEEPEST:
            return UNKNOWN
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._name(node, function, depth)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, (ast.UnaryOp, ast.BinOp, ast.Compare, ast.BoolOp, ast.IfExp)):
            return self._computed(node, function, depth + 1)
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            held = [self.value(one, function, depth + 1) for one in node.elts]
            return UNKNOWN if UNKNOWN in held else held
        return self._called(node, function, depth) if isinstance(node, ast.Call) else self._environment(node)

    def truth(self, test: ast.expr, function: str = "") -> Optional[bool]:
        """Whether a condition holds in this run; None where that cannot be told."""
        found = self.value(test, function)
        return None if found is UNKNOWN else bool(found)

    def name(self, node: ast.AST) -> str:
        """The dotted name of *node*, with imports resolved."""
        return dotted(node, self._module.imports)

    def assigned(self, name: str, function: str) -> Sequence[ast.expr]:
        """All that is assigned to *name*, in the function or else outside of any."""
        held = self._module.assigned
        return held.get((function, name)) or held.get(("", name)) or ()

    def shell_text(self, node: ast.AST) -> Optional[str]:
        """What a script gives to the setting *node*, with variables in it that only a shell knows; None without one."""
        if not isinstance(node, ast.Attribute) or not self._is_setting(node):
            return None
        told = self._launches.flag(node.attr)
        return told.text if told is not None and told.text else None

    def _is_setting(self, node: ast.Attribute) -> bool:
        return self.name(node.value).rpartition(".")[2].rstrip("()").lower() in _SETTINGS

    def _name(self, node: ast.Name, function: str, depth: int) -> Any:
        values = self.assigned(node.id, function)
        return self.value(values[0], function, depth + 1) if len(values) == 1 else UNKNOWN

    def _attribute(self, node: ast.Attribute) -> Any:
        """``args.fp16``: the flag of a script, or else the default of the parser."""
        if not self._is_setting(node):
            return UNKNOWN
        told = self._launches.flag(node.attr)
        if told is None:
            return self._defaults.get(node.attr, UNKNOWN) if self._launches else UNKNOWN
        return UNKNOWN if told.value is None else _plain(told.value)

    def _computed(self, node: ast.AST, function: str, depth: int) -> Any:
        try:
            if isinstance(node, ast.BinOp):
                sides = self.value(node.left, function, depth), self.value(node.right, function, depth)
                return UNKNOWN if UNKNOWN in sides else _reckoned(node.op, *sides)
            if isinstance(node, ast.Compare) and len(node.ops) == 1:
                sides = self.value(node.left, function, depth), self.value(node.comparators[0], function, depth)
                return UNKNOWN if UNKNOWN in sides else _COMPARISONS[type(node.ops[0])](*sides)
            if isinstance(node, ast.UnaryOp):
                held = self.value(node.operand, function, depth)
                return UNKNOWN if held is UNKNOWN else not held if isinstance(node.op, ast.Not) else -held
        except (TypeError, ValueError, KeyError, ArithmeticError):
            return UNKNOWN
        return self._chosen(node, function, depth)

    def _chosen(self, node: ast.AST, function: str, depth: int) -> Any:
        if isinstance(node, ast.IfExp):
            test = self.value(node.test, function, depth)
            return UNKNOWN if test is UNKNOWN else self.value(node.body if test else node.orelse, function, depth)
        if not isinstance(node, ast.BoolOp):
            return UNKNOWN
        held = [self.value(one, function, depth) for one in node.values]
        decides = isinstance(node.op, ast.Or)
        if any(one is not UNKNOWN and bool(one) is decides for one in held):
            return decides
        return UNKNOWN if UNKNOWN in held else held[-1]

    def _called(self, node: ast.Call, function: str, depth: int) -> Any:
        name = self.name(node.func)
        if name in ("os.environ.get", "os.getenv") and node.args:
            return self._variable(self.value(node.args[0]))
        if name in _TYPES and len(node.args) == 1:
            held = self.value(node.args[0], function, depth + 1)
            try:
                return UNKNOWN if held is UNKNOWN else _TYPES[name](held)
            except (TypeError, ValueError, OverflowError):
                return UNKNOWN
        return UNKNOWN

    def _environment(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Subscript) and self.name(node.value) == "os.environ":
            return self._variable(self.value(node.slice))
        return UNKNOWN

    def _variable(self, name: Any) -> Any:
        told = self._launches.variable(name) if isinstance(name, str) else None
        return UNKNOWN if told is None or told.value is None else told.value


def _reckoned(sign: ast.operator, left: Any, right: Any) -> Any:
    """Numbers, and texts one after the other; nothing that could grow beyond what a person writes."""
    if isinstance(left, str) and isinstance(right, str) and isinstance(sign, ast.Add):
        return left + right if len(left) + len(right) <= _LONGEST else UNKNOWN
    if not all(isinstance(one, (int, float)) and abs(one) < _LARGEST for one in (left, right)):
        return UNKNOWN
    return _OPERATORS[type(sign)](left, right)


def _plain(text: str) -> Any:
    """A flag's text as its parser most likely reads it; a flag alone is true."""
    words = {"": True, "true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def defaults_of(modules: Sequence[Module]) -> Dict[str, Any]:
    """Defaults of ``add_argument`` anywhere in the code; two parsers that differ decide nothing."""
    found: Dict[str, Any] = {}
    for call in (call for module in modules for call in module.calls if call.method == "add_argument"):
        name, value = _flag_name(call), _default(call)
        if name:
            found[name] = value if found.get(name, value) == value else UNKNOWN
    return found


def _flag_name(call: Call) -> str:
    given = [one.value for one in call.node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    long = next((one for one in given if one.startswith("--")), "")
    stated = call.argument(-1, "dest")
    return str(stated.value) if isinstance(stated, ast.Constant) else long[2:].replace("-", "_")


def _default(call: Call) -> Any:
    default, action = call.argument(-1, "default"), call.argument(-1, "action")
    if default is not None:
        return default.value if isinstance(default, ast.Constant) else UNKNOWN
    word = action.value if isinstance(action, ast.Constant) else None
    return {"store_true": False, "store_false": True}.get(str(word))
