"""One rank of a training loop on one GPU: a small transformer in bf16, gradients reduced over all ranks.

Started by `benchmarks.steps`, which says in the environment who it is (``RANK``, ``WORLD_SIZE``, ``MASTER_ADDR``,
``MASTER_PORT``); rank 0 prints the start and end of every step by the clock of `time.perf_counter`, as one JSON list.
"""

import json
import os
import sys
import time
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

LAYERS, WIDTH, HEADS, TOKENS, BATCH = 8, 2048, 16, 1024, 8
WARM_UP = 30
"""Steps before the clock counts: memory pools, NCCL's channels and the GPU's clocks settle."""


def built(device: torch.device) -> tuple[nn.Module, torch.optim.Optimizer]:
    """The model under data parallelism, and its optimizer."""
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True, dtype=torch.bfloat16)
    model = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False).to(device)
    parallel = nn.parallel.DistributedDataParallel(model, device_ids=[device.index])
    return parallel, torch.optim.AdamW(parallel.parameters(), lr=1e-4, fused=True)


def step(model: Any, optimizer: torch.optim.Optimizer, batch: torch.Tensor) -> tuple[float, float]:
    """One step from the first kernel to the last, waited for."""
    started = time.perf_counter()
    optimizer.zero_grad(set_to_none=True)
    model(batch).float().square().mean().backward()
    optimizer.step()
    torch.cuda.synchronize()
    return started, time.perf_counter()


def main(seconds: float) -> None:
    """Train for about *seconds* after the warm-up; all ranks take the same number of steps."""
    rank = int(os.environ["RANK"])
    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    torch.manual_seed(rank)
    model, optimizer = built(device)
    batch = torch.randn(BATCH, TOKENS, WIDTH, device=device, dtype=torch.bfloat16)
    warm = [step(model, optimizer, batch) for _ in range(WARM_UP)][WARM_UP // 2 :]
    count = torch.tensor([seconds / ((warm[-1][1] - warm[0][0]) / len(warm))], device=device)
    dist.broadcast(count, 0)
    if rank == 0:
        print(json.dumps({"began": time.perf_counter()}), flush=True)
    steps = [step(model, optimizer, batch) for _ in range(int(count.item()))]
    if rank == 0:
        print(json.dumps({"steps": steps}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(float(sys.argv[1]))
