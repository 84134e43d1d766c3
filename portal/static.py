"""Serves plotly.js from the installed plotly distribution, so that figures and library always match."""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

STATIC_PATH = "plotly.min.js"


class PlotlyFinder(BaseFinder):
    """Finds one file: ``{% static "plotly.min.js" %}``."""

    def __init__(self) -> None:
        self.storage = FileSystemStorage(location=Path(str(files("plotly") / "package_data")))

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> str | list[str]:  # type: ignore[override]
        found = [self.storage.path(path)] if path == STATIC_PATH else []
        return found if find_all or not found else found[0]

    def list(self, ignore_patterns: Any) -> Iterator[tuple[str, FileSystemStorage]]:
        yield STATIC_PATH, self.storage
