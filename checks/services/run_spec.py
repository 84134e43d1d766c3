"""What a run is to be, as a person writes it down: checked before it is stored, in the words of the form."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from math import isfinite, prod
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError
from checks.domain.writing import is_line, is_storable
from checks.models import Run

# Degrees that split the processes; experts share those of the others.
_SPLITTING = ("tensor", "pipeline", "data", "context")
_ALWAYS_GIVEN = frozenset({"tensor", "pipeline", "data"})
_KEY = re.compile(r"[a-z][a-z0-9_]{0,31}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}|git:(?:[0-9a-f]{40}|[0-9a-f]{64})")
_MOST_ARTEFACTS = 100
_LONGEST_NAME = 150
# Beyond any cluster, and any training state: what is larger is a slip, and not every reader of JSON could hold it.
_MOST_SPLIT = 10_000_000
_MOST_BYTES = 1024
_LINES = ("name", "model_name", "dataset")


class InvalidRun(CountersignError):
    """The run cannot be as it was written down; the sentence names what to change."""

    code = "invalid_run"


@dataclass(frozen=True, slots=True)
class RunSpec:
    """A run as it is asked for; fields are the columns of `Run`. Times carry a zone."""

    name: str
    nodes_needed: int
    world_size: int
    model_name: str
    planned_start: datetime
    planned_end: datetime
    dataset: str = ""
    parameters: int | None = None
    layout: Mapping[str, int] = field(default_factory=dict)
    bytes_per_parameter: Mapping[str, float] = field(default_factory=dict)
    artefacts: tuple[Mapping[str, str], ...] = ()

    def columns(self) -> dict[str, Any]:
        """The fields as the model takes them."""
        return {**asdict(self), "artefacts": [dict(one) for one in self.artefacts]}


#: Columns that are signed: another value outdates what was signed.
SPEC_FIELDS = frozenset(RunSpec.__dataclass_fields__) - {"name"}


def check_run(run: Run) -> None:
    """Whether *run* can be stored as it stands.

    Raises:
        InvalidRun: says which part cannot be, and what it must be like.
    """
    try:
        run.clean_fields(exclude=["layout", "bytes_per_parameter", "artefacts"])
    except ValidationError as error:
        raise InvalidRun(_first_of(error)) from error
    if unseen := next((name for name in _LINES if not is_line(getattr(run, name))), None):
        said = _("%(field)s holds signs that nobody sees, or that turn the line around; write it without them.")
        raise InvalidRun(said % {"field": unseen})
    if not (is_storable(run.planned_start) and is_storable(run.planned_end)):
        raise InvalidRun(_("Choose times from the year 2000 to the year 2199."))
    if run.planned_end <= run.planned_start:
        raise InvalidRun(_("The run must end after its start; correct one of the two times."))
    if run.nodes_needed < 1 or run.world_size < 1:
        raise InvalidRun(_("A run needs at least one node and one process."))
    _check_layout(run)
    _check_bytes(run.bytes_per_parameter)
    _check_artefacts(run.artefacts)


def _first_of(error: ValidationError) -> str:
    name, messages = next(iter(error.message_dict.items()))
    return f"{name}: {messages[0]}"


def _check_layout(run: Run) -> None:
    """Degrees are whole numbers; where tensor, pipeline and data are given, they use up all processes."""
    layout = run.layout
    if not isinstance(layout, dict) or not all(_is_degree(key, degree) for key, degree in layout.items()):
        raise InvalidRun(_('Write the layout as degrees that are whole numbers, such as {"tensor": 8, "data": 16}.'))
    product = prod(layout.get(name, 1) for name in _SPLITTING)
    if layout.keys() >= _ALWAYS_GIVEN and product != run.world_size:
        said = _("The layout splits %(product)d processes, and the run has %(world)d; correct one of the two.")
        raise InvalidRun(said % {"product": product, "world": run.world_size})


def _is_degree(key: object, degree: object) -> bool:
    return (
        isinstance(key, str) and bool(_KEY.fullmatch(key))
        and isinstance(degree, int) and not isinstance(degree, bool) and 1 <= degree <= _MOST_SPLIT
    )  # fmt: skip


def _check_bytes(held: object) -> None:
    fits = isinstance(held, dict) and all(
        isinstance(key, str) and _KEY.fullmatch(key)
        and isinstance(size, int | float) and not isinstance(size, bool) and isfinite(size) and 0 <= size <= _MOST_BYTES
        for key, size in held.items()
    )  # fmt: skip
    if not fits:
        raise InvalidRun(_('Write the bytes a parameter as numbers, such as {"weights": 2, "optimizer": 12}.'))


def _check_artefacts(artefacts: object) -> None:
    if not isinstance(artefacts, list) or len(artefacts) > _MOST_ARTEFACTS:
        raise InvalidRun(_("Name at most %(most)d configuration artefacts.") % {"most": _MOST_ARTEFACTS})
    names = [one.get("name") for one in artefacts if _is_artefact(one)]
    if len(set(names)) != len(artefacts):
        said = _("Give each artefact a name of its own and a digest such as sha256:… (64 digits) or git:… (40 digits).")
        raise InvalidRun(said)


def _is_artefact(one: object) -> bool:
    return (
        isinstance(one, dict) and one.keys() == {"name", "digest"}
        and isinstance(one["name"], str) and 0 < len(one["name"]) <= _LONGEST_NAME and is_line(one["name"])
        and isinstance(one["digest"], str) and bool(_DIGEST.fullmatch(one["digest"]))
    )  # fmt: skip
