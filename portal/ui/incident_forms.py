"""Forms of incidents: what happened, a line of the timeline, an item, an action, its proof."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from django import forms
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError
from checks.domain.incidents.kinds import ActionKind, Component, Relation, Weight
from checks.models import Cluster, Incident, IncidentNode, Membership, Node, Run
from checks.selectors.nodesets import parse_node_set
from checks.selectors.rules import ruleset_for
from checks.services.incident_actions import Plan
from checks.services.incident_links import Linking
from checks.services.incident_records import Touched
from portal.accounts.models import User
from portal.ui import incident_words as words
from portal.ui.act_forms import in_zone, reason_field
from portal.ui.run_form import MomentField
from portal.ui.views.attest import ManyFilesField, ManyFilesInput

_NUMBER: Final = re.compile(r"(?:INC-)?0*(\d{1,18})", re.IGNORECASE)
_PART: Final = re.compile(r"[a-z]+\d+")
_HOUR_S, _MINUTE_S = 3600, 60
_MOST_LINES: Final = 1000


def _choices(words_of: Mapping[str, Any], kinds: Iterable[Any]) -> list[tuple[str, Any]]:
    return [(kind.value, words_of[kind.value]) for kind in kinds]


class IncidentForm(forms.Form):
    """An incident. Times are in the cluster's zone."""

    title = forms.CharField(
        label=gettext_lazy("Title"), max_length=200, help_text=gettext_lazy("What somebody would have seen.")
    )
    weight = forms.ChoiceField(label=gettext_lazy("Weight"), choices=_choices(words.WEIGHTS, Weight), initial="major")
    component = forms.ChoiceField(
        label=gettext_lazy("What broke"), choices=_choices(words.COMPONENTS, Component), initial="unknown"
    )
    named_class = forms.CharField(
        label=gettext_lazy("Class of the error"),
        max_length=80,
        required=False,
        help_text=gettext_lazy("Such as xid-79. The same class in the same part is the same trouble."),
    )
    started_at = MomentField(label=gettext_lazy("Started"))
    detected_at = MomentField(label=gettext_lazy("Detected"))
    run = forms.ModelChoiceField(
        label=gettext_lazy("Run"), queryset=Run.objects.none(), required=False, to_field_name="slug"
    )
    step = forms.IntegerField(label=gettext_lazy("Step"), min_value=0, max_value=2**53, required=False)
    nodes = forms.CharField(
        label=gettext_lazy("Nodes"),
        max_length=20_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
        help_text=gettext_lazy("A line each: gpu[011-012], or gpu011 gpu3 for a part of one."),
    )
    gpus_affected = forms.IntegerField(
        label=gettext_lazy("GPUs that stood still"), min_value=0, max_value=2**31 - 1, required=False
    )
    lost_work_min = forms.FloatField(
        label=gettext_lazy("Work to be done again, minutes"),
        min_value=0,
        max_value=10**7,
        required=False,
        help_text=gettext_lazy("Since the last checkpoint."),
    )
    told_gpu_hours = forms.FloatField(
        label=gettext_lazy("GPU-hours lost, if you know better"),
        min_value=0,
        max_value=10**9,
        required=False,
        help_text=gettext_lazy("Empty: GPUs × (time until it was stable + work to be done again)."),
    )
    summary = forms.CharField(
        label=gettext_lazy("What we know now"),
        max_length=20_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text=gettext_lazy("Markdown; HTML is shown as it is written."),
    )

    def __init__(self, *args: Any, cluster: Cluster, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        in_zone(self, cluster, "started_at", "detected_at")
        self.fields["run"].queryset = Run.objects.filter(cluster=cluster).order_by("-id")  # type: ignore[attr-defined]

    def clean_nodes(self) -> tuple[Touched, ...]:
        """The machines and parts that the lines name."""
        lines = [line.split() for line in self.cleaned_data["nodes"].splitlines() if line.strip()]
        if len(lines) > _MOST_LINES:
            raise forms.ValidationError(_("Name at most %(most)d machines or parts.") % {"most": _MOST_LINES})
        try:
            found = [one for first, *parts in lines for one in _touched(first, parts)]
        except CountersignError as error:
            raise forms.ValidationError(error.message) from error
        return tuple(dict.fromkeys(found))

    def columns(self) -> dict[str, Any]:
        """What was told, as an incident keeps it."""
        given = self.cleaned_data
        told = given["told_gpu_hours"]
        return {
            "title": given["title"], "weight": Weight(given["weight"]), "component": Component(given["component"]),
            "error_class": given["named_class"], "started_at": given["started_at"],
            "detected_at": given["detected_at"], "run": given["run"], "step": given["step"],
            "gpus_affected": given["gpus_affected"], "lost_work_s": round((given["lost_work_min"] or 0) * _MINUTE_S),
            "told_gpu_seconds": None if told is None else round(told * _HOUR_S), "summary": given["summary"],
        }  # fmt: skip


def values_of(incident: Incident) -> dict[str, Any]:
    """The form's fields as they are known of *incident*."""
    told = incident.told_gpu_seconds
    same = (
        "title",
        "weight",
        "component",
        "error_class",
        "started_at",
        "detected_at",
        "step",
        "gpus_affected",
        "summary",
    )
    return {name: getattr(incident, name) for name in same} | {
        "named_class": incident.error_class,
        "run": incident.run.slug if incident.run else "",
        "lost_work_min": round(incident.lost_work_s / _MINUTE_S, 2) or None,
        "told_gpu_hours": None if told is None else round(told / _HOUR_S, 3),
        "nodes": "\n".join(_line(row) for row in incident.touched.all()),
    }  # fmt: skip


class NoteForm(forms.Form):
    """A line of the timeline."""

    text = forms.CharField(
        label=gettext_lazy("What happened"), max_length=4000, widget=forms.Textarea(attrs={"rows": 3})
    )
    at = MomentField(label=gettext_lazy("When"), required=False, help_text=gettext_lazy("Empty: now."))

    def __init__(self, *args: Any, cluster: Cluster, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        in_zone(self, cluster, "at")


class StandingForm(NoteForm):
    """The same, which may say nothing: where the incident stands now."""

    field_order = ["at", "text"]

    def __init__(self, *args: Any, cluster: Cluster, dated: bool, **kwargs: Any) -> None:
        super().__init__(*args, cluster=cluster, **kwargs)
        self.fields["text"].required = False
        if not dated:
            del self.fields["at"]


class LinkForm(forms.Form):
    """An item of the checklist, and what it was."""

    item = forms.ChoiceField(label=gettext_lazy("Item"))
    relation = forms.ChoiceField(
        label=gettext_lazy("What it was"), choices=_choices(words.RELATIONS, Relation), widget=forms.RadioSelect
    )
    why = forms.CharField(
        label=gettext_lazy("Why"), max_length=500, required=False, widget=forms.Textarea(attrs={"rows": 2})
    )

    def __init__(self, *args: Any, cluster: Cluster, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["item"].choices = _items(cluster)  # type: ignore[attr-defined]

    def linking(self) -> Linking:
        """The link that was told."""
        given = self.cleaned_data
        return Linking(given["item"], Relation(given["relation"]), " ".join(given["why"].split()))


class MergeForm(forms.Form):
    """The incident that this one is the same trouble as."""

    into = forms.CharField(
        label=gettext_lazy("The same as"), max_length=30, help_text=gettext_lazy("Such as INC-0031.")
    )
    reason = reason_field()

    def clean_into(self) -> int:
        """Its number."""
        found = _NUMBER.fullmatch(self.cleaned_data["into"].strip())
        if found is None:
            raise forms.ValidationError(_("Write the incident's number, such as INC-0031."))
        return int(found[1])


class FilesForm(forms.Form):
    """Pictures and PDFs."""

    pictures = ManyFilesField(
        label=gettext_lazy("Files"),
        help_text=gettext_lazy("PNG, JPEG, WebP or PDF, at most 10 MB each."),
        widget=ManyFilesInput(attrs={"accept": "image/png,image/jpeg,image/webp,application/pdf"}),
    )


class ActionForm(forms.Form):
    """What is to be done so that it does not come back."""

    title = forms.CharField(label=gettext_lazy("What is to be done"), max_length=300)
    kind = forms.ChoiceField(
        label=gettext_lazy("Kind"), choices=_choices(words.ACTION_KINDS, ActionKind), widget=forms.RadioSelect
    )
    owner = forms.ModelChoiceField(label=gettext_lazy("Owner"), queryset=User.objects.none(), required=False)
    due = forms.DateField(label=gettext_lazy("Due"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    item = forms.ChoiceField(
        label=gettext_lazy("Item that proves it"),
        required=False,
        help_text=gettext_lazy("Once it passes, measured after the deed, the action is verified by itself."),
    )
    node = forms.ModelChoiceField(
        label=gettext_lazy("On"), queryset=Node.objects.none(), required=False, to_field_name="hostname",
        empty_label=gettext_lazy("every node of the cluster"),
    )  # fmt: skip

    def __init__(self, *args: Any, cluster: Cluster, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        members = Membership.objects.filter(cluster=cluster, user__is_active=True).values("user")
        self.fields["owner"].queryset = User.objects.filter(pk__in=members).order_by("username")  # type: ignore[attr-defined]
        self.fields["item"].choices = [("", _("none: a person verifies it")), *_items(cluster)]  # type: ignore[attr-defined]
        nodes = Node.objects.filter(cluster=cluster, retired_at=None)
        self.fields["node"].queryset = nodes  # type: ignore[attr-defined]

    def plan(self) -> Plan:
        """What was told."""
        given = self.cleaned_data
        return Plan(
            ActionKind(given["kind"]), given["title"], owner=given["owner"], due=given["due"], item=given["item"],
            node=given["node"],
        )  # fmt: skip


class WordsForm(forms.Form):
    """A few words beside a move of an action; *required* where the move needs its reason or its proof."""

    text = forms.CharField(label=gettext_lazy("Reason"), max_length=500, widget=forms.Textarea(attrs={"rows": 2}))

    def __init__(self, *args: Any, label: str, required: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["text"].label, self.fields["text"].required = label, required


def _touched(first: str, parts: list[str]) -> list[Touched]:
    hosts = [name.lower() for name in parse_node_set(first)]
    named = [part for text in parts for part in text.lower().split(",") if part]
    if strange := [part for part in named if not _PART.fullmatch(part)]:
        raise forms.ValidationError(_("%(part)s is no part; write one such as gpu3.") % {"part": strange[0][:60]})
    return [Touched(host, part) for host in hosts for part in (named or [""])]


def _line(row: IncidentNode) -> str:
    return f"{row.hostname} {row.part}".strip()


def _items(cluster: Cluster) -> list[tuple[str, str]]:
    language, items = get_language() or "en", ruleset_for(cluster).items
    return [(key, f"{key} · {items[key].texts(language).title}") for key in sorted(items)]
