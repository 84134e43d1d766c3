"""An embedded Valkey: Celery's broker for evaluation on one machine, and for tests."""

import os
import shutil
import time
from pathlib import Path
from urllib.parse import quote

import redis

from portal.quickstart.binaries import valkey_server
from portal.quickstart.children import Child
from portal.quickstart.errors import QuickstartError
from portal.quickstart.sockets import make_socket_directory
from portal.quickstart.unprivileged import Identity

START_PATIENCE = 20.0  # seconds


class ValkeyServer:
    """One server reached only through a private unix socket; what is queued survives a restart."""

    def __init__(self, data: Path, *, log: Path) -> None:
        self.data = data.absolute()
        self.log = log
        self._program = valkey_server()
        self._child: Child | None = None
        self.sockets: Path | None = None

    @property
    def child(self) -> Child:
        if self._child is None:
            raise QuickstartError("Valkey has not been started.")
        return self._child

    @property
    def url(self) -> str:
        """The address as redis-py writes it."""
        return f"unix://{quote(str(self._socket))}?db=0"

    @property
    def _socket(self) -> str:
        return f"{self.sockets}/valkey.sock"

    def start(self) -> None:
        """Start it and wait until it answers.

        Raises:
            QuickstartError: it does not; the sentence carries its own last line.
        """
        if self._child is not None:
            self._child.stop()
        self.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self.sockets is None:  # a restart keeps the address that others were given
            self.sockets = make_socket_directory(Identity(), note=self.data.with_suffix(".sockets"))
        options = {
            "port": "0",
            "unixsocket": self._socket,
            "unixsocketperm": "700",
            "dir": str(self.data),
            "appendonly": "yes",
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        self._child = Child([str(self._program), *arguments], log=self.log, environment=os.environ)
        self._wait_until_it_answers(self._child)

    def stop(self) -> None:
        """End it; what is queued is on disk."""
        if self._child is not None:
            self._child.stop()
        if self.sockets is not None:
            shutil.rmtree(self.sockets, ignore_errors=True)

    def _wait_until_it_answers(self, child: Child) -> None:
        deadline = time.monotonic() + START_PATIENCE
        with redis.Redis.from_url(self.url, socket_timeout=2) as client:
            while child.exit_status is None and time.monotonic() < deadline:
                try:
                    client.ping()
                except redis.RedisError:
                    time.sleep(0.02)
                else:
                    return
        child.stop()
        raise QuickstartError(f"Valkey did not start: {child.last_words()} (log: {self.log})")
