"""A small object store of the tests' own: multi-part uploads in memory over HTTP, failing where a test wants it to.

It checks what a real one checks: the signature of every request (by a second reading of Amazon's description), and that
the parts which finish an upload are those that were stored, by number and tag.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, urlsplit

KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


class ObjectStore:
    """Listens on loopback; *fails* says of the n-th request (from 1) with which status it is to fail, or None."""

    def __init__(self, fails: Callable[[int, str], int | None] = lambda number, method: None) -> None:
        self.fails = fails
        self.requests: list[tuple[str, int]] = []
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.keys: dict[str, str] = {}
        self.objects: dict[str, int] = {}
        self.finished: list[int] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes, dict[str, str]]:
        """What the store says to one request."""
        with self._lock:
            status = self.fails(len(self.requests) + 1, method)
            self.requests.append((method, status or 200))
            if status is not None:
                return status, b"<Error><Code>SlowDown</Code></Error>", {}
            if not is_signed(method, path, headers, body):
                return 403, b"<Error><Code>SignatureDoesNotMatch</Code></Error>", {}
            return self._done(method, urlsplit(path).path, dict(parse_qsl(urlsplit(path).query, True)), body)

    def _done(self, method: str, path: str, query: dict[str, str], body: bytes) -> tuple[int, bytes, dict[str, str]]:
        if method == "GET" and "uploads" in query:
            rows = "".join(
                f"<Upload><Key>{key}</Key><UploadId>{name}</UploadId></Upload>"
                for name, key in self.keys.items()
                if key.startswith(query.get("prefix", ""))
            )
            return 200, f"<ListMultipartUploadsResult>{rows}</ListMultipartUploadsResult>".encode(), {}
        if method == "POST" and "uploads" in query:
            name = f"upload-{len(self.keys) + 1}"
            self.uploads[name], self.keys[name] = {}, path.split("/", 2)[2]
            return (
                200,
                f"<InitiateMultipartUploadResult><UploadId>{name}</UploadId></InitiateMultipartUploadResult>".encode(),
                {},
            )
        if method == "PUT":
            self.uploads[query["uploadId"]][int(query["partNumber"])] = body
            return 200, b"", {"ETag": tag_of(body)}
        if method == "POST":
            return self._finish(path, query["uploadId"], body)
        self.uploads.pop(query.get("uploadId", ""), None)
        self.keys.pop(query.get("uploadId", ""), None)
        self.objects.pop(path if not query else "", None)
        return 204, b"", {}

    def _finish(self, path: str, name: str, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        named = re.findall(rb"<PartNumber>(\d+)</PartNumber><ETag>([^<]+)</ETag>", body)
        stored = {number: tag_of(part) for number, part in self.uploads[name].items()}
        if {int(number): tag.decode() for number, tag in named} != stored:
            return 200, b"<Error><Code>InvalidPart</Code></Error>", {}
        self.objects[path] = sum(len(part) for part in self.uploads.pop(name).values())
        self.finished.append(self.objects[path])
        self.keys.pop(name)
        return 200, b"<CompleteMultipartUploadResult/>", {}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        store = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                status, said, more = store.answer(self.command, self.path, headers, body)
                self.send_response(status)
                for name, value in {"Content-Length": str(len(said)), **more}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(said)

            do_GET = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815

            def log_message(self, *args: object) -> None:
                pass

        return Handler


def tag_of(part: bytes) -> str:
    return f'"{hashlib.md5(part, usedforsecurity=False).hexdigest()}"'


def is_signed(method: str, path: str, headers: dict[str, str], body: bytes) -> bool:
    """Whether the request carries the signature of ``SECRET``."""
    found = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request,"
        r"SignedHeaders=([^,]+),Signature=([0-9a-f]{64})",
        headers.get("authorization", ""),
    )
    if found is None or found[1] != KEY or headers.get("x-amz-content-sha256") != hashlib.sha256(body).hexdigest():
        return False
    split, names = urlsplit(path), found[4].split(";")
    if not {"host", "x-amz-date", "x-amz-content-sha256"} <= set(names):
        return False
    pairs = sorted((quote(n, safe="-_.~"), quote(v, safe="-_.~")) for n, v in parse_qsl(split.query, True))
    canonical = "\n".join(
        [method, split.path, "&".join(f"{n}={v}" for n, v in pairs), *(f"{n}:{headers[n].strip()}" for n in names), "",
         found[4], headers["x-amz-content-sha256"]]
    )  # fmt: skip
    scope = f"{found[2]}/{found[3]}/s3/aws4_request"
    said = f"AWS4-HMAC-SHA256\n{headers['x-amz-date']}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = b"AWS4" + SECRET.encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), "sha256").digest()
    return hmac.new(key, said.encode(), "sha256").hexdigest() == found[5]
