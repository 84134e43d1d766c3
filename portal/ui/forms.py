"""Forms that people fill in."""

import ipaddress
from typing import Any

from django import forms
from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _

MAX_USES = 4096
MAX_HOURS = 7 * 24


class DecisionForm(forms.Form):
    """Why somebody decides something about a node, and the new serials they looked at when they did."""

    reason = forms.CharField(
        label=_("Why"), max_length=300, help_text=_("It is kept with your name, and cannot be changed.")
    )
    seen = forms.JSONField(required=False, widget=forms.HiddenInput)


class EnrolmentForm(forms.Form):
    """What an enrolment token is good for. It always ends: by count and by time."""

    uses = forms.IntegerField(
        label=_("How many nodes"),
        min_value=1,
        max_value=MAX_USES,
        initial=1,
        help_text=_("Each enrolment uses it once."),
    )
    hours = forms.IntegerField(
        label=_("Ends after, hours"), min_value=1, max_value=MAX_HOURS, initial=24, help_text=_("At most seven days.")
    )
    hostname_pattern = forms.CharField(
        label=_("Host names it may enrol"),
        required=False,
        max_length=253,
        validators=[RegexValidator(r"^[a-z0-9.*?\[\]-]*$", _("Small letters, digits, dots, hyphens, * and ? only."))],
        help_text=_("For example gpu-*; empty: any name."),
    )
    networks = forms.CharField(
        label=_("Networks it may come from"),
        required=False,
        max_length=500,
        help_text=_("For example 10.20.0.0/16, several with commas; empty: anywhere."),
    )

    def clean_networks(self) -> list[str]:
        """The networks, each checked."""
        networks = [text.strip() for text in self.cleaned_data["networks"].split(",") if text.strip()]
        for text in networks:
            try:
                ipaddress.ip_network(text)
            except ValueError as error:
                said = _("%(network)s is not a network; write it like 10.20.0.0/16.")
                raise forms.ValidationError(said, params={"network": text}) from error
        return networks

    def terms(self) -> dict[str, Any]:
        """The fields as ``issue_token`` names them, the end apart."""
        return {
            "uses_left": self.cleaned_data["uses"],
            "hostname_pattern": self.cleaned_data["hostname_pattern"],
            "networks": self.cleaned_data["networks"],
        }
