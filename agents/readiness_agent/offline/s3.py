"""A very small client of object stores that speak S3: signed requests (Signature Version 4), nothing else.

The signature is the one that Amazon describes in "Authenticating Requests (AWS Signature Version 4)"; buckets are
addressed by path, which every store of this kind understands.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import os
import ssl
import time
from typing import Dict, List, Mapping, NamedTuple, Optional, Tuple
from urllib.parse import quote, urlsplit

from readiness_agent.config import Config, require_unchangeable
from readiness_agent.facts import DENIED, MISSING, UNREADABLE, CouldNotMeasure

MAX_ANSWER_BYTES = 1024 * 1024
SILENCE = 60.0
ALGORITHM = "AWS4-HMAC-SHA256"


class Credentials(NamedTuple):
    """Of the node's environment or configuration; the portal never sees them."""

    key: str
    secret: str
    session: str = ""


class Address(NamedTuple):
    """Where the store is: ``scheme://host:port``, and the name of its region."""

    scheme: str
    host: str
    region: str


class Request(NamedTuple):
    """One request before it is signed. ``query`` is not quoted."""

    method: str
    path: str
    query: Tuple[Tuple[str, str], ...] = ()
    body: bytes = b""
    headers: Tuple[Tuple[str, str], ...] = ()


class Reply(NamedTuple):
    """What the store answered; status 0 for no answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_good(self) -> bool:
        """Whether it was done; a store can answer 200 and say in the body that it failed after all."""
        return 200 <= self.status < 300 and b"<Error>" not in self.body[:512]


class Store:
    """One connection to one store, of one thread."""

    def __init__(self, address: Address, credentials: Credentials) -> None:
        self._address = address
        self._credentials = credentials
        self._connection: Optional[http.client.HTTPConnection] = None

    def ask(self, request: Request) -> Reply:
        """Send *request* once. No answer is status 0: whatever was lost, the request has failed."""
        sent = signed_headers(request, self._address, self._credentials, time.gmtime())
        target = quote(request.path, safe="/-_.~") + (f"?{canonical_query(request)}" if request.query else "")
        try:
            connection = self._connected()
            connection.request(request.method, target, body=request.body or None, headers=sent)
            with connection.getresponse() as response:
                body = response.read(MAX_ANSWER_BYTES)
                return Reply(response.status, {name.lower(): value for name, value in response.getheaders()}, body)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            return Reply(0, {}, str(error).encode())

    def close(self) -> None:
        """Drop the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> http.client.HTTPConnection:
        if self._connection is None:
            host = self._address.host
            self._connection = (
                http.client.HTTPSConnection(host, timeout=SILENCE, context=ssl.create_default_context())
                if self._address.scheme == "https"
                else http.client.HTTPConnection(host, timeout=SILENCE)
            )
        return self._connection


def signed_headers(request: Request, address: Address, who: Credentials, at: time.struct_time) -> Dict[str, str]:
    """The headers of *request* with its signature."""
    moment, day = time.strftime("%Y%m%dT%H%M%SZ", at), time.strftime("%Y%m%d", at)
    body_digest = hashlib.sha256(request.body).hexdigest()
    headers = {"Host": address.host, "x-amz-content-sha256": body_digest, "x-amz-date": moment}
    headers.update(dict(request.headers))
    if who.session:
        headers["x-amz-security-token"] = who.session
    names = sorted((name.lower(), " ".join(value.split())) for name, value in headers.items())
    listed = ";".join(name for name, _ in names)
    lines = [request.method, quote(request.path, safe="/-_.~"), canonical_query(request)]
    lines += [f"{name}:{value}" for name, value in names] + ["", listed, body_digest]
    scope = f"{day}/{address.region}/s3/aws4_request"
    said = "\n".join([ALGORITHM, moment, scope, hashlib.sha256("\n".join(lines).encode()).hexdigest()])
    signature = hmac.new(_signing_key(who.secret, day, address.region), said.encode(), hashlib.sha256).hexdigest()
    headers["Authorization"] = f"{ALGORITHM} Credential={who.key}/{scope},SignedHeaders={listed},Signature={signature}"
    return headers


def canonical_query(request: Request) -> str:
    """The query as it is sent and as it is signed: sorted, every value named."""
    pairs = sorted((quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in request.query)
    return "&".join(f"{name}={value}" for name, value in pairs)


def _signing_key(secret: str, day: str, region: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (day, region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


def address_of(config: Config) -> Address:
    """The configured store.

    Raises:
        CouldNotMeasure: none is configured, or what is configured is no address.
    """
    if not (config.s3_endpoint and config.s3_bucket):
        raise CouldNotMeasure(MISSING, "agent.json names no s3_endpoint and s3_bucket")
    parts = urlsplit(config.s3_endpoint)
    if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc or parts.path.strip("/"):
        raise CouldNotMeasure(
            UNREADABLE, f"s3_endpoint {config.s3_endpoint!r} is no address: write https://HOST[:PORT]"
        )
    return Address(parts.scheme, parts.netloc, config.s3_region or "us-east-1")


def credentials_of(config: Config, environment: Mapping[str, str]) -> Credentials:
    """The keys in the file that the configuration names, else in the environment.

    Raises:
        CouldNotMeasure: there are none, or others can read them.
    """
    found = _in_file(config.s3_credentials) if config.s3_credentials else environment
    lower = {name.lower(): value for name, value in found.items()}
    key, secret = lower.get("aws_access_key_id", ""), lower.get("aws_secret_access_key", "")
    if not key or not secret:
        place = config.s3_credentials or "the environment"
        raise CouldNotMeasure(MISSING, f"no aws_access_key_id and aws_secret_access_key in {place}")
    return Credentials(key, secret, lower.get("aws_session_token", ""))


def _in_file(path: str) -> Dict[str, str]:
    """``name = value`` lines, as the usual tools write them."""
    try:
        with open(path, encoding="utf-8") as file:
            require_unchangeable(path)
            if os.fstat(file.fileno()).st_mode & 0o077:
                raise CouldNotMeasure(DENIED, f"{path} can be read by other users: run `chmod 600 {path}`")
            lines: List[Tuple[str, str, str]] = [line.partition("=") for line in file]
    except (OSError, UnicodeDecodeError) as error:
        raise CouldNotMeasure(MISSING, f"{path} cannot be read ({error})") from None
    return {name.strip(): value.strip() for name, equals, value in lines if equals}
