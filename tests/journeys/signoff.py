"""A cluster that trains and the people who sign for it, made with the commands that an administrator has."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tests.audited import audited_items, sound_evidence
from tests.journeys.forms import Page, Sender
from tests.journeys.sound import PROFILE, facts_of_a_tuned_node, rules
from tests.journeys.training import SETTLE_GAP_S, TrainingNode
from tests.journeys.user import Answer, ClusterOfMine, Portal

#: What the clerk states where no probe can measure, by the names of the form's fields.
OF_THE_CLUSTER: dict[str, dict[str, str]] = {
    "data-spot-check": {"fact_passed_share": "99.8", "fact_documents": "400"},
    "ops-storage-gc": {"fact_confirmed": "True"},
}
OF_THE_RUN: dict[str, dict[str, str]] = {
    "ops-shift": {"fact_run_covered": "True", "fact_longest_shift": "28800"},
    "ops-runbook": {"fact_confirmed": "True"},
    "loss-guard": {"fact_confirmed": "True"},
}
#: Who signs what, by the default policy.
SIGNERS: Sequence[tuple[str, str]] = (
    ("hana", "physical"), ("piet", "physical"), ("piet", "system"), ("piet", "framework"), ("lena", "framework"),
    ("dara", "data"), ("lena", "data"), ("lena", "operations"),
)  # fmt: skip
ROLES = {"hana": "hardware", "piet": "platform", "dara": "data", "lena": "lead", "carl": "data"}
LAYERS = ("physical", "system", "framework", "data", "operations")
DATASET = "web-v4"


@dataclass
class Team:
    """One cluster, its nodes, and its people: Carl, who states results, signs nothing."""

    cluster: ClusterOfMine
    nodes: dict[str, TrainingNode] = field(default_factory=dict)
    passwords: dict[str, str] = field(default_factory=dict)
    stated: set[str] = field(default_factory=set)
    _senders: dict[str, Sender] = field(default_factory=dict)

    @property
    def portal(self) -> Portal:
        return self.cluster.portal

    def who(self, name: str) -> str:
        """The user name of somebody whom the tests call *name*: it is unique on the portal."""
        return f"{name}-{self.cluster.slug}"

    def add(self, name: str, role: str) -> None:
        """Somebody more, with one role."""
        said = self.portal.manage("person", "add", self.who(name), "--role", role, "--cluster", self.cluster.slug)
        self.passwords[name] = said.split()[1]

    def add_all(self, roles: Mapping[str, str]) -> None:
        """Several people, name to role; two commands at a time."""
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(self.add, roles.keys(), roles.values()))

    def grant(self, name: str, role: str) -> None:
        """One role more for somebody."""
        self.portal.manage("person", "grant", self.who(name), "--role", role, "--cluster", self.cluster.slug)

    def end(self, name: str, role: str) -> None:
        """One role less."""
        self.portal.manage("person", "end", self.who(name), "--role", role, "--cluster", self.cluster.slug)

    def sender(self, name: str) -> Sender:
        """That person, signed in once."""
        if name not in self._senders:
            self._senders[name] = Sender(self.portal, self.who(name), self.passwords[name]).sign_in()
        return self._senders[name]

    @cached_property
    def operator_token(self) -> str:
        """A token of the automation around runs."""
        return self.portal.manage("token", "issue", "operator", "--cluster", self.cluster.slug)

    def training(self, *hostnames: str) -> None:
        """Nodes that report everything, and are ready."""
        facts = facts_of_a_tuned_node()
        for hostname in hostnames:
            self.nodes[hostname] = TrainingNode(self.cluster, hostname, facts).prove()

    def called(self, name: str) -> str:
        """The short name of a run that the tests call *name*."""
        return f"{self.cluster.slug}-{name}"

    def run(self, name: str, nodes: str, *, needed: int) -> "RunOfMine":
        """A run planned by the lead, with everything stated about it."""
        run = RunOfMine(self, self.called(name))
        run.plan(nodes, needed)
        run.state_all()
        return run


@dataclass(frozen=True, slots=True)
class RunOfMine:
    """One run as its people deal with it."""

    team: Team
    slug: str

    @property
    def path(self) -> str:
        return f"/runs/{self.slug}/"

    def plan(self, nodes: str, needed: int) -> None:
        """Through the form, as the lead fills it in."""
        given = {
            "name": self.slug, "slug": self.slug, "nodes": nodes, "nodes_needed": str(needed),
            "world_size": str(2 * needed), "model_name": "cygnus", "dataset": DATASET,
        }  # fmt: skip
        done = self.team.sender("lena").send(f"/clusters/{self.team.cluster.slug}/runs/new/", given)
        assert done.path == self.path, done.text

    def state_all(self) -> None:
        """Everything that no probe can measure; what is the cluster's or the dataset's, only once."""
        wanted = OF_THE_RUN | {item: facts for item, facts in OF_THE_CLUSTER.items() if item not in self.team.stated}
        for item, facts in wanted.items():
            self.state(item, facts)
        self.team.stated |= OF_THE_CLUSTER.keys()
        self.audit()

    def audit(self) -> None:
        """What audits find about files of which every one is right, sent as the audits send it."""
        sent = sound_evidence(audited_items(rules()))
        done = self.team.portal.ask(f"/api/v1/runs/{self.slug}/evidence", token=self.team.operator_token, body=sent)
        assert done.status == 202, done.text

    def state(self, item: str, facts: Mapping[str, str], *, by: str = "carl") -> None:
        """State the result of an attested item."""
        clerk, path = self.team.sender(by), f"/clusters/{self.team.cluster.slug}/items/{item}/state/?run={self.slug}"
        done = clerk.send(path, {**facts, "statement": "Looked at it."}, shown=clerk.look_proved(path))
        assert done.status == 200, done.text
        assert "/state/" not in done.path, done.text

    def sign(self, name: str, layer: str, **more: str) -> Page:
        """Sign what the page shows; the answer is where that leads."""
        return self.team.sender(name).send(f"{self.path}sign/{layer}/", {"meaning": "reviewed", **more})

    def signed_by(self, name: str, layer: str) -> None:
        """The same, and it is signed."""
        done = self.sign(name, layer)
        assert (done.status, done.path) == (200, self.path), done.text

    def sign_all(self) -> None:
        """Everybody signs everything that is theirs."""
        for name, layer in SIGNERS:
            self.signed_by(name, layer)

    def page(self, name: str = "lena") -> Page:
        """The run's page."""
        return self.team.sender(name).look(self.path)

    def gate(self, purpose: str = "start", **question: str) -> dict[str, Any]:
        """The gate's answer to a scheduler."""
        return self.team.cluster.gate(run=self.slug, purpose=purpose, **question)

    def tell(self, what: str, **body: str) -> Answer:
        """What a scheduler tells about the run: started, restarted, replace."""
        address = f"/api/v1/runs/{self.slug}/{what}"
        return self.team.portal.ask(address, token=self.team.operator_token, body=body)

    def signatures(self, layer: str) -> list[dict[str, Any]]:
        """Every signature of the layer that there ever was, as a program reads them."""
        told = self.team.portal.ask(f"/api/v1/runs/{self.slug}/signatures", token=self.team.operator_token)
        assert told.status == 200, told.text
        return next(list(one["signatures"]) for one in told.json["layers"] if one["layer"] == layer)


def codes(answer: Mapping[str, Any]) -> set[str]:
    """What speaks against it."""
    return {reason["code"] for reason in answer["reasons"]}


def layers(answer: Mapping[str, Any]) -> dict[str, str]:
    """The state of each layer's signatures."""
    return {one["layer"]: one["state"] for one in answer["signatures"]}


def make_team(portal: Portal, slug: str) -> Team:
    """The cluster and its five people."""
    team = Team(portal.cluster(slug, profile=PROFILE, settle_gap=str(SETTLE_GAP_S)))
    team.add_all(ROLES)
    return team
