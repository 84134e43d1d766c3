"""The node's own configuration: one JSON file that only root (or the agent's user) may write, and a token beside it.

The portal cannot change any of it. ``READINESS_AGENT_HOME`` or ``--home`` puts configuration and state in one
directory, for a replayed node, a test or a quickstart on a laptop.
"""

from __future__ import annotations

import json
import os
import stat
from typing import Any, Dict, NamedTuple, Optional

from readiness_agent.errors import config_error
from readiness_agent.files import make_private_directory, write_bytes
from readiness_agent.source import ProbeContext
from readiness_agent.values import whole

HOME_VARIABLE = "READINESS_AGENT_HOME"
CONFIG_DIRECTORY = "/etc/readiness-agent"
STATE_DIRECTORY = "/var/lib/readiness-agent"

LOOPBACK = ("localhost", "::1")

MOST_CPUS = 8192
"""The most that Linux is built for."""


class Paths(NamedTuple):
    """Where this agent keeps what."""

    config: str
    token: str
    state: str

    def in_state(self, name: str) -> str:
        """A file of the state directory."""
        return os.path.join(self.state, name)


class Config(NamedTuple):
    """What stands in ``agent.json``. Every key but ``portal`` has a default."""

    portal: str
    cluster: str = ""
    hostname: str = ""
    origin: str = "live"
    proxy: str = ""
    ca_file: str = ""
    job_user: str = ""
    checkpoint_dir: str = ""
    training_python: str = ""
    training_image: str = ""
    rendezvous: str = ""
    allow_disruptive: bool = False
    housekeeping_cpu: int = -1
    fio_dir: str = ""
    s3_endpoint: str = ""
    s3_bucket: str = ""
    s3_region: str = ""
    s3_prefix: str = ""
    s3_credentials: str = ""
    rdma_address: str = ""
    rdma_devices: str = ""
    rdma_ports: str = "18515-19026"

    def probe_context(self) -> ProbeContext:
        """The part of it that probes may know."""
        return ProbeContext(
            job_user=self.job_user or None,
            checkpoint_dir=self.checkpoint_dir or None,
            allow_disruptive=self.allow_disruptive,
            training_python=self.training_python or None,
            training_image=self.training_image or None,
            rendezvous=self.rendezvous or None,
        )


def find_paths(home: Optional[str], config: Optional[str] = None) -> Paths:
    """Paths below *home* (or the variable), otherwise those of an installed agent; *config* moves that file only."""
    home = home or os.environ.get(HOME_VARIABLE)
    directory, state = (home, os.path.join(home, "state")) if home else (CONFIG_DIRECTORY, STATE_DIRECTORY)
    return Paths(
        config=config or os.path.join(directory, "agent.json"),
        token=os.path.join(directory, "token"),
        state=state,
    )


def load_config(paths: Paths) -> Config:
    """Read and check the configuration.

    Raises:
        AgentError: exit 78, when it is absent, not JSON, has an unknown or ill-typed key, or may be written by others.
    """
    require_unchangeable(paths.config)
    try:
        with open(paths.config, encoding="utf-8") as file:
            raw = json.load(file)
    except FileNotFoundError:
        raise config_error(
            f"{paths.config} is not there: enrol this node first (readiness-agent enroll --help)"
        ) from None
    except OSError as error:
        raise config_error(f"{paths.config} cannot be read ({error.strerror}): run as the agent's user") from None
    except (ValueError, RecursionError) as error:
        raise config_error(f"{paths.config} is not JSON ({error}): correct it") from None
    return _checked(raw, paths.config)


def save_config(paths: Paths, config: Config) -> None:
    """Write the keys that differ from their default."""
    make_private_directory(os.path.dirname(paths.config))
    defaults = Config(portal="")
    kept = {key: value for key, value in config._asdict().items() if value != getattr(defaults, key)}
    write_bytes(paths.config, (json.dumps(kept, indent=2) + "\n").encode())


def read_token(path: str) -> str:
    """The token in *path*; refuses a file that others may read.

    Raises:
        AgentError: exit 78.
    """
    try:
        mode = os.stat(path).st_mode
        with open(path, encoding="ascii") as file:
            token = file.read().strip()
    except (OSError, UnicodeDecodeError):
        raise config_error(f"{path} cannot be read: enrol this node, or run as the agent's user") from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise config_error(f"{path} can be read by other users: run `chmod 600 {path}` and replace the token")
    if not token or any(character.isspace() for character in token):
        raise config_error(f"{path} does not hold one token: enrol this node again")
    return token


def save_token(path: str, token: str) -> None:
    """Write a token for the agent's user only."""
    make_private_directory(os.path.dirname(path))
    write_bytes(path, (token + "\n").encode("ascii"))


def check_portal(url: str) -> str:
    """The portal's base URL without a trailing slash.

    Raises:
        AgentError: exit 78, for anything but ``https://`` or an ``http://`` to this machine: the token would travel
            readable.
    """
    scheme, _, rest = url.partition("://")
    host = host_of(rest)
    if not host or "@" in rest.partition("/")[0]:
        raise config_error(f"{url!r} is not a portal's address: write https://HOST[:PORT]")
    if scheme == "http" and not is_loopback(host):
        raise config_error(f"{url} would send the token unencrypted: use https:// (http:// only to this machine)")
    if scheme not in ("http", "https") or not _is_plain(rest):
        raise config_error(f"{url!r} is not a portal's address: write https://HOST[:PORT]")
    return url.rstrip("/")


def check_proxy(url: str) -> str:
    """The proxy's address, or nothing.

    Raises:
        AgentError: exit 78, for anything but ``http://HOST:PORT``: the way through it is TLS to the portal itself.
    """
    scheme, _, rest = url.partition("://")
    if url and (scheme != "http" or not host_of(rest) or "@" in rest or not _is_plain(rest)):
        raise config_error(f"{url!r} is not a proxy's address: write http://HOST:PORT, without a login")
    return url


def is_loopback(host: str) -> bool:
    """Whether *host* is this machine; a name that only begins like its address is not."""
    numbers = [whole(one) for one in host.split(".")]
    is_address = len(numbers) == 4 and all(one is not None and one < 256 for one in numbers)
    return host in LOOPBACK or (is_address and numbers[0] == 127)


def host_of(rest: str) -> str:
    """The host in what follows ``scheme://``, without port and brackets."""
    authority = rest.partition("/")[0]
    if authority.startswith("["):
        return authority[1:].partition("]")[0]
    return authority.partition(":")[0]


def port_of(rest: str) -> Optional[int]:
    """The port in what follows ``scheme://``, when one is written there."""
    authority = rest.partition("/")[0]
    tail = authority.rpartition("]")[2] if authority.startswith("[") else authority
    return whole(tail.partition(":")[2])


def _is_plain(rest: str) -> bool:
    """Whether what follows ``scheme://`` is a host, a port that exists, and at most a path."""
    authority = rest.partition("/")[0]
    has_port = ":" in (authority.rpartition("]")[2] if authority.startswith("[") else authority)
    port = port_of(rest)
    is_text = rest.isprintable() and not any(one in rest for one in " ?#")
    return is_text and (not has_port or (port is not None and 0 < port < 65536))


def _checked(raw: Any, path: str) -> Config:
    if not isinstance(raw, dict):
        raise config_error(f"{path} must hold one JSON object: correct it")
    expected: Dict[str, Any] = Config(portal="")._asdict()
    for key, value in raw.items():
        if key not in expected:
            raise config_error(f"{path}: there is no setting {key!r}; known are {', '.join(expected)}")
        if type(value) is not type(expected[key]):
            raise config_error(f"{path}: {key} must be a {type(expected[key]).__name__}, not {value!r}")
        if isinstance(value, str) and not value.isprintable():
            raise config_error(f"{path}: {key} holds control characters or half characters: correct it")
    if "portal" not in raw:
        raise config_error(f"{path}: portal is not set; write the portal's https:// address")
    if raw.get("housekeeping_cpu", -1) not in range(-1, MOST_CPUS):
        raise config_error(f"{path}: housekeeping_cpu must be a CPU's number, or -1 for any")
    if raw.get("origin", "live") not in ("live", "replay"):
        raise config_error(f"{path}: origin must be live or replay")
    return Config(**{**raw, "portal": check_portal(raw["portal"]), "proxy": check_proxy(raw.get("proxy", ""))})


def require_unchangeable(path: str) -> None:
    """Refuse a file or directory that another user can write: it would let that user choose what root reads and trusts.

    Raises:
        AgentError: exit 78.
    """
    try:
        found = os.stat(path)
    except OSError:
        return  # the reader says what is wrong
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or found.st_uid not in (0, os.geteuid()):
        mode = "700" if stat.S_ISDIR(found.st_mode) else "600"
        raise config_error(f"{path} can be changed by other users: run `chown root {path}; chmod {mode} {path}`")
