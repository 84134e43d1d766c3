"""What ``audit config`` tells of a training's own files: what they say, and never more than they decide."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.audits.configs import SOUND_FACTS, audited, facts, problems, written
from tests.training_setups import FAULTS, SOUND, TRAIN, Fault, fault, write_setup


def test_a_sound_training_shows_exactly_its_facts_and_no_problem(tmp_path: Path) -> None:
    result = audited(write_setup(tmp_path))

    assert facts(result) == SOUND_FACTS
    assert result.problems == ()


@pytest.mark.parametrize("planted", FAULTS, ids=lambda one: one.name)
def test_one_fault_changes_its_own_facts_and_nothing_else(tmp_path: Path, planted: Fault) -> None:
    found = facts(audited(write_setup(tmp_path, planted)))
    differing = {key: value for key, value in found.items() if SOUND_FACTS.get(key) != value}

    assert {name: found[planted.item, name] for name in planted.facts} == planted.facts
    assert {item for item, _ in differing} == {planted.item}


def test_findings_name_the_line(tmp_path: Path) -> None:
    result = audited(write_setup(tmp_path, fault("apex")))
    line = TRAIN.split("\n").index("import torch") + 2

    assert ("amp-config", f"train.py:{line}") in [(one.item, one.place) for one in result.findings]


def test_every_file_is_named_with_its_digest(tmp_path: Path) -> None:
    result = audited(write_setup(tmp_path))

    assert {one.name for one in result.artefacts} == set(SOUND)
    assert all(len(one.digest) == len("sha256:") + 64 for one in result.artefacts)


@pytest.mark.parametrize(
    ("imported", "made"),
    [
        ("import torch", "torch.cuda.amp.GradScaler()"),
        ("import torch", 'torch.amp.GradScaler("cuda")'),
        ("from torch.cuda.amp import GradScaler", "GradScaler()"),
        ("from torch.amp import GradScaler as Scaler", "Scaler()"),
        ("import torch.cuda.amp as amp", "amp.GradScaler()"),
        ("from torch.cuda import amp", "amp.GradScaler(init_scale=65536.0)"),
        ("from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler", "ShardedGradScaler()"),
    ],
)
@pytest.mark.parametrize(
    "cast",
    [
        'torch.autocast("cuda", torch.float16)', "torch.cuda.amp.autocast()", 'torch.autocast(device_type="cuda")',
        'torch.amp.autocast("cuda", dtype=torch.half)', "torch.cuda.amp.autocast(dtype=torch.float16)",
    ],
)  # fmt: skip
def test_fp16_with_a_scaler_is_seen_in_all_spellings(tmp_path: Path, imported: str, made: str, cast: str) -> None:
    code = f"import torch\n{imported}\nscaler = {made}\nwith {cast}:\n    loss = f()\nscaler.scale(loss).backward()\n"
    found = facts(written(tmp_path, train_py=code))

    assert (found["amp-config", "precision"], found["amp-config", "scaler"]) == ("fp16", "dynamic")
    assert found["amp-config", "scaler_fits"] is True


@pytest.mark.parametrize(
    ("code", "scaler"),
    [
        ("import torch\nwith torch.cuda.amp.autocast():\n    f()\n", "none"),
        ("import torch\ns = torch.amp.GradScaler(enabled=0)\nwith torch.autocast('cuda'):\n    s.scale(f())", "none"),
        ("import torch\ns = torch.cuda.amp.GradScaler()\nwith torch.autocast('cuda'):\n    f().backward()\n", "none"),
    ],
    ids=["no scaler", "a scaler that is off", "a scaler that nobody uses"],
)  # fmt: skip
def test_fp16_whose_loss_nothing_scales_does_not_fit(tmp_path: Path, code: str, scaler: str) -> None:
    found = facts(written(tmp_path, train_py=code))

    assert (found["amp-config", "scaler"], found["amp-config", "scaler_fits"]) == (scaler, False)


@pytest.mark.parametrize(
    ("text", "precision", "scaler"),
    [
        ('{"fp16": {"enabled": true}, "train_batch_size": 8}', "fp16", "dynamic"),
        ('{"fp16": {"enabled": true, "loss_scale": 0}, "train_batch_size": 8}', "fp16", "dynamic"),
        ('{"fp16": {"enabled": true, "loss_scale": 128}, "train_batch_size": 8}', "fp16", "fixed"),
        ('{"bf16": {"enabled": true}, "fp16": {"enabled": false}}', "bf16", "none"),
    ],
)
def test_deepspeed_states_precision_and_scale(tmp_path: Path, text: str, precision: str, scaler: str) -> None:
    found = facts(written(tmp_path, ds_json=text))

    assert (found["amp-config", "precision"], found["amp-config", "scaler"]) == (precision, scaler)


@pytest.mark.parametrize("flags", ["--fp16", "--fp16 --loss-scale 128", "--bf16"])
def test_megatrons_flags_state_precision_and_scale(tmp_path: Path, flags: str) -> None:
    found = facts(written(tmp_path, launch_sh=f"#!/bin/bash\ntorchrun pretrain_gpt.py {flags} --num-layers 24\n"))
    expected = {
        "--fp16": ("fp16", "dynamic"), "--fp16 --loss-scale 128": ("fp16", "fixed"), "--bf16": ("bf16", "none"),
    }  # fmt: skip

    assert (found["amp-config", "precision"], found["amp-config", "scaler"]) == expected[flags]


@pytest.mark.parametrize(
    "code",
    [
        "from apex import amp", "import apex.amp", "from apex.amp import initialize", "import apex.amp as mixed",
        "import importlib\namp = importlib.import_module('apex.amp')", "import apex\napex.amp.initialize(m, o)",
    ],
)  # fmt: skip
def test_apex_amp_is_seen_however_it_comes_in(tmp_path: Path, code: str) -> None:
    assert facts(written(tmp_path, train_py=code + "\n"))["amp-config", "apex_used"] is True


def test_other_parts_of_apex_are_no_matter(tmp_path: Path) -> None:
    found = facts(written(tmp_path, train_py="from apex.optimizers import FusedAdam\n"))

    assert found["amp-config", "apex_used"] is False


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import torch\nwith torch.autocast('cuda', dtype=pick()):\n    f()\n", "dtype of autocast cannot be told"),
        ("import torch\nwith torch.autocast('cuda', enabled=read()):\n    f()\n", "whether autocast is enabled"),
        ("x = 1\n", "no file states the precision"),
        ("import torch\nwith torch.autocast('cuda', torch.bfloat16):\n    m.half()\n", "state bf16 and fp16"),
        ("def broken(:\n", "train.py:1 cannot be read as Python"),
    ],
)
def test_a_precision_that_cannot_be_decided_is_a_problem_and_states_none(tmp_path: Path, code: str, said: str) -> None:
    result = written(tmp_path, train_py=code)

    assert any(said in detail for detail in problems(result, "amp-config"))
    assert ("amp-config", "scaler_fits") not in facts(result)


def test_a_branch_that_the_launch_script_turns_off_does_not_count(tmp_path: Path) -> None:
    code = (
        "import argparse\nimport torch\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--fp16', action='store_true')\nargs = parser.parse_args()\n"
        "if args.fp16:\n    model.half()\nelse:\n    model.bfloat16()\n"
    )
    found = facts(written(tmp_path, train_py=code, launch_sh="#!/bin/bash\ntorchrun train.py --lr 1e-4\n"))

    assert found["amp-config", "precision"] == "bf16"


def test_comments_and_trailing_commas_are_read_and_reported(tmp_path: Path) -> None:
    text = (
        '{\n  // precision\n  "bf16": {"enabled": true,},\n  "note": "no // comment, ]",\n  "train_batch_size": 8\n}\n'
    )
    result = written(tmp_path, ds_json=text)
    said = {(one.place, one.said.partition(",")[0]) for one in result.findings if "no JSON" in one.said}

    assert said == {("ds.json:2", "a comment"), ("ds.json:3", "a trailing comma")}
    assert facts(result)["amp-config", "precision"] == "bf16"


def test_a_key_that_stands_twice_is_reported(tmp_path: Path) -> None:
    result = written(tmp_path, ds_json='{"train_batch_size": 8, "bf16": {"enabled": true}, "train_batch_size": 16}')

    assert any("'train_batch_size' stands twice" in one.said for one in result.findings)


def test_a_tensor_group_that_reaches_over_a_node_is_counted(tmp_path: Path) -> None:
    script = (
        "#!/bin/bash\n#SBATCH --nodes=3\n#SBATCH --gres=gpu:h200:8\n"
        "MODEL_ARGS=(\n  --tensor-model-parallel-size 12\n  --pipeline-model-parallel-size 2 # two stages\n"
        "  --micro-batch-size 1\n  --global-batch-size 64\n)\nsrun python pretrain_gpt.py ${MODEL_ARGS[@]}\n"
    )
    found = facts(written(tmp_path, launch_sh=script))

    # Ranks 0-11 lie on nodes 0 and 1, ranks 12-23 on nodes 1 and 2.
    assert found["parallel-layout", "tensor_groups_split"] == 2
    assert (found["parallel-layout", "gpus"], found["parallel-layout", "layout_product"]) == (24, 24)


def test_a_layout_that_leaves_gpus_over_is_no_multiple(tmp_path: Path) -> None:
    script = (
        "#!/bin/bash\nTP=8\nPP=3\ntorchrun --nnodes 4 --nproc-per-node 8 pretrain_gpt.py "
        "--tensor-model-parallel-size $TP --pipeline-model-parallel-size ${PP} --num-layers 24\n"
    )
    found = facts(written(tmp_path, launch_sh=script))

    assert (found["parallel-layout", "gpus"], found["parallel-layout", "layout_product"]) == (32, 24)


@pytest.mark.parametrize(
    "script",
    [
        "torchrun --nnodes=$NODES --nproc_per_node=8 train.py",
        "torchrun --nnodes=1:4 --nproc_per_node=8 train.py",
        "torchrun --nnodes=2 --nproc_per_node=8 train.py --tensor-model-parallel-size $(cat tp)",
        "torchrun --nnodes=2 --nproc_per_node=8 a.py\ntorchrun --nnodes=4 --nproc_per_node=8 b.py",
        "torchrun --nnodes=2 --nproc_per_node=8 train.py",
    ],
    ids=["nodes from outside", "elastic", "a degree from a command", "two launches", "no batch"],
)
def test_a_layout_that_only_a_shell_knows_is_a_problem(tmp_path: Path, script: str) -> None:
    assert problems(written(tmp_path, launch_sh=f"#!/bin/bash\n{script}\n"), "parallel-layout")


@pytest.mark.parametrize(
    ("call", "seconds"),
    [
        ("dist.init_process_group('nccl')", 600.0),
        ("dist.init_process_group('nccl', timeout=None)", 600.0),
        ("dist.init_process_group('nccl', timeout=timedelta(hours=1, minutes=30))", 5400.0),
        ("dist.init_process_group('nccl', timeout=datetime.timedelta(0, 7200))", 7200.0),
        ("dist.init_process_group('nccl', timeout=LIMIT)", 1200.0),
        ("deepspeed.init_distributed()", 1800.0),
    ],
)
def test_the_timeout_is_read_with_the_libraries_defaults(tmp_path: Path, call: str, seconds: float) -> None:
    code = (
        "import datetime\nfrom datetime import timedelta\nimport deepspeed\nimport torch.distributed as dist\n"
        f"LIMIT = timedelta(seconds=20 * 60)\n{call}\n"
    )

    assert facts(written(tmp_path, train_py=code))["collective-timeout", "timeout"] == seconds


def test_a_timeout_from_elsewhere_is_a_problem(tmp_path: Path) -> None:
    code = "import torch.distributed as dist\ndist.init_process_group('nccl', timeout=settings().timeout)\n"
    result = written(tmp_path, train_py=code)

    assert ("collective-timeout", "timeout") not in facts(result)
    assert any("cannot be told" in detail for detail in problems(result, "collective-timeout"))


def test_a_script_that_sources_an_unseen_file_decides_no_variable(tmp_path: Path) -> None:
    result = written(tmp_path, launch_sh="#!/bin/bash\nsource env/cluster.sh\ntorchrun --nnodes=1 train.py\n")

    assert any("env/cluster.sh sets variables" in one for one in problems(result, "ops-log-policy"))
    assert ("collective-timeout", "flight_recorder") not in facts(result)
