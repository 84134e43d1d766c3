"""Put a checklist in force: stored, named in every cluster, and every node judged by it."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from checks.domain.catalogue import Catalogue, Change
from checks.domain.catalogue import load_catalogue as read_catalogue
from checks.domain.errors import CountersignError
from checks.models import CatalogVersion, Cluster
from checks.selectors.rules import NoCatalogue, catalogue_in_force, remember_catalogue
from checks.services.clusters import lock_rules, refresh_rules
from checks.services.ledger import write_entry
from checks.services.rejudge import rejudge_cluster


@dataclass(frozen=True, slots=True)
class Loaded:
    """What loading a catalogue did. *changes* are against the one in force before; *nodes* were judged again."""

    version: str
    digest: str
    items: int
    profiles: int
    changes: tuple[Change, ...]
    nodes: int


def load_catalogue(*, path: Path, by: AbstractBaseUser | None, now: datetime) -> Loaded:
    """Read the catalogue under *path*, put it in force and judge every node by it.

    Nodes are judged after the switch, one lock at a time; until its turn a node answers *unknown*, code `rejudging`.

    Raises:
        CatalogueInvalid: every mistake in the files.
        CountersignError: a cluster's profile or overrides do not fit the new catalogue; nothing was changed.
    """
    catalogue = read_catalogue(path)
    with transaction.atomic():
        lock_rules()
        changes = _changes_to(catalogue)
        clusters = _put_in_force(catalogue, by=by, now=now)
    nodes = sum(rejudge_cluster(cluster=cluster, now=now) for cluster in clusters)
    return Loaded(catalogue.version, catalogue.digest, len(catalogue.items), len(catalogue.profiles), changes, nodes)


def _changes_to(catalogue: Catalogue) -> tuple[Change, ...]:
    try:
        return catalogue_in_force().diff(catalogue)
    except NoCatalogue:
        return ()


def _put_in_force(catalogue: Catalogue, *, by: AbstractBaseUser | None, now: datetime) -> list[Cluster]:
    stored = {"version": catalogue.version, "document": catalogue.as_json(), "loaded_at": now}
    version, _ = CatalogVersion.objects.get_or_create(digest=catalogue.digest, defaults=stored)
    CatalogVersion.objects.filter(in_force=True).exclude(pk=version.pk).update(in_force=False)
    CatalogVersion.objects.filter(pk=version.pk).update(in_force=True)
    remember_catalogue(catalogue.digest, catalogue)
    clusters = [_refresh(cluster) for cluster in Cluster.objects.filter(closed_at=None).order_by("pk")]
    write_entry(what="catalog_loaded", target=catalogue.version, who=by, now=now, data={"digest": catalogue.digest})
    return clusters


def _refresh(cluster: Cluster) -> Cluster:
    try:
        return refresh_rules(cluster)
    except CountersignError as error:
        message = f"Cluster {cluster.slug}: {error.message} Change the cluster first, or the catalogue."
        raise CountersignError(message, code=error.code, status=error.status) from error
