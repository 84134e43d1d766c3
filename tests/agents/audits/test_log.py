"""What ``audit log`` tells of a training's own logs, whatever wrote them."""

from __future__ import annotations

import argparse
import json
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from readiness_agent.audits import AuditResult
from readiness_agent.audits.log import audit
from readiness_agent.audits.logs.events import Damaged, read_steps

MEGATRON = (
    " [2026-11-28 08:15:{second:02}] iteration {step:8}/  500000 | consumed samples: {samples:12} | "
    "elapsed time per iteration (ms): 1820.4 | throughput per GPU (TFLOP/s/GPU): 412.3 | learning rate: {lr:.6E} | "
    "global batch size:  1024 | lm loss: {loss} | loss scale: 1.0 | grad norm: {norm} | "
    "number of skipped iterations: {skipped:3} | number of nan iterations:   0 |\n"
)


def audited(*paths: Path) -> AuditResult:
    return audit(argparse.Namespace(paths=[str(path) for path in paths], run=""))


def facts(result: AuditResult) -> dict[tuple[str, str], Any]:
    return {(fact.item, fact.name): fact.value for fact in result.facts}


def problems(result: AuditResult, item: str) -> list[str]:
    return [problem.detail for problem in result.problems if problem.item == item]


def said(result: AuditResult) -> list[str]:
    return [one.said for one in result.findings if one.item == "ops-log-policy"]


def logged(place: Path, text: str) -> AuditResult:
    (place / "train.log").write_text(text, encoding="utf-8")
    return audited(place / "train.log")


def megatron(step: int, *, loss: str = "1.053000E+01", norm: str = "3.912", skipped: int = 0) -> str:
    return MEGATRON.format(
        second=step % 60, step=step, samples=step * 1024, lr=1e-6 * step, loss=loss, norm=norm, skipped=skipped
    )


def json_line(step: int, **changes: Any) -> str:
    told = {"step": step, "loss": 10.5, "lr": 1e-4, "grad_norm": 3.9, "tokens_per_second": 41_000.0} | changes
    return json.dumps({name: value for name, value in told.items() if value is not None}) + "\n"


def test_a_megatron_log_tells_norm_gaps_fields_and_volume(tmp_path: Path) -> None:
    text = "".join(megatron(step) for step in range(1, 201))
    found = facts(logged(tmp_path, "starting up\n" * 5000 + text))

    assert (found["grad-norm-first-step", "grad_norm"], found["grad-norm-first-step", "step"]) == (3.912, 1)
    assert (found["ops-log-policy", "steps_without_line"], found["ops-log-policy", "fields_missing"]) == (0, 0)
    assert found["ops-log-policy", "volume_1000_steps"] == round(len(text) / 200 * 1000 / 2**20, 4)


def test_skipped_iterations_are_no_first_step(tmp_path: Path) -> None:
    skipped = "".join(megatron(step, norm="nan", skipped=1) for step in (1, 2))
    found = facts(logged(tmp_path, skipped + "".join(megatron(step, norm=f"{step}.5") for step in range(3, 9))))

    assert (found["grad-norm-first-step", "grad_norm"], found["grad-norm-first-step", "step"]) == (3.5, 3)


def test_deepspeeds_lines_make_one_step_and_its_overflow_is_no_first_step(tmp_path: Path) -> None:
    head = "[2026-11-28 08:00:{0:02},412] [INFO] [logging.py:96:log_dist] [Rank 0] "
    text = (
        "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768\n"
        + head.format(1) + "step=1, skipped=1, lr=[0.0], mom=[(0.9, 0.95)]\n"
        + "steps: 1 loss: 10.9 iter time (s): 0.512 samples/sec: 31.2\n"
        + head.format(2) + "step=2, skipped=1, lr=[1.5e-05], mom=[(0.9, 0.95)]\n"
        + "steps: 2 loss: 10.8 grad_norm: 2.25 iter time (s): 0.511 samples/sec: 31.3\n"
    )  # fmt: skip
    found = facts(logged(tmp_path, text))

    assert (found["grad-norm-first-step", "step"], found["grad-norm-first-step", "grad_norm"]) == (2, 2.25)
    assert found["ops-log-policy", "fields_missing"] == 0


def test_json_lines_are_read_nested_and_flat(tmp_path: Path) -> None:
    lines = [json_line(1), '{"global_step": 2, "train": {"loss": 9.9, "lr": 0.1, "grad_norm": 1.0}}\n']
    found = facts(logged(tmp_path, "".join(lines)))

    assert found["grad-norm-first-step", "grad_norm"] == 3.9


@pytest.mark.parametrize(
    "line",
    [
        "step 1 loss 2.31 lr 1e-4 grad_norm 0.8 tok/s 41000\n",
        "Step: 1 | loss=2.31 | lr=1e-4 | grad_norm=0.8 | samples/s=31\n",
    ],
)  # fmt: skip
def test_lines_of_names_and_numbers_are_read(tmp_path: Path, line: str) -> None:
    found = facts(logged(tmp_path, line))

    assert found["grad-norm-first-step", "grad_norm"] == 0.8
    assert found["ops-log-policy", "fields_missing"] == 0


def test_steps_without_a_line_are_counted(tmp_path: Path) -> None:
    found = facts(logged(tmp_path, "".join(json_line(step) for step in (1, 2, 5, 6, 10))))

    assert found["ops-log-policy", "steps_without_line"] == 2 + 3


def test_steps_that_come_again_after_a_restart_are_no_gap(tmp_path: Path) -> None:
    found = facts(logged(tmp_path, "".join(json_line(step) for step in (1, 2, 3, 2, 3, 4))))

    assert found["ops-log-policy", "steps_without_line"] == 0


def test_fields_that_no_step_tells_are_counted(tmp_path: Path) -> None:
    result = logged(tmp_path, "".join(json_line(step, lr=None, tokens_per_second=None) for step in range(1, 4)))

    assert facts(result)["ops-log-policy", "fields_missing"] == 2
    assert "no step tells lr, throughput" in said(result)


@pytest.mark.parametrize(
    "line",
    [
        json_line(3, loss=None), '{"step": 3, "loss": NaN, "grad_norm": 1.0}\n', json_line(3, loss="broken"),
        megatron(3, loss="nan"),
    ],
    ids=["missing", "nan", "text", "megatron"],
)  # fmt: skip
def test_a_loss_that_is_no_number_is_found(tmp_path: Path, line: str) -> None:
    result = logged(tmp_path, json_line(1) + json_line(2) + line)

    assert any("step 3" in one for one in said(result))


def test_a_log_that_begins_later_holds_no_first_step(tmp_path: Path) -> None:
    result = logged(tmp_path, "".join(megatron(step) for step in range(5001, 5010)))

    assert problems(result, "grad-norm-first-step") == ["the log begins with step 5001: the first step is not in it"]


@pytest.mark.parametrize("norm", ["nan", "inf"])
def test_a_norm_that_is_no_number_is_a_problem_and_no_fact(tmp_path: Path, norm: str) -> None:
    result = logged(tmp_path, megatron(1, norm=norm))

    assert problems(result, "grad-norm-first-step")
    assert ("grad-norm-first-step", "grad_norm") not in facts(result)


def test_too_few_steps_tell_no_volume(tmp_path: Path) -> None:
    result = logged(tmp_path, "".join(json_line(step) for step in range(1, 51)))

    assert ("ops-log-policy", "volume_1000_steps") not in facts(result)
    assert any("50 steps are too few" in one for one in problems(result, "ops-log-policy"))


@pytest.mark.parametrize("text", ["", "hello\n", "\x00" * 5000, '{"step": true, "loss": 1}\n', "{" * 70_000 + "\n"])
def test_a_file_without_steps_is_unknown(tmp_path: Path, text: str) -> None:
    result = logged(tmp_path, text)

    assert facts(result) == {}
    assert problems(result, "grad-norm-first-step") and problems(result, "ops-log-policy")


@pytest.mark.parametrize(
    ("line", "backend"),
    [
        ("[DEBUG    | DotProductAttention]: Running with FlashAttention backend (version 2.7.3)", "flash"),
        ("[DEBUG    | DotProductAttention]: Running with FusedAttention backend (sub-backend 1)", "cudnn"),
        ("[DEBUG    | DotProductAttention]: Running with UnfusedDotProductAttention backend", "math"),
        ('  "attn_implementation": "flash_attention_2",', "flash"),
        ("  attention_backend ............................... AttnBackend.flash", "flash"),
    ],
)
def test_the_attention_kernel_is_told_where_the_log_says_it(tmp_path: Path, line: str, backend: str) -> None:
    assert facts(logged(tmp_path, line + "\n" + json_line(1)))["attention-backend", "backend"] == backend


def test_two_kernels_are_a_problem_and_none_is_not_covered(tmp_path: Path) -> None:
    both = "Running with FlashAttention backend\nRunning with UnfusedDotProductAttention backend\n"

    assert problems(logged(tmp_path, both + json_line(1)), "attention-backend")
    assert "attention-backend" not in logged(tmp_path, json_line(1)).covered


@pytest.mark.parametrize(
    ("line", "twice"),
    [
        ("    save-checkpoint ................................: (21044.10, 42088.20)", 84.176),
        ("Saved checkpoint at step 500 to /ckpt/x in 61.5 s", 123.0),
        (json_line(2, save_seconds=45.0).strip(), 90.0),
    ],
)
def test_the_longest_save_is_told_twice_over(tmp_path: Path, line: str, twice: float) -> None:
    assert facts(logged(tmp_path, json_line(1) + line + "\n"))["collective-timeout", "twice_save"] == twice


# TensorBoard's files, written here by the format's own rules.


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def block(field: int, body: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(body)) + body


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", crc32c(length)) + data + struct.pack("<I", crc32c(data))


def scalar(step: int, tag: str, value: float, *, as_tensor: bool = False) -> bytes:
    held = (
        block(8, b"\x08\x01" + block(4, struct.pack("<f", value))) if as_tensor else b"\x15" + struct.pack("<f", value)
    )
    event = b"\x09" + struct.pack("<d", 1.7e9 + step) + b"\x10" + varint(step)
    return record(event + block(5, block(1, block(1, tag.encode()) + held)))


def events(*, steps: int, as_tensor: bool = False) -> bytes:
    version = record(b"\x09" + struct.pack("<d", 1.7e9) + block(3, b"brain.Event:2"))
    tags = {"train/loss": 10.0, "train/learning_rate": 0.5, "train/grad_norm": 2.5, "train/samples_per_second": 31.0}
    return version + b"".join(
        scalar(step, tag, value, as_tensor=as_tensor) for step in range(1, steps + 1) for tag, value in tags.items()
    )


@pytest.mark.parametrize("as_tensor", [False, True])
def test_tensorboards_scalars_are_read_by_step(tmp_path: Path, as_tensor: bool) -> None:
    (tmp_path / "events.out.tfevents.1700000000.gpu001").write_bytes(events(steps=300, as_tensor=as_tensor))
    found = facts(audited(tmp_path))

    assert (found["grad-norm-first-step", "grad_norm"], found["grad-norm-first-step", "step"]) == (2.5, 1)
    assert (found["ops-log-policy", "steps_without_line"], found["ops-log-policy", "fields_missing"]) == (0, 0)
    assert ("ops-log-policy", "volume_1000_steps") not in found


def test_event_files_beside_a_log_do_not_count_its_steps_twice(tmp_path: Path) -> None:
    (tmp_path / "events.out.tfevents.1").write_bytes(events(steps=200))
    text = "".join(json_line(step) for step in range(1, 201))
    (tmp_path / "train.jsonl").write_text(text)
    found = facts(audited(tmp_path))

    assert found["ops-log-policy", "volume_1000_steps"] == round(len(text) / 200 * 1000 / 2**20, 4)


@pytest.mark.parametrize("cut", [1, 11, 13, 40, 333])
def test_an_event_file_that_ends_within_a_record_is_a_problem(tmp_path: Path, cut: int) -> None:
    (tmp_path / "events").write_bytes(events(steps=10)[:-cut])

    assert problems(audited(tmp_path / "events"), "grad-norm-first-step")


def test_damage_in_an_event_file_ends_in_one_error_whatever_it_is(tmp_path: Path) -> None:
    whole = events(steps=3)
    for place in range(len(whole)):
        (tmp_path / "events").write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with (tmp_path / "events").open("rb") as file:
            try:
                list(read_steps(file, "events"))
            except Damaged:
                continue


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    lines = "".join(json_line(step) for step in range(1, 2001))
    with (tmp_path / "train.log").open("w") as file:
        for _ in range(10):
            file.write(lines)
        file.write("x" * 5_000_000 + "\n")
    tracemalloc.start()
    audited(tmp_path / "train.log")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 1_500_000
