"""What an hour of one of a cluster's GPUs costs: said by who leads it, with where the price is from."""

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checks.domain.cost.waiting import GpuPrice
from checks.models import Cluster
from checks.selectors.cost_of_waiting import gpu_prices
from checks.selectors.runs import LEADING_ROLES
from checks.services.costs import price_cluster
from portal.ui.act_forms import LONGEST_REASON
from portal.ui.acting import Act, act_page, posted
from portal.ui.guard import person_page
from portal.ui.loaders import load_cluster
from portal.ui.requests import PersonRequest
from portal.ui.templatetags.costs import usd_price


class PriceForm(forms.Form):
    """A price, and where it is from."""

    amount = forms.DecimalField(
        label=gettext_lazy("USD a GPU hour"), max_digits=12, decimal_places=6,
        widget=forms.NumberInput(attrs={"step": "any", "inputmode": "decimal"}),
        help_text=gettext_lazy("What an hour of one GPU costs you, host included; for owned machines what you reckon."),
    )  # fmt: skip
    reason = forms.CharField(
        label=gettext_lazy("Source"), max_length=LONGEST_REASON, widget=forms.Textarea(attrs={"rows": 2}),
        help_text=gettext_lazy("Where the price is from: a contract, an invoice, a list. The gate tells it too."),
    )  # fmt: skip


@person_page("GET", "HEAD", "POST")
def set_price(request: PersonRequest, slug: str) -> HttpResponse:
    """Say what a GPU hour costs; everything about waiting is reckoned with it from then on."""
    access = load_cluster(request, slug)
    if not access.roles & LEADING_ROLES:
        raise PermissionDenied
    form = PriceForm(posted(request))
    return act_page(
        request, _act(access.cluster, gpu_prices([access.cluster.pk]).get(access.cluster.pk)), form,
        lambda: price_cluster(cluster=access.cluster, by=request.user, now=timezone.now(), **form.cleaned_data),
    )  # fmt: skip


def _act(cluster: Cluster, price: GpuPrice | None) -> Act:
    now = f"{usd_price(price.usd)} USD, {price.source}" if price else _("no price set")
    return Act(
        title=_("Price of a GPU hour"),
        consequence=_(
            "Board, items, runs and the gate tell what waiting costs by it, from now on. Estimates keep their prices."
        ),
        submit=_("Set the price"),
        done=_("The price counts from now on."),
        back=f"{reverse('ui:prices')}#clusters",
        cluster=cluster,
        asks_proof=False,
        facts=((_("Now"), now),),
    )
