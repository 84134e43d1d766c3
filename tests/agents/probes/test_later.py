"""Probes of the day are loaded when they run: no tick pays for what it does not do."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from readiness_agent.probes import PROBES
from readiness_agent.probes.later import DAILY
from readiness_agent.source import Probe

MODULES = ["acs", "driver", "nvme", "qos", "training"]


@pytest.mark.parametrize("module", MODULES)
def test_what_is_said_of_a_probe_is_what_it_says_of_itself(module: str) -> None:
    loaded = importlib.import_module(f"readiness_agent.probes.{module}")
    own = next(one for one in vars(loaded).values() if isinstance(one, Probe))
    told = next(one for one in DAILY if one.name == own.name)

    assert told._replace(run=own.run) == own


def test_every_module_that_is_loaded_later_is_in_the_registry_once() -> None:
    names = [one.name for one in PROBES]

    assert len(names) == len(set(names))
    assert {one.name for one in DAILY} == set(MODULES)


def test_the_registry_loads_none_of_them() -> None:
    script = "import readiness_agent.probes, sys; print(*sys.modules)"
    agents = Path(__file__).parents[3] / "agents"
    done = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": str(agents)}, capture_output=True, text=True, check=True
    )

    assert not {f"readiness_agent.probes.{module}" for module in MODULES} & set(done.stdout.split())
