"""Uploads to the object store as a checkpoint goes there: many parts, several at a time, every retry counted.

A request that had to be sent again has failed once. Requests of one upload are too few to show a tenth of a percent, so
those of seven days are added up. Everything is uploaded below a prefix of this node's own and deleted again; parts that
an earlier run left are given up first.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
import threading
import time
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from readiness_agent.facts import ERROR, CouldNotMeasure, Findings, ProbeResult
from readiness_agent.files import read_json, write_json
from readiness_agent.node import hostname
from readiness_agent.offline.bench import Bench, OfflineProbe
from readiness_agent.offline.s3 import Address, Credentials, Reply, Request, Store, address_of, credentials_of
from readiness_agent.values import bounded

ITEM = "object-store-upload"
PART = 5 * 1024 * 1024
"""The least that stores take: the more requests, the sooner a rate of failures shows."""
PARTS = 2048
"""10 GiB."""
THREADS = 8
TRIES = 6
FIRST_PAUSE = 0.1
KEPT_SECONDS = 7 * 86400.0

_UPLOAD = re.compile(rb"<UploadId>([^<]{1,1024})</UploadId>")
_LISTED = re.compile(
    rb"<Upload>.*?<Key>([^<]{1,1024})</Key>.*?<UploadId>([^<]{1,1024})</UploadId>.*?</Upload>", re.DOTALL
)


class Refused(CouldNotMeasure):
    """The store took a request in no try."""


class Tally:
    """Requests of all threads, and how many of them failed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.requests = 0
        self.failed = 0

    def count(self, is_good: bool) -> None:
        """One request was answered, or was not."""
        with self._lock:
            self.requests += 1
            self.failed += not is_good


class Upload(NamedTuple):
    """What an upload came to."""

    uploaded: int
    seconds: float
    tally: Tally
    complaint: str


class _Uploader:
    """One multi-part upload by several threads."""

    def __init__(self, address: Address, credentials: Credentials, bucket: str, key: str) -> None:
        self._address, self._credentials = address, credentials
        self._path = f"/{bucket}/{key}"
        self.tally = Tally()
        self._tags: Dict[int, str] = {}
        self._next = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._complaint = ""

    def upload(self, parts: int, seconds: float) -> Upload:
        """Send up to *parts* for at most *seconds*, finish, and delete; what cannot be finished is given up."""
        store = Store(self._address, self._credentials)
        identity = ""
        try:
            identity = self._begin(store)
            started = time.monotonic()
            self._send_parts(identity, parts, started + seconds)
            taken = time.monotonic() - started
            if self._tags and not self._complaint:
                self._finish(store, identity)
            return Upload(len(self._tags) * PART, taken, self.tally, self._complaint)
        finally:
            self._stop.set()
            if identity:
                store.ask(Request("DELETE", self._path, (("uploadId", identity),)))  # no harm to what is finished
                store.ask(Request("DELETE", self._path))
            store.close()

    def _begin(self, store: Store) -> str:
        found = _UPLOAD.search(self._insist(store, Request("POST", self._path, (("uploads", ""),))).body)
        if found is None:
            raise Refused(ERROR, "the store began an upload and did not name it")
        return found[1].decode()

    def _send_parts(self, identity: str, parts: int, end: float) -> None:
        threads = [
            threading.Thread(target=self._work, args=(identity, parts, end), daemon=True) for _ in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)  # so that a signal is heard

    def _work(self, identity: str, parts: int, end: float) -> None:
        store, block = Store(self._address, self._credentials), os.urandom(PART - 8)
        while not self._stop.is_set() and time.monotonic() < end:
            number = self._take(parts)
            if number is None:
                break
            body = number.to_bytes(8, "big") + block
            query = (("partNumber", str(number)), ("uploadId", identity))
            try:
                reply = self._insist(store, Request("PUT", self._path, query, body))
            except Refused as refused:
                self._complaint = refused.detail
                self._stop.set()
                break
            self._tags[number] = reply.headers.get("etag", "")
        store.close()

    def _take(self, parts: int) -> Optional[int]:
        with self._lock:
            self._next += 1
            return self._next if self._next <= parts else None

    def _finish(self, store: Store, identity: str) -> None:
        rows = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>"
            for number, tag in sorted(self._tags.items())
        )
        body = f"<CompleteMultipartUpload>{rows}</CompleteMultipartUpload>".encode()
        try:
            self._insist(store, Request("POST", self._path, (("uploadId", identity),), body))
        except Refused as refused:
            self._complaint = refused.detail

    def _insist(self, store: Store, request: Request) -> Reply:
        """Send until it is done; each try counts, and each that fails counts as failed."""
        reply = Reply(0, {}, b"")
        for number in range(TRIES):
            reply = store.ask(request)
            self.tally.count(reply.is_good)
            if reply.is_good:
                return reply
            if 400 <= reply.status < 500 and reply.status not in (408, 429):
                break
            self._stop.wait(FIRST_PAUSE * 2**number * (0.5 + random.random()))  # noqa: S311  spreads retries
        raise Refused(ERROR, f"the store answered {reply.status or 'nothing'} to {request.method} {_said(reply)}")


def _said(reply: Reply) -> str:
    code = re.search(rb"<Code>([A-Za-z]{1,64})</Code>", reply.body)
    return code[1].decode() if code else ""


def measure_upload(bench: Bench) -> ProbeResult:
    """One upload of 10 GiB, or of what the time allows."""
    return upload_and_tell(bench, PARTS)


def upload_and_tell(bench: Bench, parts: int) -> ProbeResult:
    """One upload of *parts* parts as facts, with the requests of the last seven days."""
    address, who = address_of(bench.config), credentials_of(bench.config, os.environ)
    prefix = f"{bench.config.s3_prefix.strip('/')}/readiness-agent/{hostname()}/".lstrip("/")
    give_up_leftovers(Store(address, who), bench.config.s3_bucket, prefix)
    name = hashlib.sha256(os.urandom(16)).hexdigest()[:16]
    uploader = _Uploader(address, who, bench.config.s3_bucket, prefix + name)
    done = uploader.upload(parts, bench.seconds)
    return _told(bench, done)


def give_up_leftovers(store: Store, bucket: str, prefix: str) -> None:
    """Give up multi-part uploads that a run of this node left when it was killed."""
    reply = store.ask(Request("GET", f"/{bucket}", (("prefix", prefix), ("uploads", ""))))
    for key, identity in _LISTED.findall(reply.body) if reply.is_good else ():
        if key.decode().startswith(prefix):
            store.ask(Request("DELETE", f"/{bucket}/{key.decode()}", (("uploadId", identity.decode()),)))
    store.close()


def _told(bench: Bench, done: Upload) -> ProbeResult:
    findings = Findings(bench.source.now_boottime())
    requests, failed = pooled(os.path.join(bench.memory_dir, "object-store.json"), done.tally, time.time())
    findings.fact(ITEM, "failed_share", round(100.0 * failed / max(requests, 1), 4), "percent")
    findings.fact(ITEM, "requests", requests, "count")
    findings.fact(ITEM, "uploaded", done.uploaded, "bytes")
    if done.uploaded:
        findings.fact(ITEM, "mean_rate", round(done.uploaded / done.seconds / 1e6, 2), "MB/s")
    if done.complaint:
        findings.problem(ITEM, ERROR, done.complaint)
    findings.evidence(
        f"{done.uploaded} bytes in {done.seconds:.1f} s, {done.tally.failed} of {done.tally.requests} requests failed; "
        f"{failed} of {requests} in seven days",
        ITEM,
    )
    return findings.result()


def pooled(path: str, tally: Tally, unix: float) -> Tuple[int, int]:
    """Requests and failures of the last seven days, this upload's included and remembered in *path*."""
    kept = read_json(path).get("uploads")
    young = [one for one in (kept if isinstance(kept, list) else []) if _is_young(one, unix)]
    young.append([unix, tally.requests, tally.failed])
    try:
        write_json(path, {"uploads": young})
    except OSError:
        pass  # only this upload counts, then
    return sum(int(one[1]) for one in young), sum(int(one[2]) for one in young)


def _is_young(one: Any, unix: float) -> bool:
    figures: List[float] = [bounded(value, 0.0, 1e12, -1.0) for value in one] if isinstance(one, list) else []
    return len(figures) == 3 and -1.0 not in figures and 0 <= unix - figures[0] < KEPT_SECONDS


OBJECT_STORE = OfflineProbe("object-store", (ITEM,), 600.0, measure_upload, overhead=90.0)
