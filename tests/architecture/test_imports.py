"""Who may import whom."""

import ast
import subprocess
import sys
from pathlib import Path

from tests.architecture.source_files import ROOT, imported_modules, python_files

IMPORT_ALL_OF_DOMAIN = """
import importlib, pkgutil, sys
import checks.domain
for module in pkgutil.walk_packages(checks.domain.__path__, "checks.domain."):
    importlib.import_module(module.name)
print([name for name in sys.modules if name.partition(".")[0] in {"django", "rest_framework", "celery", "psycopg"}])
"""


def test_every_import_contract_is_kept() -> None:
    program = Path(sys.executable).with_name("lint-imports")
    linted = subprocess.run([program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert linted.returncode == 0, linted.stdout


def test_importing_the_domain_loads_no_framework() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL_OF_DOMAIN], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


def test_the_agent_imports_the_standard_library_and_itself_only() -> None:
    allowed = sys.stdlib_module_names | {"readiness_agent"}
    strangers = {
        f"{path.relative_to(ROOT)}: {module}"
        for path in python_files("agents")
        for module in imported_modules(path)
        if module.partition(".")[0] not in allowed
    }
    assert not strangers


def test_the_agent_runs_on_a_bare_python() -> None:
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "agents", "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


def test_the_agent_uses_nothing_newer_than_python_3_9() -> None:
    program = Path(sys.executable).with_name("vermin")
    judged = subprocess.run(
        [program, "--target=3.9-", "--eval-annotations", "--no-tips", "--violations", "agents/readiness_agent"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert judged.returncode == 0, judged.stdout


def test_pages_commands_and_api_write_through_services_only() -> None:
    writes = {
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in python_files("checks/api", "checks/management", "portal/ui")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Attribute) and call.attr in {"save", "create", "bulk_create"}
    }
    assert not writes


def test_no_module_is_named_utils() -> None:
    assert [path for path in python_files() if path.stem in {"utils", "helpers", "misc", "common"}] == []
