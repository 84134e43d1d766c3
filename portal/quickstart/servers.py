"""PostgreSQL and Valkey for the portal: those that the environment names, otherwise embedded ones."""

import os
from dataclasses import dataclass, field

from portal.quickstart.place import Place
from portal.quickstart.postgres import Durability, PostgresServer
from portal.quickstart.valkey import ValkeyServer

DATABASE = "countersign"
Server = PostgresServer | ValkeyServer


@dataclass(slots=True)
class Servers:
    """Addresses, and the servers that we started ourselves."""

    database_url: str
    owner_url: str
    redis_url: str
    embedded: dict[str, Server] = field(default_factory=dict)

    def stop(self) -> None:
        """End the embedded ones."""
        for server in self.embedded.values():
            server.stop()


def start_servers(place: Place) -> Servers:
    """``DATABASE_URL`` and ``REDIS_URL`` win; what is not set is started here.

    Raises:
        QuickstartError: a server is not to be found or does not start.
    """
    servers = Servers(
        database_url=os.environ.get("DATABASE_URL", ""),
        owner_url=os.environ.get("DATABASE_OWNER_URL") or os.environ.get("DATABASE_URL", ""),
        redis_url=os.environ.get("REDIS_URL", ""),
    )
    try:
        if not servers.database_url:
            _start_postgres(servers, place)
        if not servers.redis_url:
            _start_valkey(servers, place)
    except BaseException:
        servers.stop()
        raise
    return servers


def _start_postgres(servers: Servers, place: Place) -> None:
    server = PostgresServer(place.var / "postgres", durability=Durability.KEPT, log=place.log("postgres"))
    servers.embedded["postgres"] = server
    server.start()
    server.ensure_database(DATABASE)
    servers.database_url = server.url(role="app", database=DATABASE)
    servers.owner_url = server.url(role="owner", database=DATABASE)


def _start_valkey(servers: Servers, place: Place) -> None:
    server = ValkeyServer(place.var / "valkey", log=place.log("valkey"))
    servers.embedded["valkey"] = server
    server.start()
    servers.redis_url = server.url
