"""Starts PostgreSQL without root's power: it refuses to run as root, and needs a user that has a name.

No system user is made and no permission of any parent directory is changed. In order:
a user namespace that shows us as ``nobody`` (files stay ours), then the user ``nobody`` itself, then a refusal.
"""

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from portal.quickstart.errors import QuickstartError

NOBODY = 65534
NAMESPACE = ("unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}", "--")


@dataclass(frozen=True, slots=True)
class Identity:
    """Under whom a server runs: *prefix* goes before its command, *uid* is set when it must be another user's."""

    prefix: tuple[str, ...] = ()
    uid: int | None = None

    def give(self, directory: Path) -> None:
        """Let the server own *directory*, where it is not us who run it."""
        if self.uid is not None:
            os.chown(directory, self.uid, self.uid)


def identity_for(program: Path, data: Path) -> Identity:
    """How to run *program* on *data* (whose parent exists).

    Raises:
        QuickstartError: root may not make user namespaces here, and ``nobody`` cannot reach the files.
    """
    if os.geteuid() != 0 and _has_a_name(os.geteuid()):
        return Identity()
    if _namespace_works():
        return Identity(prefix=NAMESPACE)
    if os.geteuid() == 0 and _nobody_can_run(program, data):
        return Identity(uid=NOBODY)
    raise QuickstartError(
        "PostgreSQL does not run as this user here (root, or a user id without a name, and user namespaces are not "
        "allowed): run as a normal user, or set DATABASE_URL to a PostgreSQL server."
    )


def _has_a_name(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _namespace_works() -> bool:
    if shutil.which(NAMESPACE[0]) is None:
        return False
    return subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode == 0


def _nobody_can_run(program: Path, data: Path) -> bool:
    script = f'"$0" --version && test -x "{data.parent}"'
    try:
        tried = subprocess.run(
            ["/bin/sh", "-c", script, str(program)],
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            check=False,
        )
    except OSError:
        return False
    return tried.returncode == 0
