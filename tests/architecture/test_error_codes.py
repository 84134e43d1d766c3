"""docs/api-errors.md knows every code that the source can answer with, and no other."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from rest_framework import exceptions

from checks.api.problems import problem_handler
from tests.architecture.source_files import ROOT, python_files

PAGE = ROOT / "docs" / "api-errors.md"


def documented() -> set[str]:
    """Codes in the first column of the page's tables."""
    cells = (line.split("|")[1] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `"))
    return {code for cell in cells for code in re.findall(r"`(\w+)`", cell)}


def codes_in(path: Path) -> Iterator[str]:
    """Every code that a module names: assigned, in a call, or beside its status in a tuple; each way of a choice."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign):
            named = [node.value] if _names(node, "code") else []
        elif isinstance(node, ast.Call):
            named = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
        elif isinstance(node, ast.Tuple) and len(node.elts) == 4:
            named = node.elts[1:2] if _is_status(node.elts[0]) else []
        else:
            continue
        for one in named:
            yield from _texts(one)


def framework_codes() -> set[str]:
    """What the API framework's own errors become on the wire."""
    kinds = [kind for kind in vars(exceptions).values() if isinstance(kind, type)]
    errors = [kind("GET") if kind is exceptions.MethodNotAllowed else
              kind("text/plain") if kind is exceptions.UnsupportedMediaType else kind()
              for kind in kinds if issubclass(kind, exceptions.APIException)]  # fmt: skip
    answers = [problem_handler(error, {}) for error in errors]
    return {answer.data["code"] for answer in answers if answer is not None}


def _texts(value: ast.expr) -> Iterator[str]:
    """The text, or those between which a condition chooses."""
    if isinstance(value, ast.IfExp):
        yield from _texts(value.body)
        yield from _texts(value.orelse)
    elif isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value


def _names(assignment: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in assignment.targets)


def _is_status(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and 400 <= node.value < 600


def known() -> set[str]:
    return {code for path in python_files("checks", "portal") for code in codes_in(path)} | framework_codes()


def test_no_code_of_the_source_is_missing_from_the_page() -> None:
    assert known() - documented() == set()


def test_the_page_names_no_code_that_does_not_exist() -> None:
    assert documented() - known() == set()


def test_the_search_finds_codes_of_classes_calls_tuples_and_choices() -> None:
    found = known()

    assert {"bad_node_set", "origin_mismatch", "database_unavailable", "method_not_allowed"} <= found
    assert "unsupported_schema" in found
