"""A private, short directory for unix sockets."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from portal.quickstart.errors import QuickstartError
from portal.quickstart.unprivileged import Identity

# sockaddr_un holds 107 bytes and a NUL; ".s.PGSQL.5432.lock" is the longest name put in the directory.
LONGEST_DIRECTORY = 107 - len("/.s.PGSQL.5432.lock")


def make_socket_directory(identity: Identity) -> Path:
    """A new directory that only the servers' user (and root) can enter.

    Raises:
        QuickstartError: every candidate is too long or cannot be written.
    """
    for parent in _parents(identity):
        if len(os.fsencode(parent)) + len("/countersign-12345678") > LONGEST_DIRECTORY or not os.access(
            parent, os.W_OK
        ):
            continue
        directory = Path(tempfile.mkdtemp(prefix="countersign-", dir=parent))
        identity.give(directory)
        return directory
    raise QuickstartError(
        f"No writable directory with a path under {LONGEST_DIRECTORY} bytes for sockets: set TMPDIR to a short one."
    )


def _parents(identity: Identity) -> Iterator[Path]:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and identity.uid is None:  # another user could not enter it
        yield Path(runtime)
    yield Path(tempfile.gettempdir())
    yield Path("/tmp")  # noqa: S108  (mkdtemp makes it private)
