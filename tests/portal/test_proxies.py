"""Whose address counts where a proxy stands in front: the caller's, and only by a trusted proxy's word."""

import json
import os
import subprocess
import sys

import pytest

WHO_CALLS = """
import json, sys
import portal.wsgi as entry
from django.core.signals import request_started
seen = {}
request_started.connect(lambda environ, **_: seen.update(address=environ["REMOTE_ADDR"]), weak=False)
peer, forwarded = sys.argv[1:]
environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/healthz", "SERVER_NAME": "127.0.0.1", "SERVER_PORT": "8000",
           "HTTP_HOST": "127.0.0.1", "REMOTE_ADDR": peer, "HTTP_X_FORWARDED_FOR": forwarded,
           "wsgi.url_scheme": "http", "wsgi.input": sys.stdin.buffer, "wsgi.errors": sys.stderr}
b"".join(entry.application(environ, lambda *_: None))
print(json.dumps(seen))
"""


@pytest.mark.parametrize(
    ("trusted", "peer", "forwarded", "address"),
    [
        ("172.30.201.0/28", "172.30.201.1", "10.2.3.4", "10.2.3.4"),
        ("172.30.201.0/28", "172.30.201.1", "10.0.0.1, 203.0.113.9", "203.0.113.9"),
        ("172.30.201.0/28", "203.0.113.9", "10.0.0.1", "203.0.113.9"),
        ("", "127.0.0.1", "10.0.0.1", "127.0.0.1"),
    ],
    ids=["through the proxy", "what a caller wrote itself", "past the proxy", "no proxy"],
)
def test_the_callers_address_is_the_one_that_a_trusted_proxy_saw(
    trusted: str, peer: str, forwarded: str, address: str
) -> None:
    environment = os.environ | {"TRUSTED_PROXIES": trusted, "SECRET_KEY": "only for this test"}
    command = [sys.executable, "-c", WHO_CALLS, peer, forwarded]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60).stdout

    assert json.loads(said.splitlines()[-1]) == {"address": address}
