"""Connects to the portal though names resolve slowly or not at all, and though one address family leads nowhere."""

from __future__ import annotations

import errno
import os
import select
import socket
import threading
import time
from itertools import zip_longest
from typing import Any, List, Optional, Sequence, Tuple

from readiness_agent.files import read_json, write_json
from readiness_agent.node import now, stored_age

RESOLVE_SECONDS = 5.0
HEAD_START = 0.3
"""Seconds that one address has before the next is tried beside it."""

REMEMBERED = 24 * 3600.0
RENEWED = 3600.0
"""Seconds after which an address that still answers is written down again."""

Target = Tuple[int, Tuple[Any, ...]]
"""Address family, and what ``connect`` takes."""


class AddressBook:
    """The last address at which the portal's name answered, kept for a day in which no resolver may know it."""

    def __init__(self, path: str) -> None:
        self._path = path

    def recall(self, host: str) -> Optional[str]:
        """The address of *host*, if it answered there within a day."""
        kept = read_json(self._path)
        age = stored_age(kept.get("at"), now())
        is_known = kept.get("host") == host and age is not None and age < REMEMBERED
        return str(kept.get("address")) if is_known else None

    def remember(self, host: str, address: str) -> None:
        """*host* has answered at *address*."""
        kept, moment = read_json(self._path), now()
        age = stored_age(kept.get("at"), moment)
        if (kept.get("host"), kept.get("address")) == (host, address) and age is not None and age < RENEWED:
            return
        try:
            write_json(self._path, {"host": host, "address": address, "at": list(moment)})
        except OSError:
            pass  # a full disk costs the memory of an address, not the connection


def dial(target: Tuple[str, int], seconds: float, book: Optional[AddressBook]) -> socket.socket:
    """A connection to the host and port *target* within about *seconds*; raises OSError."""
    host, port = target
    try:
        targets = resolve(host, port, min(seconds, RESOLVE_SECONDS))
    except OSError:
        known = book.recall(host) if book else None
        if known is None:
            raise
        targets = resolve(known, port, seconds)
    connection = connect_first(targets, seconds)
    address = str(connection.getpeername()[0])
    if book and address != host:
        book.remember(host, address)
    return connection


def resolve(host: str, port: int, seconds: float) -> List[Target]:
    """The addresses of *host*, families in turn. In a thread: nothing else ends a resolver that does not answer."""
    found: List[Any] = []
    errors: List[OSError] = []

    def look_up() -> None:
        try:
            found.extend(socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            errors.append(error if isinstance(error, OSError) else OSError(f"{host!r} is no host's name"))

    thread = threading.Thread(target=look_up, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not found:
        raise TimeoutError(f"the resolver did not answer for {host} within {seconds:.0f} s: check this node's DNS")
    return _in_turn([(family, address) for family, _, _, _, address in found])


def connect_first(targets: Sequence[Target], seconds: float) -> socket.socket:
    """Connect to whichever of *targets* answers first; each has a head start before the next is tried beside it."""
    end = time.monotonic() + seconds
    waiting = list(targets)
    trying: List[socket.socket] = []
    failure: OSError = TimeoutError("timed out")
    try:
        while (waiting or trying) and time.monotonic() < end:
            if waiting:
                try:
                    trying.append(_begin(waiting.pop(0)))
                except OSError as error:
                    failure = error
                    continue
            left = end - time.monotonic()
            for one in _wait_for(trying, min(left, HEAD_START) if waiting else left):
                trying.remove(one)
                number = one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if number == 0:
                    one.settimeout(seconds)
                    return one
                one.close()
                failure = OSError(number, os.strerror(number))
    finally:
        for one in trying:
            one.close()
    raise failure


def _in_turn(targets: List[Target]) -> List[Target]:
    """The resolver's order, but one of the first's family and one of another by turns."""
    first = [one for one in targets if one[0] == targets[0][0]]
    others = [one for one in targets if one[0] != targets[0][0]]
    return [one for pair in zip_longest(first, others) for one in pair if one is not None]


def _begin(target: Target) -> socket.socket:
    """Start to connect; raises what shows at once, such as no route. The rest is asked of the socket later."""
    family, address = target
    one = socket.socket(family, socket.SOCK_STREAM)
    one.setblocking(False)
    number = one.connect_ex(address)
    if number not in (0, errno.EINPROGRESS):
        one.close()
        raise OSError(number, os.strerror(number))
    return one


def _wait_for(trying: Sequence[socket.socket], seconds: float) -> List[socket.socket]:
    poll = select.poll()
    for one in trying:
        poll.register(one, select.POLLOUT)
    ready = {number for number, _ in poll.poll(max(0.0, seconds) * 1000)}
    return [one for one in trying if one.fileno() in ready]
