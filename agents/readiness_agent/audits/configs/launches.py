"""All launch scripts of one run together: what they say of a variable, a flag or an option, or that they disagree."""

from __future__ import annotations

import os
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from readiness_agent.audits.configs.shell import Script, decided, gpus_of, number, read_script
from readiness_agent.audits.configs.sources import Source


class Told(NamedTuple):
    """One value that scripts state; *value* is None where it cannot be told, and *why* says why."""

    value: Optional[str]
    place: str
    why: str = ""
    text: str = ""
    """As the script has it, with variables in it that only a shell knows; empty where scripts disagree."""


class Launches:
    """Several scripts that start one run."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.scripts: List[Script] = [read_script(source.name, source.text) for source in sources]

    def __bool__(self) -> bool:
        return bool(self.scripts)

    def variable(self, name: str) -> Optional[Told]:
        """What the environment variable *name* is set to; None where no script sets it."""
        return self._told(name, lambda script: script.variables)

    def flag(self, *names: str) -> Optional[Told]:
        """What the first flag of *names* that is given says; underscores stand for hyphens."""
        return next(filter(None, (self._told(name, lambda script: script.flags) for name in names)), None)

    def option(self, *names: str) -> Optional[Told]:
        """What Slurm is asked for."""
        return next(filter(None, (self._told(name, lambda script: script.sbatch) for name in names)), None)

    def switch(self, *names: str) -> Optional[bool]:
        """Whether a flag that is on or off is on; None where it is not given, or cannot be told."""
        told = self.flag(*names)
        if told is None or told.value is None:
            return None
        words = {"": True, "true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        return words.get(told.value.lower(), None if told.value else True)

    def unseen(self) -> Tuple[str, ...]:
        """Files that scripts source and that nobody named: what they set cannot be told."""
        known = {os.path.basename(script.name) for script in self.scripts}
        names = [name for script in self.scripts for name in script.sourced]
        return tuple(sorted({name for name in names if os.path.basename(name) not in known}))

    def size(self) -> Tuple[Optional[int], Optional[int]]:
        """Nodes, and GPUs of each, that are asked for."""
        nodes = self._first_number(self.flag("nnodes", "num_nodes"), self.option("nodes"), self.variable("NNODES"))
        if nodes is None and any("standalone" in script.flags for script in self.scripts):
            nodes = 1
        per_node = self._first_number(
            self.flag("nproc_per_node", "num_gpus"), self.option("gpus-per-node", "gres"),
            self.option("ntasks-per-node"), self.variable("GPUS_PER_NODE"),
        )  # fmt: skip
        return nodes, per_node

    def is_slurm(self) -> bool:
        """Whether a script is for Slurm."""
        return any(script.sbatch for script in self.scripts)

    @staticmethod
    def _first_number(*told: Optional[Told]) -> Optional[int]:
        for one in told:
            found = None if one is None else number(one.value)
            if found is None and one is not None:
                found = gpus_of(one.value)
            if found is not None:
                return found
        return None

    def _told(self, name: str, held: Callable[[Script], Dict[str, str]]) -> Optional[Told]:
        stated = [(script, held(script)[name]) for script in self.scripts if name in held(script)]
        if not stated:
            return None
        script, value = stated[0]
        place = script.place(name if name in script.text else name.replace("_", "-"))
        if len({value for _, value in stated}) > 1:
            names = ", ".join(script.name for script, _ in stated)
            return Told(None, place, f"{name} is not the same in {names}: name the script that starts this run alone")
        plain = decided(value)
        return Told(
            plain, place, "" if plain is not None else f"{place}: only a shell knows the value of {name}", value
        )
