"""How fast ``audit dataset`` reads, in how much memory, and how its near duplicates compare with datasketch's.

Sets are generated in a temporary directory (``DATASET_MB`` megabytes each, 256 unless told), audited by the command in
a process of its own, and removed. MB/s a core is bytes on disk over CPU seconds of that process, its start included;
what the command says goes nowhere. The last part takes documents of known likeness through our near-duplicate stage
and through datasketch (MinHash of 128 permutations, LSH at 0.8, then its own estimate), where it is installed, and both
against exact Jaccard similarities.
"""

from __future__ import annotations

import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.machine import describe
from benchmarks.results import Figure, show

CHECKOUT = Path(__file__).parents[1]
sys.path.insert(0, str(CHECKOUT / "agents"))

from readiness_agent.audits.datasets.duplicates import Kept, estimate  # noqa: E402
from readiness_agent.audits.datasets.minhash import SHINGLE, signature_of_text  # noqa: E402

MEGABYTES = int(os.environ.get("DATASET_MB", "256"))
DOCUMENTS = 10_000
MOST_MIB = 512
MOST_POINTS = 0.3
SHARDS = 4
STRUCTURE = ("data-format", "data-pretokenized", "data-shard-balance", "data-integrity", "data-encoding")


class Run(NamedTuple):
    """One audit: bytes read, CPU seconds, peak memory."""

    size: int
    cpu_s: float
    peak_mib: float

    @property
    def rate(self) -> float:
        """MB/s a core."""
        return self.size / self.cpu_s / 1e6


def main() -> None:
    """Generate, audit, compare, print."""
    print(f"dataset · {describe()}")
    with tempfile.TemporaryDirectory() as folder:
        figures = [*_audits(Path(folder))]
    show("dataset", [*figures, *_duplicates()])


def _audits(folder: Path) -> Iterator[Figure]:
    texts, small, tokens = folder / "texts", folder / "small", folder / "tokens"
    _write_texts(small, MEGABYTES // 4)
    _write_texts(texts, MEGABYTES)
    _write_tokens(tokens, MEGABYTES)
    _write_short(folder / "short", 2_000 * MEGABYTES)
    all_, few, short = _audit(texts), _audit(small), _audit(folder / "short")
    structure = _audit(texts, *(f"--item={item}" for item in STRUCTURE))
    ids = _audit(tokens, *(f"--item={item}" for item in STRUCTURE))
    yield Figure(f"JSON Lines, {MEGABYTES} MB, all items", all_.rate, "MB/s a core")
    yield Figure("JSON Lines, without near duplicates", structure.rate, "MB/s a core")
    yield Figure(f"Megatron, {MEGABYTES} MB, without near duplicates", ids.rate, "MB/s a core")
    if find_spec("pyarrow"):
        parquet = folder / "parquet"
        _write_parquet(texts, parquet)
        columns = _audit(parquet, *(f"--item={item}" for item in STRUCTURE))
        yield Figure("Parquet, without near duplicates", columns.rate, "MB/s a core")
        yield Figure("Parquet: peak memory", columns.peak_mib, "MiB", most=MOST_MIB)
    yield Figure(f"peak memory, {MEGABYTES} MB, all items", all_.peak_mib, "MiB", most=MOST_MIB)
    yield Figure(f"peak memory, {MEGABYTES // 4} MB, all items", few.peak_mib, "MiB", most=MOST_MIB)
    yield Figure(f"peak memory, {2_000 * MEGABYTES:,} short documents", short.peak_mib, "MiB", most=MOST_MIB)


def _audit(folder: Path, *options: str) -> Run:
    start = "import sys; from readiness_agent.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", start, "audit", "dataset", str(folder), "--json", *options]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT / "agents")}
    with Path(os.devnull).open("w") as nowhere:
        process = subprocess.Popen(command, env=environment, stdout=nowhere, stderr=nowhere)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 2):
        raise SystemExit(f"the audit ended with {process.returncode}")
    size = sum(path.stat().st_size for path in folder.iterdir())
    return Run(size, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def _pool(dice: random.Random) -> list[str]:
    """Words as a language has them: few that are frequent, many that are rare."""
    words = [f"{dice.randrange(16**6):x}"[: dice.randint(2, 6)] for _ in range(60_000)]
    return dice.choices(words, weights=[1 / (rank + 10) for rank in range(len(words))], k=2_000_000)


def _documents(dice: random.Random, pool: list[str]) -> Iterator[str]:
    while True:
        parts = [dice.randrange(len(pool) - 400) for _ in range(2)]
        yield " ".join(word for start in parts for word in pool[start : start + dice.randint(50, 400)])


def _write_texts(folder: Path, megabytes: int) -> None:
    dice = random.Random(1)
    folder.mkdir()
    documents = _documents(dice, _pool(dice))
    for number in range(SHARDS):
        with (folder / f"part-{number}.jsonl").open("w") as file:
            while file.tell() < megabytes * 1_000_000 / SHARDS:
                file.writelines(json.dumps({"text": next(documents)}) + "\n" for _ in range(500))


def _write_short(folder: Path, documents: int) -> None:
    """More documents than signatures are kept of: a sample."""
    dice = random.Random(4)
    pool = _pool(dice)
    folder.mkdir()
    with (folder / "part-0.jsonl").open("w") as file:
        for _ in range(documents):
            start = dice.randrange(len(pool) - 20)
            file.write(json.dumps({"text": " ".join(pool[start : start + 20])}) + "\n")


def _write_parquet(texts: Path, folder: Path) -> None:
    import pyarrow.json
    import pyarrow.parquet

    folder.mkdir()
    for path in texts.iterdir():
        pyarrow.parquet.write_table(pyarrow.json.read_json(path), folder / f"{path.stem}.parquet", compression="zstd")


def _write_tokens(folder: Path, megabytes: int) -> None:
    """Documents of 512 ids of 16 bits."""
    dice = random.Random(2)
    folder.mkdir()
    block = struct.pack("<524288H", *(dice.randrange(50_000) for _ in range(524_288)))
    for number in range(SHARDS):
        blocks = max(round(megabytes * 1_000_000 / SHARDS / len(block)), 1)
        with (folder / f"corpus_{number}.bin").open("wb") as file:
            for _ in range(blocks):
                file.write(block)
        documents = blocks * 1_024
        head = struct.pack("<9sQBQQ", b"MMIDIDX\x00\x00", 1, 8, documents, documents + 1)
        sizes = struct.pack(f"<{documents}i", *[512] * documents)
        tables = struct.pack(f"<{2 * documents + 1}q", *range(0, documents * 1_024, 1_024), *range(documents + 1))
        (folder / f"corpus_{number}.idx").write_bytes(head + sizes + tables)


def _duplicates() -> Iterator[Figure]:
    documents = _with_likenesses()
    size = sum(map(len, documents))
    began = time.process_time()
    kept = Kept()
    for text in documents:
        signature = signature_of_text(text)
        if signature:
            kept.add(signature)
    found = estimate(kept)
    ours = time.process_time() - began
    exact = _exact_share(documents)
    yield Figure(f"near duplicates, {DOCUMENTS:,} documents: ours", size / ours / 1e6, "MB/s a core")
    yield Figure("share of near duplicates, exact", exact, "%")
    yield Figure("share of near duplicates, ours", found.share, "%")
    yield Figure("how far ours is from the exact share", abs(found.share - exact), "points", most=MOST_POINTS)
    if not find_spec("datasketch"):
        print("datasketch is not installed: pip install datasketch to compare with it")
        return
    began = time.process_time()
    theirs = _share_by_datasketch(documents)
    yield Figure("datasketch, the same documents", size / (time.process_time() - began) / 1e6, "MB/s a core")
    yield Figure("share of near duplicates, datasketch", theirs, "%")


def _with_likenesses() -> list[str]:
    """One in five is an earlier one of the first half with 0 to 12 % of its words exchanged: from like to unlike."""
    dice = random.Random(3)
    pool = _pool(dice)
    source = _documents(dice, pool)
    own = [next(source) for _ in range(DOCUMENTS * 4 // 5)]
    copies = []
    for text in own[: DOCUMENTS - len(own)]:
        words = text.split()
        for _ in range(round(len(words) * dice.uniform(0, 0.12))):
            words[dice.randrange(len(words))] = dice.choice(pool)
        copies.append(" ".join(words))
    return own + copies


def _runs(text: str) -> set[tuple[str, ...]]:
    words = text.split()
    return set(zip(*(words[start:] for start in range(SHINGLE)), strict=False))


def _exact_share(documents: list[str]) -> float:
    """By the true similarity of each copy and what it was made of."""
    copies = documents[DOCUMENTS * 4 // 5 :]
    like = 0
    for original, copy in zip(documents, copies, strict=False):
        one, other = _runs(original), _runs(copy)
        like += len(one & other) >= 0.8 * len(one | other)
    return 100 * like / len(documents)


def _share_by_datasketch(documents: list[str]) -> float:
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(threshold=0.8, num_perm=128)
    hashes: list[Any] = []
    like = 0
    for number, text in enumerate(documents):
        minhash = MinHash(num_perm=128)
        minhash.update_batch([" ".join(run).encode() for run in _runs(text)])
        like += any(minhash.jaccard(hashes[other]) >= 0.8 for other in index.query(minhash))
        index.insert(number, minhash)
        hashes.append(minhash)
    return 100 * like / len(documents)


if __name__ == "__main__":
    main()
