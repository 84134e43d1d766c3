"""Configurations, launches and logs of other frameworks and launchers than the saved cases, and nvidia-smi's tables."""

from __future__ import annotations

import json

import pytest

from readiness_agent.commands.parse import read_output
from tests.agents.parsers.saved_outputs import complaints, facts, read

DEEPSPEED, PIP, LAUNCH, TRAINING = "DeepSpeed config", "pip requirements", "launch script", "training log"


def test_a_precision_that_is_left_to_the_framework_is_not_on() -> None:
    config = {"train_batch_size": 8, "fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"}}

    assert facts(read(DEEPSPEED, json.dumps(config)))["precision"] == "auto"


def test_two_precisions_at_once_are_a_problem() -> None:
    config = {"train_batch_size": 8, "fp16": {"enabled": True}, "bf16": {"enabled": True}}

    assert "both on" in complaints(read(DEEPSPEED, json.dumps(config)))


@pytest.mark.parametrize(
    ("zero", "said"),
    [({"stage": 4}, "no stage 4"), ({"stage": 3, "offload_param": {"device": "nvme"}}, "names no nvme_path")],
)
def test_what_deepspeed_would_refuse_is_a_problem(zero: dict[str, object], said: str) -> None:
    config = {"train_batch_size": 8, "bf16": {"enabled": True}, "zero_optimization": zero}

    assert said in complaints(read(DEEPSPEED, json.dumps(config)))


def test_two_offloads_to_one_path_name_it_once() -> None:
    part = {"device": "nvme", "nvme_path": "/local"}
    config = {"train_batch_size": 8, "zero_optimization": {"offload_optimizer": part, "offload_param": part}}

    saved = read(DEEPSPEED, json.dumps(config))

    assert [fact.value for fact in saved.facts if fact.name == "nvme_path"] == ["/local"]


def test_a_version_with_a_star_is_a_range() -> None:
    saved = read(PIP, "scipy==1.*\nninja==1.11.1\n")

    assert facts(saved)["ranges"] == "scipy"
    assert facts(saved, "scipy") == {}


def test_an_editable_distribution_counts_like_any_other() -> None:
    saved = read(PIP, "-e git+https://example.org/apex.git@master#egg=apex\nninja==1.11.1\n")

    assert (facts(saved)["requirements"], facts(saved)["unpinned"]) == (2, "apex")


def test_a_list_that_includes_another_file_is_not_the_whole_list() -> None:
    assert "base.txt" in complaints(read(PIP, "-r base.txt\nninja==1.11.1\n"))


def test_a_launch_with_torchrun_and_short_options() -> None:
    text = (
        "#SBATCH -N 16\nTP=8; PP=4\n"
        "torchrun --nproc_per_node=8 --nnodes=$SLURM_NNODES pretrain_gpt.py \\\n"
        "  --tensor-model-parallel-size $TP --pipeline-model-parallel-size=${PP} --context-parallel-size 2 \\\n"
        "  --micro-batch-size=1 --global-batch-size 1024 --bf16\n"
    )

    found = facts(read(LAUNCH, text))

    assert (found["nodes"], found["gpus_per_node"], found["gpus"]) == (16, 8, 128)
    assert (found["tensor_parallel"], found["pipeline_parallel"], found["data_parallel"]) == (8, 4, 2)
    assert found["micro_batches"] == 512


@pytest.mark.parametrize("option", ["--gpus-per-node=h100:4", "--ntasks-per-node=2\n#SBATCH --gpus-per-task=2"])
def test_gpus_of_a_node_by_other_options_of_slurm(option: str) -> None:
    found = facts(read(LAUNCH, f"#SBATCH --nodes=3\n#SBATCH {option}\nsrun python train.py --seq-length 4096\n"))

    assert found["gpus"] == 12


RECORD = " iteration 7/ 9 | throughput per GPU (TFLOP/s/GPU): 412.3 | lm loss: 1.1E+00 | grad norm: 0.2 |\n"


def test_the_throughput_of_megatron_core_is_told_for_each_gpu() -> None:
    assert facts(read(TRAINING, RECORD))["tflops"] == 412.3


@pytest.mark.parametrize(
    "line",
    [
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "  exitcode  : -9 (pid: 4711)",
    ],
)
def test_a_training_that_broke_off_is_not_in_order_although_its_records_are(line: str) -> None:
    saved = read(TRAINING, RECORD + line + "\n")

    assert (facts(saved)["losses_missing"], len(saved.problems)) == (0, 1)
    assert "broke off" in complaints(saved)


def test_exclusive_use_of_a_gpu_has_two_words_in_the_table() -> None:
    text = (
        "|   1  NVIDIA H100 80GB HBM3          Off | 00000000:3B:00.0 Off |                    2 |\n"
        "| N/A   88C    P0             699W / 700W |  80000MiB / 81559MiB |    100%   E. Process |\n"
        "|                                         |                      |             Disabled |\n"
        "+-----------------------------------------+----------------------+----------------------+\n"
    )

    saved = read("nvidia-smi table", text)

    assert (facts(saved, "gpu1")["compute_mode"], facts(saved, "gpu1")["temperature"]) == ("E. Process", 88)
    assert saved.problems == ()


def test_a_table_from_which_lines_were_left_out_proves_nothing_of_the_others() -> None:
    table = (
        "|   1  NVIDIA H100 80GB HBM3          Off | 00000000:3B:00.0 Off |                    0 |\n"
        "| N/A   38C    P0             99W / 700W |  80000MiB / 81559MiB |    100%      Default |\n"
        "|                                         |                      |             Disabled |\n"
        "+-----------------------------------------+----------------------+----------------------+\n"
    )

    assert read("nvidia-smi table", table).problems == ()
    (problem,) = read("nvidia-smi table", f"[...]\n{table}").problems
    assert "left out" in problem


def test_a_gpu_that_could_not_be_opened_is_lost_beside_the_rows_of_others() -> None:
    text = (
        "index, temperature.gpu\n0, 30\n"
        "Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost.  Reboot the system\n"
    )

    saved = read("nvidia-smi query csv", text)

    assert (facts(saved)["rows"], facts(saved)["gpus_lost"]) == (1, 1)
    assert complaints(saved) == "the GPU at 0000:3b:00.0 could not be opened"


@pytest.mark.parametrize("kind", ["chronyc tracking", "ulimit", "swaps", "sysctl -a"])
def test_an_unknown_answer_always_says_why(kind: str) -> None:
    found, problems = read_output(kind, "506 Cannot talk to daemon\n")

    assert found == [] and problems


TITAN = "[titan] 2024-09-01 10:00:00,000 - root - INFO - \x1b[31mstep: {}  \x1b[32mloss: {}  \x1b[39mtps: 6,123\n"
NEMO = "Epoch 0: :   1%| | 10/90 [01:23<2:17, reduced_train_loss={}, global_step={}, consumed_samples=5120.0]\n"


@pytest.mark.parametrize(
    "text",
    [
        TITAN.format(" 10", " 8.1250") + TITAN.format(" 20", "    nan"),
        NEMO.format("8.1250", "10.00") + NEMO.format("nan", "20.00"),
    ],
)
def test_losses_of_torchtitan_and_of_nemo(text: str) -> None:
    saved = read(TRAINING, text)

    assert (facts(saved)["records"], facts(saved)["loss_first"], facts(saved)["first_iteration"]) == (2, 8.125, 10)
    assert "iteration 20" in complaints(saved)


def test_losses_of_transformers_name_no_step() -> None:
    text = (
        "{'loss': 2.3456, 'grad_norm': 1.25, 'learning_rate': 4.9e-05, 'epoch': 0.01}\n"
        "{'loss': 2.25, 'grad_norm': 7.5, 'learning_rate': 4.8e-05, 'epoch': 0.02}\n"
    )

    saved = read(TRAINING, text)

    assert (facts(saved)["loss_first"], facts(saved)["loss_last"], facts(saved)["grad_norm_max"]) == (2.3456, 2.25, 7.5)
    assert "first_iteration" not in facts(saved)
    assert saved.problems == ()
    assert "loss_last" not in facts(read(TRAINING, "{'loss': 2.3"))


@pytest.mark.parametrize(
    "text",
    [
        "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 4.8e-05, 'epoch': 0.02}\n",
        " iteration 7/ 9 | lm loss: 1.1E+00 | grad norm: inf | number of skipped iterations: 0 |\n",
    ],
)
def test_a_gradient_that_is_not_finite_is_a_problem_beside_a_loss_that_is(text: str) -> None:
    saved = read(TRAINING, text)

    assert (facts(saved)["grad_norms_not_finite"], facts(saved)["losses_missing"]) == (1, 0)
    assert "gradient norm" in complaints(saved)
