"""All that the files of one run say, read once and shared by the audits of its items."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from readiness_agent.audits.configs.code import Call, Module, read_module
from readiness_agent.audits.configs.launches import Launches
from readiness_agent.audits.configs.lenient import Held, read_object
from readiness_agent.audits.configs.sources import DEEPSPEED, PYTHON, SCRIPT, Found, Source
from readiness_agent.audits.configs.values import Resolver, defaults_of
from readiness_agent.parsers.run_configs import read_deepspeed_config

_MEGATRON_FLAGS = ("tensor_model_parallel_size", "micro_batch_size", "num_layers")


class DeepSpeed(NamedTuple):
    """One DeepSpeed configuration."""

    source: Source
    held: Held
    facts: Dict[str, Any]
    """By the names of `readiness_agent.parsers.run_configs`; ``auto`` is a text."""

    def block(self, name: str) -> Dict[str, Any]:
        """One object of it; empty where there is none."""
        part = (self.held.value or {}).get(name)
        return part if isinstance(part, dict) else {}


class Setup:
    """The files of one run."""

    def __init__(self, found: Found, run: str) -> None:
        self.found = found
        self.run = run
        """The run's short name, where the audit is for one: a text that holds it is unique to the job."""
        self.launches = Launches(found.of_kind(SCRIPT))
        self.modules: List[Module] = [read_module(source) for source in found.of_kind(PYTHON)]
        defaults = defaults_of(self.modules)
        self._resolvers = {id(module): Resolver(module, defaults, self.launches) for module in self.modules}
        self._calls: Optional[List[Tuple[Resolver, Call]]] = None
        self.deepspeed: List[DeepSpeed] = [_deepspeed(source) for source in found.of_kind(DEEPSPEED)]

    def resolver(self, module: Module) -> Resolver:
        """Resolves expressions of *module*."""
        return self._resolvers[id(module)]

    def calls(self) -> Sequence[Tuple[Resolver, Call]]:
        """Every call that this run can reach, with what resolves its arguments."""
        if self._calls is None:
            self._calls = list(self._reachable())
        return self._calls

    def _reachable(self) -> Iterator[Tuple[Resolver, Call]]:
        for module in self.modules:
            resolver = self.resolver(module)
            for call in module.calls:
                if not any(resolver.truth(guard, call.function) is False for guard in call.guards):
                    yield resolver, call

    def imports(self, *beginnings: str) -> Optional[str]:
        """The place of the first import of one of these modules, or of a part of it."""
        for module in self.modules:
            for name in module.places:
                if any(name == one or name.startswith(f"{one}.") for one in beginnings):
                    return f"{module.name}:{module.places[name]}"
        return None

    def variables(self, name: str) -> List[Tuple[Any, str]]:
        """Values, and places, of an environment variable that training code sets itself."""
        found: List[Tuple[Any, str]] = []
        for resolver, call in self.calls():
            if call.name in ("os.environ.setdefault", "os.putenv") and resolver.value(call.argument(0)) == name:
                found.append((resolver.value(call.argument(1), call.function), call.place))
        for module in self.modules:
            for key, value in module.environment:
                if key == name:
                    found.append((self.resolver(module).value(value), f"{module.name}:{value.lineno}"))
        return found

    @property
    def uses_deepspeed(self) -> bool:
        """Whether anything shows that DeepSpeed trains."""
        flag = self.launches.flag("deepspeed", "deepspeed_config", "ds_config", "use_deepspeed")
        # The YAML of Accelerate can turn DeepSpeed on, and is not read here.
        accelerate = self.launches.flag("config_file") and any(
            "accelerate" in one.text for one in self.launches.scripts
        )
        return bool(self.deepspeed or flag or accelerate or self.imports("deepspeed"))

    @property
    def uses_megatron(self) -> bool:
        """Whether the flags are those of Megatron, or its code is used."""
        return bool(self.launches.flag(*_MEGATRON_FLAGS) or self.imports("megatron"))

    def unreadable(self) -> Sequence[str]:
        """Why some code could not be read; what it does cannot be told."""
        return [module.error for module in self.modules if module.error]

    def damaged(self) -> Sequence[str]:
        """Why some DeepSpeed configuration, or some file that may be one, could not be read."""
        broken = [f"{one.source.name} is no JSON ({one.held.error})" for one in self.deepspeed if one.held.error]
        return [*broken, *self.found.unread]


def _deepspeed(source: Source) -> DeepSpeed:
    held = read_object(source.text)
    facts = read_deepspeed_config(json.dumps(held.value)).facts if held.value is not None else ()
    return DeepSpeed(source, held, {fact.name: fact.value for fact in facts})
