"""A private, short directory for unix sockets."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from portal.quickstart.errors import QuickstartError
from portal.quickstart.unprivileged import Identity

PREFIX = "countersign-"
# sockaddr_un holds 107 bytes and a NUL; ".s.PGSQL.5432.lock" is the longest name put in the directory.
LONGEST_DIRECTORY = 107 - len("/.s.PGSQL.5432.lock")


def make_socket_directory(identity: Identity, *, note: Path) -> Path:
    """A new directory that only the servers' user (and root) can enter.

    Its path is written to *note*; the directory that stood there before was left by a killed server, and is removed.

    Raises:
        QuickstartError: every candidate is too long or cannot be written.
    """
    _remove_noted(note)
    for parent in _parents(identity):
        too_long = len(os.fsencode(parent / f"{PREFIX}12345678")) > LONGEST_DIRECTORY
        if too_long or not os.access(parent, os.W_OK):
            continue
        directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        identity.give(directory)
        note.write_text(str(directory), encoding="utf-8")
        return directory
    raise QuickstartError(
        f"No writable directory with a path under {LONGEST_DIRECTORY} bytes for sockets: set TMPDIR to a short one."
    )


def _remove_noted(note: Path) -> None:
    if note.exists():
        directory = Path(note.read_text(encoding="utf-8").strip())
        if directory.name.startswith(PREFIX):
            shutil.rmtree(directory, ignore_errors=True)


def _parents(identity: Identity) -> Iterator[Path]:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and identity.uid is None:  # another user could not enter it
        yield Path(runtime)
    yield Path(tempfile.gettempdir())
    yield Path("/tmp")  # noqa: S108  (mkdtemp makes it private)
