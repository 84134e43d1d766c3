"""What a user of Countersign has, and nothing else: commands, REST, a browser."""

import gzip
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import Message
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
AGENT = Path(sys.executable).with_name("readiness-agent")


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer, header names in small letters; nothing is raised for a refusal."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


def _lowered(headers: Message) -> dict[str, str]:
    """Header names are the same in any case; ours are small letters."""
    return {name.lower(): value for name, value in headers.items()}


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Portal:
    """A running portal, seen from outside."""

    url: str
    var: Path
    notes: Mapping[str, Any]

    def ask(
        self, path: str, *, token: str = "", body: object = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """GET, or POST when there is a *body* (bytes as they are, anything else as JSON)."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, headers=dict(headers or {}))
        if data is not None and not request.has_header("Content-type"):
            request.add_header("Content-Type", "application/json")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        opener = urllib.request.build_opener(_NoRedirects, urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=30) as answer:
                return Answer(answer.status, _lowered(answer.headers), answer.read().decode())
        except urllib.error.HTTPError as refusal:
            return Answer(refusal.code, _lowered(refusal.headers), refusal.read().decode())

    def gate(self, cluster: str, **question: str) -> dict[str, Any]:
        """The gate's JSON answer about a cluster that ``make run`` made."""
        query = urllib.parse.urlencode(question)
        answer = self.ask(f"/api/v1/clusters/{cluster}/readiness?{query}", token=self.notes["gate_token"])
        assert answer.status == 200, answer.text
        return dict(answer.json)

    def manage(self, *arguments: str) -> str:
        """A command of the portal's own; its standard output."""
        command = [sys.executable, "-m", "portal.quickstart", "manage", *arguments]
        environment = os.environ | {"COUNTERSIGN_VAR": str(self.var)}
        done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(arguments)}: {done.stderr or done.stdout}"
        return done.stdout.strip()

    def cluster(self, slug: str, *, profile: str, **settings: str) -> "ClusterOfMine":
        """A cluster made for one journey, with its tokens."""
        known = {"training_env": "none", **settings}  # the captures that journeys replay hold none
        options = [f"--{name.replace('_', '-')}={value}" for name, value in known.items()]
        self.manage("cluster", "create", slug, "--profile", profile, "--accept-replay", *options)
        return ClusterOfMine(
            self,
            slug,
            self.manage("token", "issue", "enrolment", "--cluster", slug),
            self.manage("token", "issue", "gate", "--cluster", slug),
        )


@dataclass(frozen=True, slots=True)
class ClusterOfMine:
    """A cluster with an enrolment token and a gate token."""

    portal: Portal
    slug: str
    enrolment_token: str
    token: str

    def gate(self, **question: str) -> dict[str, Any]:
        """The gate's JSON answer."""
        answer = self.ask_gate(**question)
        assert answer.status == 200, answer.text
        return dict(answer.json)

    def ask_gate(self, *, etag: str = "", **question: str) -> Answer:
        """The gate's answer as it came over the wire."""
        headers = {"If-None-Match": etag} if etag else {}
        query = urllib.parse.urlencode(question)
        return self.portal.ask(f"/api/v1/clusters/{self.slug}/readiness?{query}", token=self.token, headers=headers)

    def enrol(self, hostname: str, *, origin: str = "live") -> "NodeByHand":
        """A node whose reports the test writes itself."""
        boot_id = str(uuid.uuid4())
        body = {"hostname": hostname, "serials": {}, "boot_id": boot_id, "agent_version": "by hand", "origin": origin}
        answer = self.portal.ask("/api/v1/enroll", token=self.enrolment_token, body=body)
        assert answer.status == 201, answer.text
        return NodeByHand(self, hostname, answer.json["token"], boot_id)


def seconds_since_its_boot() -> float:
    """A node by hand was booted a day before this machine, so that it can have kept reports of an hour ago."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) + 86_400


@dataclass(slots=True)
class NodeByHand:
    """Pushes reports as any program could that has the node's token."""

    cluster: ClusterOfMine
    hostname: str
    token: str
    boot_id: str
    last: dict[str, Any] = field(default_factory=dict)

    def plan(self, *, etag: str = "") -> Answer:
        headers = {"If-None-Match": etag} if etag else {}
        return self.cluster.portal.ask("/api/v1/agent/plan", token=self.token, headers=headers)

    def report(
        self, facts: Sequence[Mapping[str, Any]], *, covered: Sequence[str], cadence: str = "tick", **changes: Any
    ) -> dict[str, Any]:
        """A well-formed report; *changes* replace or add top-level fields."""
        boottime = seconds_since_its_boot()
        now = datetime.now(UTC).isoformat()
        return {
            "schema": 1, "report_id": str(uuid.uuid4()), "agent_version": "by hand",
            "node": {"hostname": self.hostname, "boot_id": self.boot_id, "serials": {}},
            "started_at": now, "finished_at": now,
            "clock": {"unix": time.time(), "boottime": boottime, "ntp_offset_ms": None, "synced": None},
            "cadence": cadence, "plan_etag": None, "origin": "live", "captured_at": None,
            "covered": list(covered), "facts": [{"observed_at": boottime, **fact} for fact in facts],
            "problems": [], "evidence": [], "lost": {"spool": 0, "bad": 0},
        } | changes  # fmt: skip

    def push(self, report: Mapping[str, Any] | bytes, *, headers: Mapping[str, str] | None = None) -> Answer:
        """Send one report, compressed as the agent does it, or the bytes as they are."""
        body = report if isinstance(report, bytes) else gzip.compress(json.dumps(report).encode())
        sent = {"Content-Type": "application/json", "Content-Encoding": "gzip", "Report-Age": "0"} | dict(headers or {})
        return self.cluster.portal.ask("/api/v1/reports", token=self.token, body=body, headers=sent)


@dataclass(frozen=True, slots=True)
class Agent:
    """The real node agent, with a home of its own, and with *tools* (a directory) before all others in its PATH."""

    home: Path
    tools: Path | None = None

    def __call__(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run one command of the agent; any exit status is an answer."""
        return subprocess.run(
            self.command(*arguments), env=self.environment, input=stdin, capture_output=True, text=True, check=False,
            timeout=120,
        )  # fmt: skip

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """The same without waiting for its end."""
        return subprocess.Popen(
            self.command(*arguments), env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def command(self, *arguments: str) -> list[str]:
        return [str(AGENT), *arguments]

    @property
    def environment(self) -> dict[str, str]:
        path = os.environ["PATH"] if self.tools is None else f"{self.tools}:{os.environ['PATH']}"
        return os.environ | {"READINESS_AGENT_HOME": str(self.home), "PATH": path}

    def enrol(self, portal: Portal, token: str, hostname: str) -> subprocess.CompletedProcess[str]:
        """``enroll`` with the token on standard input, under a name of its own."""
        return self(
            "enroll", "--portal", portal.url, "--token-file", "-", "--hostname", hostname, stdin=token
        )  # fmt: skip

    def tick(self) -> dict[str, Any]:
        """``tick --json``, which exits 0 whatever the portal does; what it said on standard error goes along."""
        done = self("tick", "--json")
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout) if done.stdout.strip() else {}
        return answer | {"stderr": done.stderr}


def wait_for(what: str, seen: Callable[[], bool], *, seconds: float) -> None:
    """Ask until *seen* says yes; fail with *what* did not happen."""
    deadline = time.monotonic() + seconds
    while not seen():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.5)
