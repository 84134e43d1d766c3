"""Asks the running portal over HTTP, as anybody else would."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from portal.quickstart.errors import QuickstartError

PATIENCE = 40.0  # seconds until the first answer
# Straight to loopback: a proxy of the environment is for other hosts.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def wait_until_alive(url: str, pause: Callable[[], None]) -> None:
    """Wait until the web processes answer.

    Raises:
        QuickstartError: they do not.
    """
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if _status_of(f"{url}/healthz") == HTTPStatus.OK:
            return
        pause()
    raise QuickstartError(f"The portal does not answer at {url}: see var/log/web.log.")


def node_readiness(url: str, *, cluster: str, hostname: str, token: str) -> dict[str, Any]:
    """The gate's answer about one node; empty when the portal has none."""
    request = urllib.request.Request(  # noqa: S310  (our own http address)
        f"{url}/api/v1/clusters/{cluster}/nodes/{hostname}/readiness", headers={"Authorization": f"Bearer {token}"}
    )
    try:
        with _opener.open(request, timeout=10) as answer:
            found = json.load(answer)
    except (urllib.error.URLError, TimeoutError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _status_of(url: str) -> int:
    try:
        with _opener.open(url, timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return 0
