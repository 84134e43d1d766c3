"""Training logs, configurations and lists of distributions."""

from __future__ import annotations

import pytest

from tests.agents.parsers.saved_outputs import case, complaints, facts, read

LOG, DEEPSPEED, SCRIPT, PINS, TOKENIZER = (
    "training log", "DeepSpeed config", "launch script", "pip requirements", "tokenizer pair",
)  # fmt: skip


def test_a_spike_of_the_loss_that_recovers() -> None:
    found = facts(case(LOG, "train/tr11_loss_spike_2022-04-12.log"))

    assert (found["records"], found["first_iteration"], found["last_iteration"]) == (11, 31214, 31251)
    assert (found["loss_max"], found["loss_max_iteration"]) == (5.098124, 31219)
    assert (found["loss_first"], found["loss_last"]) == (2.198845, 2.235667)
    assert (found["grad_norm_max"], found["grad_norm_max_iteration"]) == (960.351, 31219)
    assert (found["skipped_iterations"], found["nan_iterations"], found["losses_missing"]) == (0, 0, 0)


def test_one_record_with_seconds_and_not_milliseconds() -> None:
    found = facts(case(LOG, "train/tr11_iter12695.log"))

    assert (found["last_iteration"], found["total_iterations"], found["loss_last"]) == (12695, 115311, 2.463556)
    assert (found["seconds_per_iteration"], found["global_batch_size"]) == (105.22, 2048)
    assert (found["consumed_samples"], found["consumed_tokens"]) == (9841584, 20155564032)
    assert (found["learning_rate"], found["tflops"], found["samples_per_second"]) == (5.969e-05, 149.02, 19.463)


def test_a_loss_that_disappears_without_a_skipped_iteration_is_a_nan() -> None:
    saved = case(LOG, "train/nan_hidden_by_counter.log")

    assert facts(saved)["losses_missing"] == 1
    assert facts(saved)["loss_missing_iteration"] == 3385
    assert facts(saved)["nan_iterations"] == 0
    assert "3385" in complaints(saved)


def test_a_loss_that_is_missing_while_the_scale_is_searched_is_none() -> None:
    saved = case(LOG, "train/loss_scale_warmup_skips.log")

    assert facts(saved)["losses_missing"] == 0
    assert facts(saved)["skipped_iterations"] == 10
    assert (facts(saved)["loss_last"], facts(saved)["loss_scale"]) == (10.05022, 32768)
    assert facts(saved)["grad_norm_max"] == 217.199
    assert facts(saved)["seconds_per_iteration"] == 0.1406


def test_ranks_that_time_out_in_one_collective() -> None:
    saved = case(LOG, "train/nccl_watchdog_600s.log")

    assert facts(saved)["timed_out_ranks"] == "0 3 4"
    assert facts(saved)["timed_out_sequence"] == 7753
    assert (facts(saved)["last_completed"], facts(saved)["timeout"]) == (7752, 600)
    assert facts(saved)["collective"] == "_REDUCE_SCATTER_BASE"
    assert facts(saved)["world_size"] == 8
    assert "7753" in complaints(saved)


def test_an_offload_of_parameters_to_nvme_without_a_precision() -> None:
    saved = case(DEEPSPEED, "configs/ds_zero3_nvme_aio.json")
    found = facts(saved)

    assert (found["zero_stage"], found["offload_param"], found["nvme_path"]) == (3, "nvme", "/local_nvme/sglang")
    assert (found["aio.queue_depth"], found["aio.block_size"], found["aio.intra_op_parallelism"]) == (32, 8388608, 8)
    assert (found["aio.use_gds"], found["precision"], found["train_batch_size"]) == (False, "none stated", 1)
    assert found["auto_values"] == 4


def test_an_offload_to_the_cpu_of_parameters_alone() -> None:
    found = facts(case(DEEPSPEED, "configs/ds_zero3_cpu.json"))

    assert (found["zero_stage"], found["offload_param"]) == (3, "cpu")
    assert "offload_optimizer" not in found


def test_a_loss_scale_of_zero_is_dynamic() -> None:
    saved = case(DEEPSPEED, "configs/ds_zero3_cpu_hf_fp16.json")
    found = facts(saved)

    assert (found["precision"], found["loss_scale"], found["initial_loss_scale"]) == ("fp16", "dynamic", 65536)
    assert (found["min_loss_scale"], found["reduce_bucket_size"]) == (1, 0)
    assert (found["offload_optimizer"], found["offload_param"]) == ("cpu", "cpu")
    assert "stage3_gather_fp16_weights_on_model_save" in complaints(saved)
    assert "train_batch_size" not in found


def test_the_layout_of_a_launch_script_divides_its_gpus() -> None:
    found = facts(case(SCRIPT, "configs/tr11_176B_launch.slurm"))

    assert (found["nodes"], found["gpus_per_node"], found["gpus"]) == (24, 8, 192)
    assert (found["tensor_parallel"], found["pipeline_parallel"], found["data_parallel"]) == (4, 12, 4)
    assert (found["micro_batch_size"], found["global_batch_size"], found["micro_batches"]) == (2, 2048, 256)
    assert (found["precision"], found["zero_stage"], found["save_interval"], found["eval_interval"]) == (
        "bf16", 0, 100, 1000,
    )  # fmt: skip
    assert (found["exit_minutes"], found["rampup_batch_size"]) == (5990, "192 16 9765625")
    assert (found["env CUDA_LAUNCH_BLOCKING"], found["env NCCL_ASYNC_ERROR_HANDLING"]) == ("1", "1")


def test_pins_and_what_is_left_open() -> None:
    found = facts(case(PINS, "configs/requirements_gptneox_pinned.txt"))

    assert (found["requirements"], found["unpinned"], found["ranges"]) == (
        13,
        "regex sentencepiece six",
        "transformers",
    )
    assert found["commits"] == "deepspeed"
    assert facts(case(PINS, "configs/requirements_gptneox_pinned.txt"), "deepspeed")["commit"] == (
        "eb7f5cff36678625d23db8a8fe78b4a93e5d2c75"
    )
    assert facts(case(PINS, "configs/requirements_gptneox_pinned.txt"), "numpy")["version"] == "1.22.0"


def test_a_short_commit_or_a_branch_is_no_pin() -> None:
    saved = read(
        PINS, "megatron @ git+https://host.example/m.git@main\ndeepspeed @ git+https://host.example/d.git@eb7f5cf\n"
    )

    assert facts(saved)["unpinned"] == "megatron deepspeed"


def test_an_archive_with_its_hash_is_pinned() -> None:
    line = f"apex @ https://host.example/apex-0.1.tar.gz#sha256={'a' * 64}\n"

    assert facts(read(PINS, line))["hashed"] == "apex"


def test_two_tokenizers_of_a_pair() -> None:
    first, second = case(TOKENIZER, "configs/tokenizer_llama_a.json"), case(TOKENIZER, "configs/tokenizer_llama_b.json")
    a, b = facts(first), facts(second)

    assert (a["pad_token"], a["padding_side"], a["model_max_length"]) == ("null", "right", 1024)
    assert (b["pad_token"], b["model_max_length"]) == ("[PAD]", "1000000000000000019884624838656")
    assert "padding_side" not in b
    equal = ("bos_token", "eos_token", "unk_token", "add_bos_token", "add_eos_token", "tokenizer_class")
    assert [a[name] for name in equal] == [b[name] for name in equal] == [
        "<s>", "</s>", "<unk>", True, False, "LlamaTokenizer",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [LOG, DEEPSPEED, SCRIPT, TOKENIZER])
@pytest.mark.parametrize("text", ["", "command not found\n", "{", "[]", '{"a": "b"}'])
def test_a_text_of_another_kind_has_no_facts_and_a_problem(kind: str, text: str) -> None:
    saved = read(kind, text)

    assert (saved.facts, bool(saved.problems)) == ((), True)
