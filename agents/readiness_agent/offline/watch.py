"""Whether anybody else uses this node: processes on its GPUs, and what its scheduler says.

What cannot be told counts as used: a measurement that spoils a job costs more than one that is missed.
"""

from __future__ import annotations

from typing import Callable, List, Sequence

from readiness_agent.command import find_tool, run_command
from readiness_agent.facts import CouldNotMeasure

COMMAND_SECONDS = 8.0
BUSY_STATES = ("ALLOCATED", "MIXED", "COMPLETING", "ALLOC", "COMP")

Family = Callable[[], List[int]]
"""Lists the processes that are this agent's own."""


def nobody() -> List[int]:
    """Before anything of our own runs, every process is somebody else's."""
    return []


def foreign_use(hostname: str, own: Family = nobody) -> str:
    """Who else uses the node, in one sentence; empty while nobody does."""
    return _gpu_processes(own) or _scheduler(hostname)


def _gpu_processes(own: Family) -> str:
    if not _is_there("nvidia-smi"):
        return ""
    argv = ("nvidia-smi", "--query-compute-apps=pid,process_name", "--format=csv,noheader")
    try:
        answer = run_command(argv, COMMAND_SECONDS)
    except CouldNotMeasure as error:
        return f"it cannot be told whether a process uses a GPU: {error.detail}"
    if answer.exit_code != 0:
        return f"it cannot be told whether a process uses a GPU: nvidia-smi ended with {answer.exit_code}"
    strangers = foreign_pids(answer.stdout, own())
    return f"process {strangers[0]} uses a GPU" if strangers else ""


def foreign_pids(text: str, own: Sequence[int]) -> List[str]:
    """Processes in the answer of ``nvidia-smi --query-compute-apps`` that are not *own*; one without a pid is none."""
    rows = [line.partition(",")[0].strip() for line in text.splitlines() if line.strip()]
    return [pid for pid in rows if not (pid.isdigit() and int(pid) in own)]


def _scheduler(hostname: str) -> str:
    """What Slurm says, where its tools are: the jobs on this node, else the node's state."""
    if _is_there("squeue"):
        return _ask(("squeue", "-h", "-w", hostname, "-o", "%i"), jobs_in)
    if _is_there("scontrol"):
        return _ask(("scontrol", "-o", "show", "node", hostname), busy_state_in)
    return ""


def jobs_in(text: str) -> str:
    """The first job of ``squeue -h -o %i``, as a sentence; empty without one."""
    jobs = text.split()
    return f"job {jobs[0]} is on this node" if jobs else ""


def busy_state_in(text: str) -> str:
    """What ``scontrol show node`` says against measuring; empty for a node without a job."""
    states = [word[len("State=") :] for word in text.split() if word.startswith("State=")]
    if not states:
        return "scontrol does not tell this node's state"
    busy = [state for state in states[0].rstrip("*~#!%$@^-").split("+") if state in BUSY_STATES]
    return f"the scheduler's state of this node is {states[0]}" if busy else ""


def _ask(argv: Sequence[str], read: Callable[[str], str]) -> str:
    try:
        answer = run_command(argv, COMMAND_SECONDS)
    except CouldNotMeasure as error:
        return f"it cannot be told whether a job is on this node: {error.detail}"
    if answer.exit_code != 0:
        said = (answer.stderr.strip().splitlines() or [f"it ended with {answer.exit_code}"])[0]
        return f"it cannot be told whether a job is on this node: {argv[0]}: {said}"
    return read(answer.stdout)


def _is_there(tool: str) -> bool:
    try:
        find_tool(tool)
    except CouldNotMeasure:
        return False
    return True
