"""What a node pays for an agent, as far as it does not depend on the machine: versions and imports."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

from readiness_agent.config import Paths
from readiness_agent.lock import TickLock
from tests.agents.portals import LoopbackPortal

ROOT = Path(__file__).parents[2]
LIST_IMPORTS = (
    "import json, sys; from readiness_agent.cli import main; main({argv}); json.dump(sorted(sys.modules), sys.stderr)"
)


def imported_by(paths: Paths, *argv: str) -> set[str]:
    """Modules that a command has imported when it ends."""
    home = str(Path(paths.config).parent)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "agents"), "READINESS_AGENT_HOME": home}
    script = LIST_IMPORTS.format(argv=list(argv))
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, check=True, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_every_module_runs_on_python_3_9() -> None:
    vermin = str(Path(sys.executable).with_name("vermin"))
    command = [vermin, "--target=3.9-", "--violations", "--no-tips", "--eval-annotations", "agents"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_tick_with_nothing_to_do_loads_neither_http_nor_tls(enrolled: Paths, portal: LoopbackPortal) -> None:
    imported_by(enrolled, "tick")
    portal.asked.clear()

    modules = imported_by(enrolled, "tick")

    assert portal.asked == []
    assert not modules & {
        "ssl",
        "http.client",
        "urllib.request",
        "email",
        "subprocess",
        "asyncio",
        "tarfile",
        "logging",
    }


def test_a_tick_that_finds_another_one_running_loads_almost_nothing(enrolled: Paths) -> None:
    lock = TickLock(enrolled.in_state("lock"))
    assert lock.acquire()

    modules = imported_by(enrolled, "tick")

    assert not {name for name in modules if name.startswith("readiness_agent.probes")}
    assert "readiness_agent.agent" not in modules
    lock.release()


def test_a_tick_loads_no_audit(enrolled: Paths, portal: LoopbackPortal) -> None:
    modules = imported_by(enrolled, "tick")

    assert not {name for name in modules if name.startswith("readiness_agent.audits.")}


def test_a_tick_that_is_asked_for_no_setting_loads_nothing_about_settings(
    enrolled: Paths, portal: LoopbackPortal
) -> None:
    modules = imported_by(enrolled, "tick")

    assert not {name for name in modules if name.startswith("readiness_agent.fingerprint")}
    assert "readiness_agent.probes.settings" not in modules


def test_an_audit_of_lines_loads_no_data_library(enrolled: Paths, tmp_path: Path) -> None:
    (tmp_path / "part-0.jsonl").write_text('{"text": "one document"}\n')

    modules = imported_by(enrolled, "audit", "dataset", str(tmp_path / "part-0.jsonl"))

    assert "readiness_agent.audits.dataset" in modules
    assert not modules & {"pyarrow", "numpy", "tokenizers", "transformers", "zstandard", "fasttext"}


def test_the_agent_needs_nothing_but_the_standard_library() -> None:
    imported = set()
    for path in (ROOT / "agents").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add((node.module or "").partition(".")[0])

    assert imported - set(sys.stdlib_module_names) == {"readiness_agent"}
