"""The project's own source files."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON_PACKAGES = ("agents", "benchmarks", "checks", "portal", "tests")
# Made by tools, or not ours to judge.
APART = frozenset(
    {".git", ".venv", "var", "staticfiles", "dist", "node_modules", "__pycache__", ".hypothesis"}
    | {".mypy_cache", ".pytest_cache", ".ruff_cache", ".import_linter_cache"}
)


def python_files(*packages: str) -> Iterator[Path]:
    """Every module of *packages* (all of ours by default), migrations apart: Django writes those."""
    for package in packages or PYTHON_PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "migrations" not in path.parts and not APART.intersection(path.parts):
                yield path


def text_files() -> Iterator[tuple[Path, str]]:
    """Every file that a person wrote, with its text."""
    for path in sorted(ROOT.rglob("*")):
        if APART.intersection(path.relative_to(ROOT).parts) or not path.is_file():
            continue
        try:
            yield path.relative_to(ROOT), path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function of a module, methods and inner ones too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def imported_modules(path: Path) -> Iterator[str]:
    """The names of the modules that a file imports, wherever it does."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
