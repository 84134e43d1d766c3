"""Files that people sent, handed back: never shown by a page, and never taken for another kind than they are."""

import mimetypes

from django.http import Http404
from django.http.response import FileResponse

from checks.models import AttestedFile, IncidentAttachment
from checks.services.attested_files import path_of


def kept_file(found: AttestedFile | IncidentAttachment | None) -> FileResponse:
    """The file as it was sent, as a download.

    Raises:
        Http404: nothing was found, or its content is gone.
    """
    if found is None or not path_of(found.digest).is_file():
        raise Http404
    name = f"{found.digest[:12]}{mimetypes.guess_extension(found.media_type) or ''}"
    response = FileResponse(
        path_of(found.digest).open("rb"), content_type=found.media_type, as_attachment=True, filename=name
    )
    response["X-Content-Type-Options"] = "nosniff"
    return response
