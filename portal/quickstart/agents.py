"""The node agents of the quickstart: this machine, measured for real, and an example node, replayed from a capture."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from portal.quickstart import programs
from portal.quickstart.children import Child
from portal.quickstart.place import CHECKOUT, Place, read_json, write_json, write_private

EXAMPLE_CAPTURE = CHECKOUT / "tests" / "captures" / "example-2gpu"
EXAMPLE_CLUSTER = "example"
EXAMPLE_NODE = "example-ok"


@dataclass(frozen=True, slots=True)
class Agent:
    """One enrolled agent with a home of its own under ``var/``, so that it never meets an installed one."""

    name: str
    place: Place
    environment: Mapping[str, str]
    pause: Callable[[], None]

    @property
    def home(self) -> Path:
        return self.place.var / "agents" / self.name

    def enrol(self, url: str, *, token: str, arguments: tuple[str, ...] = ()) -> None:
        """Trade an enrolment token for the node's own, once.

        Raises:
            QuickstartError: the portal refused, or does not answer.
        """
        if (self.home / "token").exists():
            self._follow(url)
            return
        self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        token_file = self.home / "enrolment-token"
        write_private(token_file, token + "\n")
        try:
            self.run("enroll", "--portal", url, "--token-file", str(token_file), *arguments)
        finally:
            token_file.unlink()

    def _follow(self, url: str) -> None:
        """The portal may come back on another port."""
        config = self.home / "agent.json"
        known = read_json(config)
        if known.get("portal") != url:
            write_json(config, known | {"portal": url})

    def run(self, *arguments: str) -> None:
        """Run one command to its end.

        Raises:
            QuickstartError: it failed.
        """
        child = self.start(*arguments)
        try:
            programs.finish(child, self.pause, what=f"readiness-agent {arguments[0]} for {self.name}")
        finally:
            child.stop()

    def start(self, *arguments: str) -> Child:
        """Start one command."""
        environment = dict(self.environment) | {"READINESS_AGENT_HOME": str(self.home)}
        log = f"agent-{self.name}"
        return programs.start([str(programs.AGENT), *arguments], name=log, place=self.place, environment=environment)


def this_machine(place: Place, environment: Mapping[str, str], pause: Callable[[], None]) -> Agent:
    """The agent that measures the machine we run on."""
    return Agent("this-machine", place, environment, pause)


def example_node(place: Place, environment: Mapping[str, str], pause: Callable[[], None]) -> Agent:
    """The agent that replays the example capture."""
    return Agent(EXAMPLE_NODE, place, environment, pause)
