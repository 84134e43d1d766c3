"""TLS and proxies, with real certificates and real sockets."""

from __future__ import annotations

import datetime
import gc
import ipaddress
import json
import socket
import ssl
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from readiness_agent.config import Config
from readiness_agent.dialling import AddressBook, connect_first, dial, resolve
from readiness_agent.node import now
from readiness_agent.transport import Limits, Portal, Unreachable
from tests.agents.conftest import TOKEN
from tests.agents.portals import Asked, LoopbackPortal, Reply

DAY = datetime.timedelta(days=1)


def certificate(path: Path, *, ends: datetime.timedelta) -> Path:
    """A certificate for 127.0.0.1, its own authority, that ends *ends* from now; with its key in one file."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.timezone.utc)  # noqa: UP017  (Python 3.9)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "portal of a test")])
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 2 * DAY)
        .not_valid_after(now + ends)
        .add_extension(address, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
    return path


class Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing to say."""


@pytest.fixture
def serve() -> Iterator[Callable[[Path], str]]:
    """Serves HTTPS with a given certificate; hands out the address."""
    running: list[ThreadingHTTPServer] = []

    def start(pem: Path) -> str:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        server = ThreadingHTTPServer(("127.0.0.1", 0), Hello)
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # refused handshakes are the test
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        running.append(server)
        return f"https://127.0.0.1:{server.server_address[1]}"

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


def get(config: Config) -> int:
    portal = Portal(config, TOKEN)
    try:
        return portal.get("/api/v1/agent/plan", {}).status
    finally:
        portal.close()


def test_a_portal_of_the_configured_authority_is_trusted(serve: Callable[[Path], str], tmp_path: Path) -> None:
    pem = certificate(tmp_path / "portal.pem", ends=DAY)

    assert get(Config(portal=serve(pem), ca_file=str(pem))) == 200


def test_a_portal_of_another_authority_is_not_and_the_message_says_what_to_set(
    serve: Callable[[Path], str], tmp_path: Path
) -> None:
    pem = certificate(tmp_path / "portal.pem", ends=DAY)

    with pytest.raises(Unreachable, match="set ca_file"):
        get(Config(portal=serve(pem)))


def test_an_expired_certificate_points_at_the_clock(serve: Callable[[Path], str], tmp_path: Path) -> None:
    pem = certificate(tmp_path / "portal.pem", ends=-DAY)

    with pytest.raises(Unreachable, match="compare this node's clock"):
        get(Config(portal=serve(pem), ca_file=str(pem)))


@contextmanager
def _refused_answer_left_open() -> Iterator[None]:
    """Before 3.11.4, ``http.client`` leaves a tunnel's refused answer to the collector; a warning there is Python's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        gc.collect()


def test_a_proxy_learns_where_to_connect_and_nothing_else() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        heard: list[bytes] = []

        def refuse() -> None:
            connection, _ = listener.accept()
            with connection:
                heard.append(connection.recv(65536))
                connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=refuse)
        thread.start()
        config = Config(portal="https://portal.example", proxy=f"http://127.0.0.1:{listener.getsockname()[1]}")

        with _refused_answer_left_open(), pytest.raises(Unreachable):
            get(config)
        thread.join(5)

    assert heard[0].startswith(b"CONNECT portal.example:443 HTTP/1.")
    assert TOKEN.encode() not in heard[0]


def test_proxies_of_the_environment_are_ignored(portal: LoopbackPortal, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert get(Config(portal=portal.url)) == 200


def test_a_name_that_cannot_be_resolved_is_said() -> None:
    with pytest.raises(Unreachable, match=r"portal\.invalid"):
        get(Config(portal="https://portal.invalid"))


@pytest.fixture
def dripping() -> Iterator[Callable[[bytes], tuple[str, threading.Event]]]:
    """A portal that says the beginning of an answer and then nothing; the event tells it to hang up."""
    listener, hang_up = socket.create_server(("127.0.0.1", 0)), threading.Event()

    def start(beginning: bytes) -> tuple[str, threading.Event]:
        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(beginning)
                hang_up.wait(20)

        threading.Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}", hang_up

    yield start
    hang_up.set()
    listener.close()


@pytest.mark.parametrize(
    "beginning",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\nX-Half: ",
        b"",
    ],
)
def test_giving_up_on_an_answer_does_not_wait_for_its_end(
    beginning: bytes, dripping: Callable[[bytes], tuple[str, threading.Event]]
) -> None:
    url, hang_up = dripping(beginning)
    portal = Portal(Config(portal=url), TOKEN)

    with pytest.raises(Unreachable, match="did not finish"):
        portal.get("/api/v1/agent/plan", {}, Limits(silence=15.0, total=0.2))
    portal.close()

    assert not hang_up.is_set()


def test_a_report_may_be_silent_for_longer_than_the_plan_before_it(portal: LoopbackPortal) -> None:
    talk = Portal(Config(portal=portal.url), TOKEN)
    talk.get("/api/v1/agent/plan", {}, Limits(silence=0.05, total=5.0))
    answer, slow = portal.answer, threading.Event()

    def linger(asked: Asked) -> Reply:
        slow.wait(0.2)
        return answer(asked)

    portal.answer = linger

    assert talk.get("/api/v1/agent/plan", {}, Limits(silence=5.0, total=5.0)).status == 200
    talk.close()


def test_while_no_resolver_knows_the_portal_it_is_found_where_it_was(
    portal: LoopbackPortal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, book = int(portal.url.rpartition(":")[2]), AddressBook(str(tmp_path / "address.json"))
    with monkeypatch.context() as names:
        known = socket.getaddrinfo("127.0.0.1", port, 0, socket.SOCK_STREAM)
        names.setattr(socket, "getaddrinfo", lambda *_: known)
        dial(("portal.invalid", port), 5.0, book).close()

    with dial(("portal.invalid", port), 5.0, book) as again:
        assert again.getpeername() == ("127.0.0.1", port)
    with pytest.raises(OSError, match=r"\S"):
        dial(("other.invalid", port), 5.0, book)


@pytest.mark.parametrize("age", [86_401.0, -5.0])
def test_an_address_of_more_than_a_day_ago_is_not_remembered(age: float, tmp_path: Path) -> None:
    path, moment = tmp_path / "address.json", now()
    at = [moment.unix, moment.boottime - age, moment.boot_id]
    path.write_text(json.dumps({"host": "portal.invalid", "address": "127.0.0.1", "at": at}))

    assert AddressBook(str(path)).recall("portal.invalid") is None


def test_a_resolver_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asleep = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: asleep.wait(20) and [])

    with pytest.raises(TimeoutError, match="check this node's DNS"):
        resolve("portal.example", 443, 0.1)
    asleep.set()


def test_an_address_family_that_leads_nowhere_costs_a_moment(portal: LoopbackPortal) -> None:
    port = int(portal.url.rpartition(":")[2])
    nowhere = (socket.AF_INET, ("127.0.0.1", 1))
    no_route = (socket.AF_INET6, ("2001:db8::1", port, 0, 0))

    with connect_first([no_route, nowhere, (socket.AF_INET, ("127.0.0.1", port))], 5.0) as found:
        assert found.getpeername() == ("127.0.0.1", port)


def test_where_nothing_answers_the_last_reason_is_told() -> None:
    with pytest.raises(ConnectionRefusedError):
        connect_first([(socket.AF_INET, ("127.0.0.1", 1))], 5.0)


def test_a_missing_authority_file_is_named() -> None:
    with pytest.raises(Unreachable, match=r"ca_file /no/such\.pem is not there"):
        get(Config(portal="https://127.0.0.1:1", ca_file="/no/such.pem"))
