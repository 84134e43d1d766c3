"""A training as its own files describe it, sound in all that an audit looks at, and what can be wrong with it."""

from pathlib import Path
from typing import NamedTuple

LAUNCH = """\
#!/bin/bash
#SBATCH --job-name=orca-13b
#SBATCH --nodes=4
#SBATCH --gpus-per-node=8
#SBATCH --ntasks-per-node=1
#SBATCH --time=10-00:00:00
#SBATCH --signal=USR1@120
#SBATCH --requeue
set -euo pipefail

export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_PORT=29500
export TORCH_NCCL_TRACE_BUFFER_SIZE=2000   # the flight recorder
export TORCH_NCCL_DUMP_ON_TIMEOUT=1
export NCCL_DEBUG=INFO
export NCCL_DEBUG_SUBSYS=INIT,NET
export NCCL_DEBUG_FILE=/var/log/nccl/%h.%p.log

GPUS_PER_NODE=8
TRAIN_ARGS="
    --deepspeed_config conf/ds_config.json \\
    --save_dir /checkpoint/runs \\
    --run_name $SLURM_JOB_ID \\
    --bf16
"

srun torchrun \\
    --nnodes=$SLURM_NNODES --nproc_per_node=$GPUS_PER_NODE \\
    --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT \\
    train.py $TRAIN_ARGS
"""

DEEPSPEED = """\
{
  "train_batch_size": 1024,
  "train_micro_batch_size_per_gpu": 8,
  "gradient_accumulation_steps": 4,
  "gradient_clipping": 1.0,
  "bf16": {"enabled": true},
  "zero_optimization": {
    "stage": 3,
    "overlap_comm": true,
    "offload_optimizer": {"device": "cpu", "pin_memory": true}
  },
  "checkpoint": {"tag_validation": "Fail"}
}
"""

TRAIN = """\
\"\"\"Pretrains a decoder with DeepSpeed.\"\"\"

import argparse
import faulthandler
import os
import signal
from datetime import timedelta

import deepspeed
import torch
import torch.distributed as dist

from model import build_model
from data import build_loader


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--save_dir", required=True)
    parser.add_argument("--run_name", required=True)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--save_interval", type=int, default=500)
    parser.add_argument("--local_rank", type=int, default=-1)
    return deepspeed.add_config_arguments(parser).parse_args()


def save(engine, args, step):
    tag = f"{args.run_name}-step{step}"
    engine.save_checkpoint(args.save_dir, tag=tag, client_state={"step": step, "rng": torch.get_rng_state()})


def main():
    args = parse_args()
    faulthandler.register(signal.SIGUSR2, all_threads=True)
    deepspeed.init_distributed(dist_backend="nccl", timeout=timedelta(minutes=60))
    model = build_model(args)
    engine, _, _, _ = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())
    for step, batch in enumerate(build_loader(args)):
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=args.bf16):
            loss = engine(batch)
        engine.backward(loss)
        engine.step()
        if step % args.save_interval == 0:
            save(engine, args, step)
        if dist.get_rank() == 0:
            print(f"step {step} loss {loss.item():.4f}")
            torch.save({"step": step, "args": vars(args)}, os.path.join(args.save_dir, "progress.pt"))


if __name__ == "__main__":
    main()
"""

SOUND = {"launch.sbatch": LAUNCH, "conf/ds_config.json": DEEPSPEED, "train.py": TRAIN}


class Fault(NamedTuple):
    """One thing that is wrong: another text in one file, and the item and the facts of it that show it."""

    name: str
    file: str
    old: str
    new: str
    item: str
    facts: dict[str, object]


FAULTS = (
    Fault(
        "apex", "train.py", "import torch\n", "import torch\nfrom apex import amp\n",
        "amp-config", {"apex_used": True},
    ),
    Fault(
        "a scaler in bf16", "train.py", "        engine.backward(loss)\n",
        "        scaler = torch.cuda.amp.GradScaler()\n        engine.backward(scaler.scale(loss))\n",
        "amp-config", {"precision": "bf16", "scaler": "dynamic", "scaler_fits": False},
    ),
    Fault(
        "a batch that is no multiple", "conf/ds_config.json", '"train_batch_size": 1024', '"train_batch_size": 1000',
        "parallel-layout", {"batch_remainder": 24},
    ),
    Fault(
        "a short time-out", "train.py", "timedelta(minutes=60)", "timedelta(seconds=90)",
        "collective-timeout", {"timeout": 90.0},
    ),
    Fault(
        "no flight recorder", "launch.sbatch", "TORCH_NCCL_TRACE_BUFFER_SIZE=2000", "TORCH_NCCL_TRACE_BUFFER_SIZE=0",
        "collective-timeout", {"flight_recorder": False},
    ),
    Fault(
        "weights past the engine", "train.py", '{"step": step, "args": vars(args)}', '{"step": step, "model": model}',
        "checkpoint-api", {"plain_model_saves": 1},
    ),
    Fault(
        "saved by one rank", "train.py", "        if step % args.save_interval == 0:\n",
        "        if step % args.save_interval == 0 and dist.get_rank() == 0:\n",
        "checkpoint-api", {"partial_rank_calls": 1},
    ),
    Fault(
        "tags not compared", "conf/ds_config.json", '"tag_validation": "Fail"', '"tag_validation": "Warn"',
        "checkpoint-api", {"tag_validation_lenient": True},
    ),
    Fault(
        "a tag by rank", "train.py", 'f"{args.run_name}-step{step}"', 'f"{args.run_name}-step{step}-{dist.get_rank()}"',
        "checkpoint-tag", {"same_on_ranks": False},
    ),
    Fault(
        "a tag by the clock", "train.py", 'f"{args.run_name}-step{step}"',
        'f"{args.run_name}-step{step}-{__import__(\'time\').time():.0f}"', "checkpoint-tag", {"same_on_ranks": False},
    ),
    Fault(
        "a tag without the job", "train.py", 'f"{args.run_name}-step{step}"', 'f"step-{step}"',
        "checkpoint-tag", {"has_step": True, "has_job": False},
    ),
    Fault(
        "a tag without the step", "train.py", 'f"{args.run_name}-step{step}"', 'f"{args.run_name}-latest"',
        "checkpoint-tag", {"has_step": False, "has_job": True},
    ),
    Fault(
        "optimizer on NVMe", "conf/ds_config.json", '{"device": "cpu", "pin_memory": true}',
        '{"device": "nvme", "nvme_path": "/scratch"}', "zero-offload-compat", {"nvme_offload": True},
    ),
    Fault(
        "the scheduler's signal taken", "train.py", "signal.SIGUSR2", "signal.SIGUSR1",
        "ops-error-dump", {"handler_registered": True, "replaces_requeue": True},
    ),
    Fault(
        "no dump at all", "train.py", "    faulthandler.register(signal.SIGUSR2, all_threads=True)\n", "",
        "ops-error-dump", {"handler_registered": False},
    ),
    Fault(
        "every collective logged", "launch.sbatch", "export NCCL_DEBUG=INFO",
        "export TORCH_DISTRIBUTED_DEBUG=DETAIL\nexport NCCL_DEBUG=INFO", "ops-log-policy", {"debug_detail": True},
    ),
    Fault(
        "NCCL in the training's log", "launch.sbatch", "export NCCL_DEBUG_FILE=/var/log/nccl/%h.%p.log\n", "",
        "ops-log-policy", {"nccl_log_separate": False},
    ),
    Fault(
        "a limit before the end", "launch.sbatch", "--time=10-00:00:00", "--time=2-00:00:00",
        "scheduler-fit", {"time_limit": 172_800},
    ),
    Fault("no requeue", "launch.sbatch", "--requeue", "--no-requeue", "scheduler-fit", {"requeue": False}),
)  # fmt: skip


def write_setup(place: Path, *faults: Fault, **changed: str) -> Path:
    """The sound training below *place* with *faults* in it; returns the folder."""
    files = SOUND | changed
    for fault in faults:
        assert fault.old in files[fault.file], f"{fault.name}: {fault.file} has no {fault.old!r}"
        files = files | {fault.file: files[fault.file].replace(fault.old, fault.new)}
    for name, text in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return place


def fault(name: str) -> Fault:
    """The fault of that name."""
    return next(one for one in FAULTS if one.name == name)
