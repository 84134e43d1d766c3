"""What the portal's own commands share: look things up, and turn an expected error into one line and exit status 1."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError

from checks.domain.errors import CountersignError
from checks.models import Cluster


@contextmanager
def told_in_one_line() -> Iterator[None]:
    """Errors that people can mend end the command with their sentence, not with a traceback."""
    try:
        yield
    except CountersignError as error:
        raise CommandError(error.message) from error


def find_cluster(slug: str) -> Cluster:
    """The open cluster called *slug*.

    Raises:
        CommandError: there is none; the sentence lists those there are.
    """
    cluster = Cluster.objects.filter(slug=slug, closed_at=None).first()
    if cluster is None:
        there_are = ", ".join(Cluster.objects.filter(closed_at=None).values_list("slug", flat=True)) or "none yet"
        raise CommandError(f"There is no cluster {slug!r}; there are: {there_are}.")
    return cluster
