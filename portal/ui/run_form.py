"""The form of a run: what it needs, in which layout, from when to when."""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from math import prod
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.core.validators import validate_slug
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checks.domain.errors import CountersignError
from checks.models import Cluster, Run
from checks.selectors.nodesets import fold_node_set
from checks.selectors.runs import pool_of, pool_preview
from checks.services.run_spec import RunSpec

# Form fields by the names that layouts store; ``data`` alone is taken by Django for what was sent.
DIMENSIONS = {"tensor": "tensor", "pipeline": "pipeline", "context": "context", "data": "data_parallel"}
STATES = ("weights", "gradients", "optimizer")
_TIMES = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
_COUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([KMBT]?)", re.IGNORECASE)
_MOST = 2**63 - 1
_PLAIN = (
    "name", "nodes_needed", "world_size", "model_name", "parameters", "dataset", "artefacts",
    "planned_start", "planned_end",
)  # fmt: skip
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}|(?:git:)?(?:[0-9a-f]{40}|[0-9a-f]{64})")
_LOCAL = "%Y-%m-%dT%H:%M"
_NAMED_BEFORE = 5


class MomentField(forms.DateTimeField):
    """A moment that people write in the cluster's time zone."""

    widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format=_LOCAL)
    zone: tzinfo = UTC

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, datetime) and timezone.is_aware(value):
            return value.astimezone(self.zone).replace(tzinfo=None)
        return value

    def to_python(self, value: Any) -> Any:
        with timezone.override(self.zone):
            return super().to_python(value)


def _dimension(label: Any) -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=1, max_value=1_000_000, required=False)


def _bytes(label: Any) -> forms.FloatField:
    return forms.FloatField(label=label, min_value=0, max_value=64, required=False)


class RunForm(forms.Form):
    """A planned run. Errors stand beside the field that can mend them."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=150)
    slug = forms.CharField(
        label=gettext_lazy("Short name"),
        max_length=63,
        validators=[validate_slug],
        help_text=gettext_lazy("Schedulers ask for it; small letters, digits and hyphens. It stays for good."),
    )
    nodes = forms.CharField(
        label=gettext_lazy("Nodes it may use"),
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
        help_text=gettext_lazy("As Slurm writes them, for example gpu[001-064]."),
    )
    nodes_needed = forms.IntegerField(
        label=gettext_lazy("Nodes it needs"),
        min_value=1,
        max_value=16_384,
        help_text=gettext_lazy("The others of the pool are spares."),
    )
    world_size = forms.IntegerField(
        label=gettext_lazy("World size"),
        min_value=1,
        max_value=10_000_000,
        help_text=gettext_lazy("Processes, one a GPU as a rule."),
    )
    tensor = _dimension(gettext_lazy("Tensor parallel"))
    pipeline = _dimension(gettext_lazy("Pipeline parallel"))
    context = _dimension(gettext_lazy("Context parallel"))
    data_parallel = _dimension(gettext_lazy("Data parallel"))
    model_name = forms.CharField(label=gettext_lazy("Model"), max_length=150)
    parameters = forms.CharField(
        label=gettext_lazy("Parameters"),
        max_length=32,
        required=False,
        help_text=gettext_lazy("For example 13B."),
    )
    weights = _bytes(gettext_lazy("Weights, bytes a parameter"))
    gradients = _bytes(gettext_lazy("Gradients, bytes a parameter"))
    optimizer = _bytes(gettext_lazy("Optimizer, bytes a parameter"))
    dataset = forms.CharField(label=gettext_lazy("Dataset"), max_length=128, required=False)
    artefacts = forms.CharField(
        label=gettext_lazy("Configuration"),
        max_length=20_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=gettext_lazy("A line each: a name, and sha256:… or git:…; they are part of what is signed."),
    )
    planned_start = MomentField(label=gettext_lazy("Planned start"))
    planned_end = MomentField(label=gettext_lazy("Planned end"))

    def __init__(
        self, *args: Any, cluster: Cluster, run: Run | None = None, like: Run | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.cluster, self.run, self._model = cluster, run, run or like
        for name in ("planned_start", "planned_end"):
            field = self.fields[name]
            assert isinstance(field, MomentField)  # noqa: S101  (declared above)
            field.zone = ZoneInfo(cluster.time_zone)
        if run is not None:
            self.fields["slug"].disabled = True

    def clean_slug(self) -> str:
        """A name that no other run of the site has."""
        slug: str = self.cleaned_data["slug"]
        if slug != slug.lower():
            raise forms.ValidationError(_("Small letters only, please: schedulers tell capitals apart."))
        if self.run is None and Run.objects.filter(slug=slug).exists():
            raise forms.ValidationError(_("There is already a run called %(slug)s.") % {"slug": slug})
        return slug

    def clean_nodes(self) -> tuple[str, ...]:
        """Host names of the pool, each of them enrolled here and still in use."""
        try:
            pool = pool_preview(self.cluster, self.cleaned_data["nodes"], now=timezone.now())
        except CountersignError as error:
            raise forms.ValidationError(error.message) from error
        if pool.unknown:
            said = _("Not enrolled in %(cluster)s: %(nodes)s. Enrol them, or leave them out.")
            raise forms.ValidationError(said % {"cluster": self.cluster.slug, "nodes": first_of(pool.unknown)})
        if pool.retired:
            said = _("No longer in %(cluster)s: %(nodes)s. Leave them out.")
            raise forms.ValidationError(said % {"cluster": self.cluster.slug, "nodes": first_of(pool.retired)})
        return pool.nodes

    def clean_parameters(self) -> int | None:
        """``13B`` as a number."""
        text = self.cleaned_data["parameters"].replace(",", "").strip()
        if not text:
            return None
        match = _COUNT.fullmatch(text)
        number = round(float(match[1]) * _TIMES[match[2].upper()]) if match else 0
        if not 0 < number <= _MOST:
            raise forms.ValidationError(_("Write a number such as 13B, 700M or 13000000000."))
        return number

    def clean_artefacts(self) -> tuple[dict[str, str], ...]:
        """Names and digests, line by line; a bare commit is one of git."""
        lines = [line.split() for line in self.cleaned_data["artefacts"].splitlines() if line.strip()]
        for line in lines:
            if len(line) != 2 or not _DIGEST.fullmatch(line[1]):
                said = _("“%(line)s” is not a name and a digest; write for example train.yaml sha256:…")
                raise forms.ValidationError(said % {"line": " ".join(line)[:80]})
        if len({name for name, _digest in lines}) != len(lines):
            raise forms.ValidationError(_("Give each line a name of its own."))
        return tuple({"name": name, "digest": _whole_digest(digest)} for name, digest in lines)

    def clean(self) -> dict[str, Any]:
        """What only several fields together can get wrong."""
        cleaned = super().clean() or {}
        nodes, needed = cleaned.get("nodes"), cleaned.get("nodes_needed")
        if nodes and needed and needed > len(nodes):
            said = _("It needs %(needed)d nodes, and the pool has %(pool)d: name more nodes, or need fewer.")
            self.add_error("nodes_needed", said % {"needed": needed, "pool": len(nodes)})
        if said := layout_mismatch(cleaned):
            self.add_error("world_size", said)
        start, end = cleaned.get("planned_start"), cleaned.get("planned_end")
        if start and end and end <= start:
            self.add_error("planned_end", _("It must end after its start."))
        return cleaned

    @property
    def nodes_text(self) -> str:
        """The pool as services take it."""
        return fold_node_set(self.cleaned_data["nodes"])

    def spec(self) -> RunSpec:
        """The fields as the services of runs name them."""
        given = self.cleaned_data
        layout = {name: given[field] for name, field in DIMENSIONS.items() if given[field]}
        held = {name: given[name] for name in STATES if given[name] is not None}
        if self._model is not None:
            layout |= _others(self._model.layout, DIMENSIONS)
            held |= _others(self._model.bytes_per_parameter, STATES)
        return RunSpec(layout=layout, bytes_per_parameter=held, **{name: given[name] for name in _PLAIN})


def _others(stored: Mapping[str, Any], shown: Collection[str]) -> dict[str, Any]:
    """What a program wrote down that the form has no field for; it stays as it is."""
    return {name: held for name, held in stored.items() if name not in shown}


def _whole_digest(text: str) -> str:
    return text if ":" in text else f"git:{text}"


def layout_mismatch(given: Mapping[str, Any]) -> str:
    """A sentence where tensor × pipeline × context × data is not the world size; nothing where one is not given."""
    world, tensor, pipeline, data = (given.get(name) for name in ("world_size", "tensor", "pipeline", "data_parallel"))
    if not (world and tensor and pipeline and data):
        return ""
    context = given.get("context") or 1
    product = prod((tensor, pipeline, context, data))
    if product == world:
        return ""
    said = _("%(layout)s = %(product)d, and the world size is %(world)d: make them equal.")
    layout = f"{tensor} × {pipeline} × {context} × {data}"
    return said % {"layout": layout, "product": product, "world": world}


def first_of(names: Sequence[str]) -> str:
    """The first few of *names*, and how many more there are."""
    said = ", ".join(names[:_NAMED_BEFORE])
    more = len(names) - _NAMED_BEFORE
    return _("%(names)s and %(n)d more") % {"names": said, "n": more} if more > 0 else said


def form_values(run: Run) -> dict[str, Any]:
    """A run as its form shows it."""
    plain = ("name", "slug", "nodes_needed", "world_size", "model_name", "dataset", "planned_start", "planned_end")
    return {
        **{name: getattr(run, name) for name in plain},
        **{field: run.layout.get(name) for name, field in DIMENSIONS.items()},
        **run.bytes_per_parameter,
        "nodes": fold_node_set(node.hostname for node in pool_of(run)),
        "parameters": run.parameters or "",
        "artefacts": "\n".join(f"{one['name']} {one['digest']}" for one in run.artefacts),
    }
