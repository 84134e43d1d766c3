"""Where nodes stand: the switch and rack that somebody stated. It decides nothing about being ready."""

from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from checks.domain.errors import CountersignError
from checks.models import Cluster, Node
from checks.services.ledger import write_entry

LONGEST_NAME = 64


class CannotPlace(CountersignError):
    """A name of a node, switch or rack that cannot be used."""

    code = "cannot_place"


@transaction.atomic
def place_nodes(
    *, cluster: Cluster, hostnames: Sequence[str], places: dict[str, str], by: AbstractBaseUser | None, now: datetime
) -> int:
    """State the ``switch`` and ``rack`` (whichever *places* names; empty: not known) of some nodes; how many there are.

    Raises:
        CannotPlace: a host is not enrolled in *cluster*, and nothing was changed; or a name is too long.
    """
    if too_long := [name for name in places.values() if len(name) > LONGEST_NAME]:
        raise CannotPlace(f"{too_long[0][:20]}… is longer than {LONGEST_NAME} characters; use the short name.")
    wanted = {hostname.lower() for hostname in hostnames}
    nodes = Node.objects.filter(cluster=cluster, hostname__in=wanted, retired_at=None)
    # In one order: two that place overlapping nodes at once would each wait for what the other has locked.
    locked = nodes.select_for_update(no_key=True).order_by("pk")
    if strangers := sorted(wanted.difference(locked.values_list("hostname", flat=True))):
        raise CannotPlace(f"{', '.join(strangers[:5])}: not enrolled in {cluster.slug}; enrol the node first.")
    nodes.update(**places)
    data = {"hostnames": sorted(wanted), **places}
    write_entry(what="nodes_placed", target=cluster.slug, who=by, cluster=cluster, now=now, data=data)
    return len(wanted)
