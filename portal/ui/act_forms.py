"""Forms of acts: why, until when, by whom. Each asks no more than its act needs."""

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checks.domain.policy import SIGNING_ROLES, Policy
from checks.domain.verdicts import Layer
from checks.models import Cluster, Membership, Run
from portal.accounts.models import User
from portal.ui import words
from portal.ui.run_form import MomentField

LONGEST_REASON = 2000


def reason_field(**options: Any) -> forms.CharField:
    """Why somebody does it; it stands in the ledger for good."""
    return forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=LONGEST_REASON,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("It stands in the ledger, for whoever asks later."),
        **options,
    )


class ReasonForm(forms.Form):
    """An act that needs nothing but its reason."""

    reason = reason_field()


class ConfirmForm(forms.Form):
    """An act that needs nothing at all."""


class StageForm(forms.Form):
    """Where a run goes next."""

    to = forms.ChoiceField(label=gettext_lazy("To"), widget=forms.RadioSelect)
    reason = reason_field()

    def __init__(self, *args: Any, stages: list[tuple[str, Any]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["to"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101  (declared above)
        field.choices = stages


class DelegationForm(forms.Form):
    """Who signs for whom, in which role, from when to when. Times are in the cluster's zone."""

    role = forms.ChoiceField(label=gettext_lazy("In the role"))
    receiver = forms.ModelChoiceField(label=gettext_lazy("Who signs for you"), queryset=User.objects.none())
    run = forms.ModelChoiceField(
        label=gettext_lazy("Run"), queryset=Run.objects.none(), required=False, empty_label=gettext_lazy("all runs")
    )
    starts_at = MomentField(label=gettext_lazy("From"))
    ends_at = MomentField(label=gettext_lazy("Until"), help_text=gettext_lazy("At most 14 days."))
    reason = reason_field()

    def __init__(self, *args: Any, cluster: Cluster, giver: User, roles: list[str], **kwargs: Any) -> None:
        start = timezone.now().replace(second=0, microsecond=0)
        initial = {"starts_at": start, "ends_at": start + timedelta(days=7)}
        super().__init__(*args, **kwargs)
        self.initial = initial
        in_zone(self, cluster, "starts_at", "ends_at")
        mine = [role for role in roles if role in SIGNING_ROLES]
        self.fields["role"].choices = [(role, words.ROLES[role]) for role in mine]  # type: ignore[attr-defined]
        holders = Membership.objects.filter(cluster=cluster, role__in=mine, user__is_active=True)
        people = User.objects.filter(pk__in=holders.exclude(user=giver).values("user")).order_by("username")
        self.fields["receiver"].queryset = people  # type: ignore[attr-defined]
        self.fields["run"].queryset = Run.objects.filter(cluster=cluster).order_by("slug")  # type: ignore[attr-defined]


class WaiverForm(forms.Form):
    """A failed item that is to be accepted for a while, on nodes of the pool or, where it is not a node's, as such."""

    item = forms.ChoiceField(label=gettext_lazy("Item"))
    nodes = forms.CharField(
        label=gettext_lazy("Nodes"),
        required=False,
        max_length=20_000,
        widget=forms.TextInput(attrs={"spellcheck": "false"}),
        help_text=gettext_lazy("Where it fails now, as Slurm writes them; empty for an item that is not a node's."),
    )
    until = MomentField(label=gettext_lazy("Until"), help_text=gettext_lazy("In the second it ends, it blocks again."))
    reason = reason_field()

    def __init__(self, *args: Any, cluster: Cluster, items: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        in_zone(self, cluster, "until")
        self.fields["item"].choices = items  # type: ignore[attr-defined]


class OverrideForm(forms.Form):
    """A gate forced open: for hours, not days, and with a ticket that somebody works on."""

    hours = forms.IntegerField(
        label=gettext_lazy("For, hours"), min_value=1, max_value=24, initial=4, help_text=gettext_lazy("At most 24.")
    )
    ticket = forms.CharField(
        label=gettext_lazy("Ticket"),
        max_length=150,
        help_text=gettext_lazy("Where the work on it is followed, for example OPS-1234."),
    )
    reason = reason_field()
    # Names the blockers that the page lists.
    shown = forms.CharField(max_length=64, widget=forms.HiddenInput)

    def until(self, now: datetime) -> datetime:
        """When it ends by itself."""
        return now + timedelta(hours=self.cleaned_data["hours"])


class PolicyForm(forms.Form):
    """Who signs each layer, and for how long. The physical layer's two roles cannot be taken away."""

    contributors_may_sign = forms.BooleanField(
        label=gettext_lazy("Small team"),
        required=False,
        help_text=gettext_lazy("Whoever measured or changed something may sign it too; every certificate says so."),
    )
    reason = reason_field()

    def __init__(self, *args: Any, policy: Policy, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial = {"contributors_may_sign": policy.contributors_may_sign}
        choices = [(role, words.ROLES[role]) for role in SIGNING_ROLES]
        for layer, held in policy.layers.items():
            self.fields[f"{layer}_roles"] = forms.MultipleChoiceField(
                label=str(words.LAYERS[layer]),
                choices=choices,
                initial=list(held.roles),
                widget=forms.CheckboxSelectMultiple,
                error_messages={"required": gettext_lazy("Somebody has to sign it.")},
            )
            hours = int(held.expires_after / timedelta(hours=1)) if held.expires_after else None
            self.fields[f"{layer}_hours"] = forms.IntegerField(
                label=gettext_lazy("Counts for, hours"),
                min_value=1,
                max_value=24 * 366,
                required=False,
                initial=hours,
                help_text=gettext_lazy("Empty: until what was signed changes."),
            )
        self.order_fields([f"{layer}_{part}" for layer in Layer for part in ("roles", "hours")])

    def document(self) -> dict[str, object]:
        """The policy as it is stored."""
        given = self.cleaned_data
        layers: dict[str, object] = {}
        for layer in Layer:
            hours = given[f"{layer}_hours"]
            roles: dict[str, object] = {"roles": given[f"{layer}_roles"]}
            layers[layer.value] = roles | ({"expires_after_h": hours} if hours else {})
        return {"layers": layers, "contributors_may_sign": given["contributors_may_sign"]}


def in_zone(form: forms.Form, cluster: Cluster, *names: str) -> None:
    """Have those moments of *form* read and shown in the cluster's time zone."""
    for name in names:
        field = form.fields[name]
        assert isinstance(field, MomentField)  # noqa: S101  (a form names moments only)
        field.zone = ZoneInfo(cluster.time_zone)
        field.label = _("%(label)s (%(zone)s)") % {"label": field.label, "zone": cluster.time_zone}
