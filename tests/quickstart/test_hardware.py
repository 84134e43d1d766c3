"""The first guess of a machine's hardware profile."""

from pathlib import Path

import pytest

from portal.quickstart import hardware

PROFILES = Path(__file__).resolve().parents[2] / "checks" / "catalog" / "profiles"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without GPUs, on bare metal."""
    (tmp_path / "cpuinfo").write_text("flags\t\t: fpu vme sse4_2\n")
    monkeypatch.setattr(hardware, "NVIDIA", tmp_path / "gpus")
    monkeypatch.setattr(hardware, "CPUINFO", tmp_path / "cpuinfo")
    return tmp_path


def put_gpus(machine: Path, model: str, count: int) -> None:
    for number in range(count):
        directory = machine / "gpus" / f"0000:{number:02x}:00.0"
        directory.mkdir(parents=True)
        (directory / "information").write_text(f"Model: \t\t {model}\nIRQ:   \t\t 42\n")


def test_a_machine_without_gpus_is_judged_as_one(machine: Path) -> None:
    assert hardware.profile_of_this_machine(PROFILES) == "no-gpu"


def test_a_hypervisor_flag_makes_it_a_virtual_machine(machine: Path) -> None:
    (machine / "cpuinfo").write_text("flags\t\t: fpu vme hypervisor sse4_2\n")
    assert hardware.profile_of_this_machine(PROFILES) == "virtual"


def test_eight_h100_are_recognised(machine: Path) -> None:
    put_gpus(machine, "NVIDIA H100 80GB HBM3", 8)
    assert hardware.profile_of_this_machine(PROFILES) == "8xh100"


def test_a_gh200_is_not_taken_for_an_h200(machine: Path) -> None:
    put_gpus(machine, "NVIDIA GH200 480GB", 8)
    assert hardware.profile_of_this_machine(PROFILES) == "no-gpu"
