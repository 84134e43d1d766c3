"""Loads the GPUs through torch. Never imported by the agent: its text is handed to the training interpreter.

Prints one JSON object on the last line: {"torch": version, "gpus": [{"index", "name", "uuid", ...}], ...}.
"""

from __future__ import annotations

import importlib
import json
import os
import socket
import sys
import threading
import time
from typing import Any, Callable, Dict, List

GIB = 1024**3
COPY_BYTES = GIB
PATTERNS = (0, -1, 0x55555555, -0x55555556)  # all bits, then each bit beside its opposite
CHUNK = 256 * 1024 * 1024
MOST_MESSAGE = 16 * GIB


def describe(torch: Any) -> List[Dict[str, Any]]:
    """What each GPU is."""
    found = []
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        found.append({"index": index, "name": properties.name, "uuid": str(getattr(properties, "uuid", ""))})
    return found


def on_each(torch: Any, work: Callable[[int], Dict[str, Any]]) -> List[Dict[str, Any]]:
    """Run *work* on all GPUs at once, a thread each."""
    results = describe(torch)
    failures: List[str] = []

    def run(index: int) -> None:
        try:
            torch.cuda.set_device(index)
            results[index].update(work(index))
        except Exception as error:
            failures.append(f"gpu {index}: {type(error).__name__}: {error}"[:500])

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(results))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise RuntimeError("; ".join(failures))
    return results


def burn(torch: Any, seconds: float) -> Dict[str, Any]:
    """The same bf16 product on every GPU, over and over, each result held against the first GPU's first one."""
    size = 8192
    generator = torch.Generator().manual_seed(1)
    left, right = (torch.randn(size, size, generator=generator).to(torch.bfloat16) for _ in range(2))
    lock, first = threading.Lock(), {}  # type: ignore[var-annotated]
    started = time.monotonic()

    def work(index: int) -> Dict[str, Any]:
        a, b = left.cuda(index), right.cuda(index)
        name, other = torch.cuda.get_device_name(index), torch.empty(size, size, dtype=torch.bfloat16, device=index)
        product = a @ b
        with lock:  # GPUs of one kind must agree to the bit; another kind may add up in another order
            reference = first.setdefault(name, product.cpu()).cuda(index)
        wrong, products, busy = int((product != reference).sum()), 0, 0.0
        while time.monotonic() - started < seconds:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(50):
                torch.matmul(a, b, out=product)
            end.record()
            end.synchronize()
            busy += begin.elapsed_time(end) / 1000
            products += 50
            other.copy_(product)
            wrong += int((other != reference).sum())
        return {"tflops": 2.0 * size**3 * products / busy / 1e12 if busy else 0.0, "wrong": wrong}

    gpus = on_each(torch, work)
    return {"gpus": gpus, "seconds": time.monotonic() - started}


def memtest(torch: Any, seconds: float) -> Dict[str, Any]:
    """Patterns over nearly all free memory of every GPU, written, let lie, and read back."""
    started = time.monotonic()

    def work(index: int) -> Dict[str, Any]:
        free, _ = torch.cuda.mem_get_info(index)
        chunks: List[Any] = []
        try:
            # What comparing needs beside the chunks: one chunk as truth values, and the index pattern.
            while (len(chunks) + 1) * CHUNK <= free * 0.97 - 2.5 * CHUNK:
                chunks.append(torch.empty(CHUNK // 4, dtype=torch.int32, device=index))
        except torch.cuda.OutOfMemoryError:
            pass  # what could be had is tested, and its share is told
        ramp = torch.arange(CHUNK // 4, dtype=torch.int32, device=index)
        errors = passes = 0
        while time.monotonic() - started < seconds:
            pattern = PATTERNS[passes % len(PATTERNS)]
            for number, chunk in enumerate(chunks):
                torch.bitwise_xor(ramp, pattern ^ number, out=chunk)
            torch.cuda.synchronize(index)
            for number, chunk in enumerate(chunks):
                chunk.bitwise_xor_(pattern ^ number)
                errors += int((chunk != ramp).sum())
            passes += 1
        return {"errors": errors, "passes": passes, "bytes": len(chunks) * CHUNK, "free": free}

    gpus = on_each(torch, work)
    return {"gpus": gpus, "seconds": time.monotonic() - started}


def copies(torch: Any, seconds: float) -> Dict[str, Any]:
    """GB/s from pinned host memory to each GPU, one after the other, and between each pair of GPUs."""
    gpus = describe(torch)
    host = torch.empty(COPY_BYTES, dtype=torch.uint8, pin_memory=True)
    buffers = [torch.empty(COPY_BYTES, dtype=torch.uint8, device=gpu["index"]) for gpu in gpus]
    for gpu in gpus:
        buffer = buffers[gpu["index"]]
        gpu["host_to_device"] = copy_rate(torch, gpu["index"], buffer, host)
        peers = [other for other in range(len(gpus)) if other != gpu["index"]]
        rates = [copy_rate(torch, gpu["index"], buffers[other], buffer) for other in peers]
        gpu["peer"] = min(rates) if rates else None
    return {"gpus": gpus}


def copy_rate(torch: Any, index: int, target: Any, source: Any) -> float:
    """GB/s of the best of five rounds: a copy can be disturbed, and never be faster than the link."""
    rates = []
    with torch.cuda.device(index):
        for _ in range(6):
            for device in {index, target.device.index}:
                torch.cuda.synchronize(device)
            begin = time.perf_counter()
            for _ in range(4):
                target.copy_(source, non_blocking=True)
            for device in {index, target.device.index}:
                torch.cuda.synchronize(device)
            rates.append(4 * COPY_BYTES / (time.perf_counter() - begin) / 1e9)
    return max(rates[1:])  # the first one warms up


def allreduce(seconds: float) -> Dict[str, Any]:
    """One process a GPU. They are forked before torch touches a GPU: a forked CUDA context is of no use."""
    world = visible_gpus()
    if world < 2:
        raise RuntimeError(f"all-reduce needs two GPUs, and {world} can be seen")
    port, children = free_port(), []
    for rank in range(world):
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            one_rank(rank, world, port, seconds, writer)
        os.close(writer)
        children.append((pid, reader))
    answers = [json.loads(read_all(reader) or "{}") for _, reader in children]
    codes = [os.waitpid(pid, 0)[1] for pid, _ in children]
    failures = [str(one["error"]) for one in answers if "error" in one]
    if failures or any(codes):
        raise RuntimeError("; ".join(failures) or f"ranks ended with {codes}")
    return {**answers[0], "wrong": sum(one["wrong"] for one in answers), "ranks": world}


def one_rank(rank: int, world: int, port: int, seconds: float, writer: int) -> None:
    """A forked process: it writes its answer and never returns."""
    code = 1
    try:
        answer = reduce_as(importlib.import_module("torch"), rank, world, port, seconds)
        code = 0
    except Exception as error:
        answer = {"error": f"rank {rank}: {type(error).__name__}: {error}"[:500]}
    os.write(writer, json.dumps(answer).encode())
    os._exit(code)


def reduce_as(torch: Any, rank: int, world: int, port: int, seconds: float) -> Dict[str, Any]:
    """All-reduce of the largest message that fits, timed, and once checked."""
    from datetime import timedelta

    dist = importlib.import_module("torch.distributed")
    torch.cuda.set_device(rank)
    dist.init_process_group(
        "nccl", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world, timeout=timedelta(seconds=120)
    )
    free = torch.tensor([torch.cuda.mem_get_info(rank)[0]], device=rank)
    dist.all_reduce(free, op=dist.ReduceOp.MIN)
    size = MOST_MESSAGE
    while size > int(free[0]) * 0.6:  # checking needs a quarter of it more
        size //= 2
    message = torch.zeros(size // 4, dtype=torch.float32, device=rank)
    times = timed_rounds(torch, dist, message, rank, seconds)
    message.fill_(float(rank + 1))
    dist.all_reduce(message)
    expected, wrong = world * (world + 1) / 2, 0
    for part in message.split(64 * 1024 * 1024):
        wrong += int((part != expected).sum())
    middle = sorted(times)[len(times) // 2]
    dist.destroy_process_group()
    return {"message": size, "busbw": size / middle * 2 * (world - 1) / world / 1e9, "wrong": wrong,
            "rounds": len(times), "torch": torch.__version__}  # fmt: skip


def timed_rounds(torch: Any, dist: Any, message: Any, rank: int, seconds: float) -> List[float]:
    """Seconds of each all-reduce, two to warm up left out; all ranks make the same number."""
    times: List[float] = []
    end = time.monotonic() + seconds
    for number in range(10_000):
        go_on = torch.tensor([1.0 if number < 7 or time.monotonic() < end else 0.0], device=rank)
        dist.all_reduce(go_on, op=dist.ReduceOp.MIN)
        if not int(go_on[0]):
            break
        torch.cuda.synchronize(rank)
        begin = time.perf_counter()
        dist.all_reduce(message)
        torch.cuda.synchronize(rank)
        times.append(time.perf_counter() - begin)
    return times[2:]


def visible_gpus() -> int:
    """Counted in a process of its own, so that this one has no CUDA context when it forks."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writer, str(importlib.import_module("torch").cuda.device_count()).encode())
        os._exit(0)
    os.close(writer)
    text = read_all(reader)
    os.waitpid(pid, 0)
    return int(text or "0")


def free_port() -> int:
    """A port of loopback that nobody uses."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def read_all(descriptor: int) -> str:
    """Until the other end is closed."""
    with os.fdopen(descriptor) as file:
        return file.read()


def main(mode: str, seconds: float) -> Dict[str, Any]:
    """The answer of one mode."""
    if mode == "allreduce":
        return allreduce(seconds)
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        raise RuntimeError("torch of this environment sees no GPU")
    modes: Dict[str, Callable[[Any, float], Dict[str, Any]]] = {"burn": burn, "memtest": memtest, "copies": copies}
    return {"torch": torch.__version__, **modes[mode](torch, seconds)}


if __name__ == "__main__":
    try:
        print(json.dumps(main(sys.argv[1], float(sys.argv[2]))))
    except Exception as failure:
        print(json.dumps({"error": f"{type(failure).__name__}: {failure}"[:1000]}))
