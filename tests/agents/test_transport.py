"""TLS and proxies, with real certificates and real sockets."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from readiness_agent.config import Config
from readiness_agent.transport import Portal, Unreachable
from tests.agents.conftest import TOKEN
from tests.agents.portals import LoopbackPortal

DAY = datetime.timedelta(days=1)


def certificate(path: Path, *, ends: datetime.timedelta) -> Path:
    """A certificate for 127.0.0.1, its own authority, that ends *ends* from now; with its key in one file."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
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

        with pytest.raises(Unreachable):
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
