"""Who runs the tests, as ``job_user`` of agent.json would name them."""

import os
import pwd


def _name() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a number without an entry, as containers have it
        return str(os.getuid())


ME = _name()
