"""What ``audit config`` tells of saving and of operations: who saves what, where, and what a signal or a limit does."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from readiness_agent.audits.config import audit
from readiness_agent.errors import AgentError
from tests.agents.audits.configs import SOUND_FACTS, audited, facts, problems, written
from tests.training_setups import DEEPSPEED, LAUNCH, fault, write_setup


@pytest.mark.parametrize(
    ("save", "counted"),
    [
        ("torch.save(model.state_dict(), path)", 1),
        ("torch.save(ddp_model.module.state_dict(), path)", 1),
        ("torch.save({'model': model.state_dict(), 'step': 3}, path)", 1),
        ("torch.save(dict(net=net.state_dict(), epoch=1), path)", 1),
        ("state = {'step': 1}\nstate['model'] = model.state_dict()\ntorch.save(state, path)", 1),
        ("safetensors.torch.save_file(model.state_dict(), path)", 1),
        ("torch.save(optimizer.state_dict(), path)", 1),
        ("torch.save(time_series_model.state_dict(), path)", 1),
        ("torch.save(dialog_net.state_dict(), path)", 1),
        ("torch.save(ema.state_dict(), path)", 1),
        ("torch.save({'state': net.module.state_dict()}, path)", 1),
        ("torch.save(lr_scheduler.state_dict(), path)", 0),
        ("torch.save(model.config, path)", 0),
        ("torch.save(torch.get_rng_state(), path)", 0),
        ("torch.save(scheduler.state_dict(), path)", 0),
        ("torch.save({'sampler': sampler.state_dict(), 'args': vars(args)}, path)", 0),
        ("pickle.dump(model, file)", 0),
    ],
)
def test_only_saves_of_weights_count(tmp_path: Path, save: str, counted: int) -> None:
    code = f"import torch\nimport safetensors.torch\n{save}\nengine.save_checkpoint('/ckpt', tag='x')\n"

    assert facts(written(tmp_path, train_py=code))["checkpoint-api", "plain_model_saves"] == counted


def test_a_save_of_who_knows_what_is_a_problem(tmp_path: Path) -> None:
    result = written(tmp_path, train_py="import torch\ndef keep(thing):\n    torch.save(thing, 'x.pt')\n")

    assert any("train.py:3: what torch.save writes cannot be told" in one for one in problems(result, "checkpoint-api"))


@pytest.mark.parametrize(
    ("code", "partial"),
    [
        ("if rank == 0:\n    engine.save_checkpoint(d)", 1),
        ("if dist.get_rank() != 0:\n    pass\nelse:\n    engine.save_checkpoint(d)", 1),
        ("def save():\n    if rank != 0:\n        return\n    engine.save_checkpoint(d)", 1),
        ("def save():\n    engine.save_checkpoint(d)\nif accelerator.is_main_process:\n    save()", 1),
        ("def keep(t):\n    t.engine.save_checkpoint(d)\ndef go(t):\n    if t.rank == 0:\n        trainer.keep(t)", 1),
        ("@rank_zero_only\ndef save():\n    engine.save_checkpoint(d)", 1),
        ("int(os.environ['RANK']) == 0 and engine.save_checkpoint(d)", 1),
        ("import torch.distributed.checkpoint as dcp\nif local_rank == 0:\n    dcp.save(s, checkpoint_id=d)", 1),
        ("if step % 100 == 0:\n    engine.save_checkpoint(d)", 0),
        ("if args.local_rank != -1:\n    engine.save_checkpoint(d)", 0),
        ("if args.lora_rank == 8:\n    engine.save_checkpoint(d)", 0),
        ("engine.save_checkpoint(d)\nif rank == 0:\n    print('saved')", 0),
    ],
)  # fmt: skip
def test_a_save_that_some_ranks_alone_reach_is_seen(tmp_path: Path, code: str, partial: int) -> None:
    assert facts(written(tmp_path, train_py=code + "\n"))["checkpoint-api", "partial_rank_calls"] == partial


@pytest.mark.parametrize(
    ("save", "step", "job", "same"),
    [
        ("engine.save_checkpoint('/ckpt')", True, False, True),
        ("engine.save_checkpoint('/ckpt', f'{args.run_name}-{global_step}')", True, True, True),
        ("engine.save_checkpoint('/ckpt', tag='step-%d' % step)", True, False, True),
        ("engine.save_checkpoint('/ckpt', tag='{}/{}'.format(run_id, iteration))", True, True, True),
        ("engine.save_checkpoint('/ckpt', tag='latest')", False, False, True),
        ("engine.save_checkpoint('/ckpt', tag='s' + str(step) + '-r' + str(rank))", True, False, False),
        ("engine.save_checkpoint('/ckpt', tag=f'{step}-{time.time()}')", True, False, False),
        ("engine.save_checkpoint(f'/ckpt/{os.environ[\"SLURM_JOB_ID\"]}', tag=f'step{step}')", True, True, True),
        ("dcp.save(state, checkpoint_id=os.path.join('/ckpt', job_id, f'step-{step}'))", True, True, True),
        ("accelerator.save_state(f'/ckpt/{exp_name}/step_{step}')", True, True, True),
    ],
)
def test_a_tag_is_read_for_step_job_and_rank(tmp_path: Path, save: str, step: bool, job: bool, same: bool) -> None:
    code = f"import os\nimport time\nimport torch.distributed.checkpoint as dcp\n{save}\n"
    found = facts(written(tmp_path, train_py=code))
    names = ("has_step", "has_job", "same_on_ranks")

    assert tuple(found["checkpoint-tag", name] for name in names) == (step, job, same)


def test_the_runs_own_name_in_the_folder_is_unique_to_the_job(tmp_path: Path) -> None:
    code = "engine.save_checkpoint('/ckpt/orca-13b', tag=f'step-{step}')\n"
    (tmp_path / "train.py").write_text(code)
    found = facts(audited(tmp_path, run="orca-13b"))

    assert found["checkpoint-tag", "has_job"] is True
    assert found["checkpoint-tag", "place"] == "/ckpt/orca-13b/step-{step}"


def test_a_literal_place_is_left_to_the_portal_to_compare(tmp_path: Path) -> None:
    found = facts(written(tmp_path, train_py="engine.save_checkpoint('/ckpt//a/../a', tag=f'step-{step}')\n"))

    assert found["checkpoint-tag", "place"] == "/ckpt/a/step-{step}"
    assert ("checkpoint-tag", "collisions") not in found


@pytest.mark.parametrize("folder", ["'ckpt'", "somewhere()"])
def test_a_place_that_cannot_be_told_is_a_problem(tmp_path: Path, folder: str) -> None:
    result = written(tmp_path, train_py=f"engine.save_checkpoint({folder}, tag=f'step-{{step}}')\n")

    assert problems(result, "checkpoint-tag")


def test_deepspeed_without_its_configuration_leaves_its_items_unknown(tmp_path: Path) -> None:
    result = written(tmp_path, train_py="import deepspeed\nengine.save_checkpoint('/ckpt')\n")

    assert problems(result, "zero-offload-compat")
    assert ("checkpoint-api", "tag_validation_lenient") not in facts(result)


@pytest.mark.parametrize(
    ("code", "registered", "replaces"),
    [
        ("faulthandler.register(signal.SIGUSR2)", True, False),
        ("faulthandler.register(signal.SIGUSR1)", True, True),
        ("faulthandler.register(signal.SIGUSR1, chain=True)", True, False),
        ("def show(*_):\n    traceback.print_stack()\nsignal.signal(signal.SIGUSR2, show)", True, False),
        ("def requeue(*_):\n    save()\nsignal.signal(signal.SIGUSR1, requeue)", False, False),
        ("faulthandler.enable()", False, False),
    ],
)
def test_a_dump_is_told_from_a_requeue(tmp_path: Path, code: str, registered: bool, replaces: bool) -> None:
    script = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --signal=SIGUSR1@90\nsrun python train.py\n"
    imports = "import faulthandler\nimport signal\nimport traceback\n"
    found = facts(written(tmp_path, train_py=imports + code + "\n", launch_sh=script))

    assert (found["ops-error-dump", "handler_registered"], found["ops-error-dump", "replaces_requeue"]) == (
        registered, replaces,
    )  # fmt: skip


def test_a_signal_for_the_batch_shell_alone_reaches_no_rank(tmp_path: Path) -> None:
    result = audited(write_setup(
        tmp_path, fault("the scheduler's signal taken"),
        **{"launch.sbatch": LAUNCH.replace("--signal=USR1@120", "--signal=B:USR1@120")},
    ))  # fmt: skip

    assert facts(result)["ops-error-dump", "replaces_requeue"] is False


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 5400), ("90:30", 5430), ("2:00:00", 7200), ("3-12", 302_400), ("1-00:30", 88_200),
        ("UNLIMITED", 315_360_000),
    ],
)  # fmt: skip
def test_slurms_times_are_seconds(tmp_path: Path, text: str, seconds: int) -> None:
    found = facts(audited(write_setup(tmp_path, **{"launch.sbatch": LAUNCH.replace("10-00:00:00", text)})))

    assert found["scheduler-fit", "time_limit"] == seconds


def test_a_partition_of_spot_instances_is_told(tmp_path: Path) -> None:
    script = LAUNCH.replace("#SBATCH --requeue", "#SBATCH --requeue\n#SBATCH --partition=gpu-spot")
    result = audited(write_setup(tmp_path, **{"launch.sbatch": script}))

    assert facts(result)["ops-spot-resume", "spot"] is True
    assert "ops-spot-resume" in result.covered


def test_two_scripts_that_disagree_decide_nothing(tmp_path: Path) -> None:
    write_setup(tmp_path)
    (tmp_path / "other.sbatch").write_text(LAUNCH.replace("NCCL_DEBUG=INFO", "NCCL_DEBUG=WARN"))
    result = audited(tmp_path)

    assert any("not the same" in one or "cannot be told" in one for one in problems(result, "ops-log-policy"))


def test_a_file_that_is_none_of_these_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(AgentError) as refused:
        audit(argparse.Namespace(paths=[str(tmp_path / "notes.txt")], run=""))

    assert refused.value.exit_code == 64


def test_a_link_inside_of_a_folder_is_not_followed(tmp_path: Path) -> None:
    place = write_setup(tmp_path / "code")
    (tmp_path / "elsewhere.py").write_text("from apex import amp\n")
    (place / "link.py").symlink_to(tmp_path / "elsewhere.py")

    assert facts(audited(place)) == SOUND_FACTS


def test_damaged_deepspeed_json_is_told_of_and_not_passed_over(tmp_path: Path) -> None:
    result = audited(write_setup(tmp_path, **{"conf/ds_config.json": DEEPSPEED[:-20]}))

    assert any("conf/ds_config.json is no JSON" in one for one in problems(result, "amp-config"))
    assert ("zero-offload-compat", "nvme_offload") not in facts(result)


@pytest.mark.parametrize(
    "text", ["{", "[1]", "{" * 100_000, '{"fp16": ' * 2000, '{"zero_optimization": 7, "fp16": []}', DEEPSPEED[:77]]
)
def test_damaged_json_never_raises_and_never_passes(tmp_path: Path, text: str) -> None:
    write_setup(tmp_path, **{"conf/ds_config.json": text})
    result = audited(tmp_path)

    assert facts(result).get(("checkpoint-api", "tag_validation_lenient")) is not False
    assert ("zero-offload-compat", "nvme_offload") not in facts(result)


@pytest.mark.parametrize(
    "code",
    [
        "x = 'a' * 10 ** 9\ny = 'b%999999999d' % 1\nengine.save_checkpoint(x, tag=y)\n",
        "x = " + "(" * 300 + "1" + ")" * 300 + "\n",
        "x = " + "1 + " * 20_000 + "1\n",
        "a = b\nb = a\nengine.save_checkpoint(a, tag=b)\n",
        "x = f'{x}'\nengine.save_checkpoint(x)\n",
    ],
    ids=["huge", "deep", "long", "circular", "itself"],
)
def test_code_that_would_hurt_whoever_runs_it_is_looked_at_without_harm(tmp_path: Path, code: str) -> None:
    result = written(tmp_path, train_py=code)

    assert problems(result, "checkpoint-tag")


def test_comments_without_end_cost_no_time(tmp_path: Path) -> None:
    result = written(tmp_path, ds_json='{"fp16": {"enabled": true},' + "/**/" * 20_000 + "x")

    assert problems(result, "amp-config")
