"""The agent's one file, its checksum and its installer: public, because a node has no token before it enrols."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import etag, require_safe

from checks.services.agent_archive import NAME, agent_archive, install_script


def _checksum(request: HttpRequest) -> str:
    return f'"{agent_archive().sha256}"'


@require_safe
@etag(_checksum)
def archive(request: HttpRequest) -> HttpResponse:
    """The executable archive; ``python3 readiness-agent.pyz`` runs it."""
    return _download(agent_archive().content, "application/octet-stream")


@require_safe
def checksum(request: HttpRequest) -> HttpResponse:
    """One line as ``sha256sum --check`` reads it."""
    return _download(f"{agent_archive().sha256}  {NAME}\n".encode(), "text/plain; charset=utf-8")


@require_safe
def installer(request: HttpRequest) -> HttpResponse:
    """The script that installs, or with ``--remove`` takes away, the agent."""
    return _download(install_script(), "text/x-shellscript; charset=utf-8")


def _download(content: bytes, content_type: str) -> HttpResponse:
    return HttpResponse(content, content_type=content_type, headers={"Cache-Control": "no-cache"})
