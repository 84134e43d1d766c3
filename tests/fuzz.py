"""Damage real outputs in every way that happens to them, and look that no parser falls over or is deceived.

    python -m tests.fuzz [--count 100000] [--seed 1] [--only ID]

Three things must hold of each damaged text: the parser answers, within seconds, in values that a report can carry; and
nothing that fails in the whole text passes in the damaged one, judged by the catalogue under a hardware profile.
Two kinds of change are no damage in that sense: another number is another measurement, and a log without its line is a
log of another time. They must only be answered.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from checks.adapters.reading import NodeOnFile
from checks.adapters.tools import read_output as read_tool
from checks.domain.catalogue import load_catalogue
from checks.domain.errors import CountersignError
from checks.domain.evaluation import judge
from checks.domain.facts import Fact, Problem, ProblemKind
from checks.domain.measuring import measure
from checks.domain.memory import NOTHING_KNOWN
from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Verdict
from readiness_agent.commands.parse import read_output
from tests.adapters.bad import BAD
from tests.adapters.samples import UUIDS

ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT.parent / "shared" / "cases"
A100, H100 = "8xa100-80", "8xh100"
"""The profile that a text about an A100 is judged under, and that of all others."""
NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
LONGEST_SECONDS = 10
LARGE = 200_000
"""Characters above which a text gets only a few of the mutations: it takes a hundred times as long."""

TOOL = "evidence of "
"""Begins the kinds that are read as evidence about a node, by its adapter."""
TOOLS_OF = {
    "nccl-tests": "nccl-tests", "perftest": "perftest", "fio": "fio", "dcgmi diag -j": "dcgmi-diag",
    "dcgmi -j": "dcgmi-diag", "gpud states": "gpud", "nhc": "nhc", "superbench": "superbench",
    "nvidia-health-validation": "nvidia-health-validation",
}  # fmt: skip
"""The tool whose evidence an output of that kind is."""

LOGS = ("dmesg/kmsg", "training log")
WHOLE_FILES = (
    "nccl-tests", "perftest", "fio", "dcgmi diag -j", "dcgmi -j", "dcgmi health", "preflight json lines",
    "nvidia-smi table", "nvidia-smi query csv", "nvidia-smi error", "nvidia-smi -q -x",
)  # fmt: skip
"""Kinds of which one file is one answer: what is wrong anywhere in it is wrong with the whole."""

FILE = ("", "the whole file")

Key = tuple[str, str]


class Case(NamedTuple):
    """One real output."""

    id: str
    kind: str
    text: str

    @property
    def profile(self) -> str:
        """The hardware that it speaks of."""
        return A100 if "A100" in self.text else H100

    @property
    def host(self) -> str:
        """The node that it speaks of, where it names one."""
        found = re.search(r" on +(\S+) +device ", self.text)
        return found[1] if found else "gpu001"


class Seen(NamedTuple):
    """What was made of one text: rows that fail and rows that pass."""

    failing: frozenset[Key]
    passing: frozenset[Key]


class DeceivedError(Exception):
    """A damaged text passes where the whole one fails, or says what no report can carry."""


class HungError(Exception):
    """A parser took too long."""


def load_cases() -> list[Case]:
    """The outputs of ``../shared/cases``; none where that folder is absent.

    Outputs that are evidence about a node are read in both ways. What that folder has none of is written in the tests.
    """
    if not CASES.exists():
        return []
    listed = json.loads((CASES / "cases.json").read_text())
    real = [
        Case(one["id"], one["kind"], (CASES / one["file"]).read_bytes().decode("utf-8", "replace")) for one in listed
    ]
    own = [Case(f"own {place} {kind}", kind, text) for place, (kind, text) in enumerate(BAD)]
    every = [*real, *own]
    return every + [Case(f"{one.id} as evidence", TOOL + one.kind, one.text) for one in every if one.kind in TOOLS_OF]


class Judge:
    """The catalogue under each profile, without a portal."""

    def __init__(self) -> None:
        catalogue = load_catalogue(ROOT / "checks" / "catalog")
        self._rules = {profile: Ruleset.build(catalogue, profile, {}) for profile in (A100, H100)}

    def look(self, kind: str, text: str, profile: str, host: str = "gpu001") -> Seen:
        """Read *text*, as an output of the node *host* where that matters, and judge what it says."""
        facts, problems = as_evidence(kind, text, host) if kind.startswith(TOOL) else read_output(kind, text)
        check_values(facts, problems)
        failing: set[Key] = set()
        passing: set[Key] = set()
        for key, verdict in _verdicts(self._rules[profile], facts, problems):
            bad, good = verdict is Verdict.FAIL, verdict in (Verdict.PASS, Verdict.WARN)
            (failing if bad else passing if good else set()).add(key)
        if kind in WHOLE_FILES:
            (failing if failing or problems or not facts or _states_failure(facts) else passing).add(FILE)
        return Seen(frozenset(failing), frozenset(passing))


def as_evidence(kind: str, text: str, host: str) -> tuple[list[Any], list[Any]]:
    """What an adapter makes of *text*, in the form of a probe's answer; a refusal is a problem."""
    node = NodeOnFile(host, 8, {uuid: f"gpu{place}" for place, uuid in enumerate(UUIDS)}, {"mlx5_0": "nic0"})
    try:
        reading = read_tool(TOOLS_OF[kind.removeprefix(TOOL)], text, node)
    except CountersignError as refusal:
        return [], [{"item": "", "subject": "*", "kind": "error", "detail": refusal.message}]
    facts = [
        {"item": one.item, "subject": one.subject, "name": one.name, "value": one.value, "unit": one.unit}
        for one in reading.facts
    ]
    problems = [
        {"item": one.item, "subject": one.subject or "*", "kind": one.kind.value, "detail": one.detail}
        for one in reading.problems
    ]
    return facts, problems


def _verdicts(rules: Ruleset, facts: list[Any], problems: list[Any]) -> Iterator[tuple[Key, Verdict]]:
    keys = dict.fromkeys((one["item"], one["subject"]) for one in facts if one["item"] in rules.items)
    for item_key, subject in keys:
        item = rules.items[item_key]
        said = [
            Fact(item_key, subject, one["name"], one["value"], one["unit"], NOW)
            for one in facts
            if (one["item"], one["subject"]) == (item_key, subject) and one["name"] in item.facts
        ]
        met = [
            Problem(item_key, one["subject"], ProblemKind(one["kind"]), one["detail"])
            for one in problems
            if one["item"] == item_key and one["subject"] in ("*", "", subject)
        ]
        value = measure(item, said, met, NOTHING_KNOWN, observed_at=NOW, boot_id="").value
        yield (item_key, subject), judge(item, value, now=NOW).verdict


def _states_failure(facts: list[Any]) -> bool:
    """Facts of whole files that say by themselves that something failed."""
    stated = {one["name"]: one["value"] for one in facts if one["subject"] == ""}
    some = ("failed", "gpus_lost", "errors", "wrong", "out_of_bounds", "verify_failures")
    return any(stated.get(name) for name in some) or stated.get("overall_health", "Healthy") != "Healthy"


def check_values(facts: list[Any], problems: list[Any]) -> None:
    """Only values that a report can carry, and a sentence for each problem.

    Raises:
        DeceivedError: naming the first other one.
    """
    for one in facts:
        value = one["value"]
        finite = not isinstance(value, float) or math.isfinite(value)
        small = not isinstance(value, int) or abs(value) < 2**63
        if not isinstance(value, (bool, int, float, str)) or not finite or not small:
            raise DeceivedError(f"{one['name']} is {value!r}")
    if not all(one["detail"] for one in problems):
        raise DeceivedError("a problem says nothing")
    json.dumps([facts, problems], allow_nan=False)


Mutation = Callable[[random.Random, str], str]


def truncated(dice: random.Random, text: str) -> str:
    """The beginning."""
    return text[: dice.randrange(max(len(text), 1))]


def line_dropped(dice: random.Random, text: str) -> str:
    """Without one line."""
    lines = text.splitlines(keepends=True)
    del lines[dice.randrange(len(lines))]
    return "".join(lines)


def line_doubled(dice: random.Random, text: str) -> str:
    """One line twice."""
    lines = text.splitlines(keepends=True)
    place = dice.randrange(len(lines))
    return "".join([*lines[: place + 1], *lines[place:]])


def bytes_flipped(dice: random.Random, text: str) -> str:
    """Up to four characters spoiled; none becomes another digit, which nobody could tell from a measurement."""
    spoiled = list(text)
    for _ in range(dice.randint(1, 4)):
        spoiled[dice.randrange(len(spoiled))] = dice.choice("?~\x00\x07\ufffd<>&;|{}\"' \tzQ")
    return "".join(spoiled)


def column_removed(dice: random.Random, text: str) -> str:
    """Every line that has so many cells without one of them."""
    cut = "," if text.count(",") > text.count(" ") // 2 else None
    place = dice.randrange(12)
    kept = []
    for line in text.splitlines():
        cells = line.split(cut)
        indent = line[: len(line) - len(line.lstrip())]
        joined = (cut or " ").join(cells[:place] + cells[place + 1 :])
        kept.append(indent + joined if len(cells) > place + 1 else line)
    return "\n".join([*kept, ""])


_OTHER_NUMBERS = ("0", "-1", "7", "1e400", "NaN", "9" * 30, "9" * 5000, "N/A", "", "0.0", "18446744073709551615")


def number_replaced(dice: random.Random, text: str) -> str:
    """Another number in the place of one."""
    found = list(re.finditer(r"[0-9]+(?:\.[0-9]+)?", text[:LARGE]))
    if not found:
        return text
    one = dice.choice(found)
    other = dice.choice(
        ["0", "-1", "7", "1e400", "NaN", "9" * 30, "9" * 5000, "N/A", "", "0.0", "18446744073709551615"]
    )
    return text[: one.start()] + other + text[one.end() :]


MUTATIONS: dict[str, Mutation] = {
    one.__name__: one for one in (truncated, line_dropped, line_doubled, bytes_flipped, column_removed, number_replaced)
}
CHANGES_THE_MEASUREMENT = ("number_replaced",)
CHANGES_THE_COLUMNS = ("bytes_flipped", "column_removed")
"""A table with another head answers another question."""
CHANGES_THE_LOG = ("truncated", "line_dropped", "bytes_flipped", "column_removed")


def must_not_pass(case: Case, mutation: str, whole: Seen) -> frozenset[Key]:
    """Rows that *mutation* may not turn into passing ones."""
    other = (
        mutation in CHANGES_THE_MEASUREMENT
        or (case.kind in LOGS and mutation in CHANGES_THE_LOG)
        or (case.kind == "nvidia-smi query csv" and mutation in CHANGES_THE_COLUMNS)
    )
    return frozenset() if other else whole.failing


def try_one(judge_: Judge, case: Case, whole: Seen, dice: random.Random) -> str:
    """One mutation of one output; its name.

    Raises:
        DeceivedError: what fails in the whole text passes in the damaged one.
    """
    name = dice.choice(list(MUTATIONS))
    damaged = MUTATIONS[name](dice, case.text) if case.text else ""
    seen = judge_.look(case.kind, damaged, case.profile, case.host)
    deceived = must_not_pass(case, name, whole) & seen.passing
    if deceived and damaged != case.text:
        raise DeceivedError(f"{name} makes {sorted(deceived)} pass:\n{damaged[:3000]}")
    return name


def fuzz(cases: list[Case], count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """*count* mutations spread over *cases*: how many of each kind of output, and what went wrong."""
    judge_ = Judge()
    done: Counter[str] = Counter()
    wrong: list[str] = []
    signal.signal(signal.SIGALRM, _hung)
    whole = {case.id: judge_.look(case.kind, case.text, case.profile, case.host) for case in cases}
    weights = [0.02 if len(case.text) > LARGE else 0.3 if len(case.text) > LARGE // 4 else 1.0 for case in cases]
    order = random.Random(seed).choices(cases, weights, k=count)
    for place, case in enumerate(order):
        signal.alarm(LONGEST_SECONDS)
        try:
            try_one(judge_, case, whole[case.id], random.Random(f"{seed} {place}"))
        except Exception as error:
            wrong.append(f"{case.id} ({case.kind}) seed {seed!r} place {place}: {type(error).__name__}: {error}")
        finally:
            signal.alarm(0)
        done[case.kind] += 1
    return done, wrong


def _hung(_number: int, _frame: FrameType | None) -> None:
    raise HungError(f"no answer within {LONGEST_SECONDS} s")


def main() -> int:
    """Run, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", metavar="ID", help="only this output")
    options = parser.parse_args()
    cases = [case for case in load_cases() if options.only in ("", case.id)]
    if not cases:
        sys.stderr.write("../shared/cases is not here, or has no such output\n")
        return 64
    began = time.monotonic()
    done, wrong = fuzz(cases, options.count, options.seed)
    for kind, count in sorted(done.items()):
        sys.stdout.write(f"{kind:24} {count:>7}\n")
    for one in wrong:
        sys.stdout.write(f"WRONG {one[:2000]}\n")
    sys.stdout.write(f"{done.total()} mutations in {time.monotonic() - began:.0f} s, {len(wrong)} wrong\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
