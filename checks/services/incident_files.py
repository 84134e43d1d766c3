"""Pictures and PDFs beside an incident: kept as evidence of statements is, by what their bytes say they are."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from django.db import transaction
from django.utils.translation import gettext as _

from checks.domain.incidents.kinds import EventKind
from checks.domain.writing import is_line
from checks.models import Incident, IncidentAttachment
from checks.services.attested_files import FileRefused, SentFile, keep_files
from checks.services.incident_records import Author, add_event, lock_incidents, refresh, require_author, write_act

# Signs that a file's name has no use for, and a page or a shell has.
_NO_NAME: Final = frozenset("<>\"'`&|;$\\/\0")


@transaction.atomic
def attach_files(
    *, incident: Incident, files: Iterable[SentFile], author: Author, now: datetime
) -> list[IncidentAttachment]:
    """Keep *files* with the incident; one that is there already is no second one.

    Raises:
        MayNot.
        FileRefused: one is too large, or neither a picture nor a PDF; nothing is kept.
    """
    require_author(author, incident.cluster)
    files = list(files)
    for file in files:
        _require_name(file.name)
    lock_incidents(incident.cluster)
    known = set(incident.attachments.values_list("digest", flat=True))
    kept = [one for one in keep_files(files) if one.digest not in known]
    rows = IncidentAttachment.objects.bulk_create(
        IncidentAttachment(
            incident=incident, digest=one.digest, name=one.name, media_type=one.media_type, size=one.size,
            by=author.by, token=author.token, at=now,
        )
        for one in kept
    )  # fmt: skip
    if rows:
        data = {"files": [{"name": one.name, "digest": one.digest} for one in rows]}
        add_event(incident, EventKind.FILE, author=author, now=now, text=", ".join(one.name for one in rows), data=data)
        refresh(incident)
        write_act("incident_file", incident, author=author, now=now, data=data)
    return rows


def _require_name(name: str) -> None:
    if not name or not is_line(name) or _NO_NAME & set(name):
        raise FileRefused(_("Give each file a plain name, of letters, digits, dots and dashes."))
