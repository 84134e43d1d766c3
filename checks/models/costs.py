"""Prices, rates, and what was estimated, frozen and billed. Append-only: a new price is a new book, never a change."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from checks.domain.cost.prices import PriceKind
from checks.models.clusters import Cluster
from checks.models.runs import Run

_PERSON = settings.AUTH_USER_MODEL


class Told(models.Model):
    """Who wrote something down, and when; a program does with an operator's token, whose public part is kept."""

    append_only = True

    at = models.DateTimeField(_("at"))
    by = models.ForeignKey(_PERSON, on_delete=models.PROTECT, null=True, related_name="+")
    token = models.CharField(_("public part of the token"), max_length=8, blank=True)

    class Meta:
        abstract = True


class PriceBook(models.Model):
    """The prices of one provider as of one day. The newest of a provider counts; an older one stays readable."""

    append_only = True

    provider = models.SlugField(_("provider"), max_length=32)
    name = models.CharField(_("name"), max_length=150)
    as_of = models.DateField(_("as of"))
    source = models.URLField(_("source"), max_length=300)
    note = models.CharField(_("note"), max_length=500, blank=True)
    checksum = models.CharField(_("digest of its rows"), max_length=64)
    loaded_at = models.DateTimeField(_("loaded"))

    class Meta:
        ordering = ["provider", "-as_of", "-id"]
        constraints = [models.UniqueConstraint(fields=["provider", "checksum"], name="pricebook_once")]

    def __str__(self) -> str:
        return f"{self.provider} {self.as_of}"


class PriceRow(models.Model):
    """One price of a book, in US dollars a unit."""

    append_only = True

    book = models.ForeignKey(PriceBook, on_delete=models.PROTECT, related_name="rows")
    kind = models.CharField(_("kind"), max_length=16)
    region = models.CharField(_("region"), max_length=64)
    destination = models.CharField(_("destination"), max_length=64, blank=True)
    sku = models.CharField(_("what is hired"), max_length=64, blank=True)
    from_gb = models.DecimalField(_("from GB"), max_digits=15, decimal_places=3, default=0)
    to_gb = models.DecimalField(_("to GB"), max_digits=15, decimal_places=3, null=True)
    amount = models.DecimalField(_("US dollars"), max_digits=12, decimal_places=6)
    as_of = models.DateField(_("as of"))
    source = models.URLField(_("source"), max_length=300)
    verified = models.BooleanField(_("checked against its source"))
    note = models.CharField(_("note"), max_length=300, blank=True)

    class Meta:
        ordering = ["book", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["book", "kind", "region", "destination", "sku", "from_gb"], name="pricerow_once"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=[kind.value for kind in PriceKind]), name="pricerow_kind_known"
            ),
            models.CheckConstraint(
                condition=Q(amount__gt=0) | Q(amount=0, kind=PriceKind.EGRESS_TIER.value),
                name="pricerow_costs_something",
            ),
        ]


class BaseRate(models.Model):
    """A published failure rate; the newest of a key counts."""

    append_only = True

    key = models.SlugField(_("key"), max_length=40)
    name = models.CharField(_("name"), max_length=150)
    per_1000_node_days = models.DecimalField(_("failures of a node in 1000 days"), max_digits=9, decimal_places=4)
    counted = models.CharField(_("what is counted"), max_length=200)
    as_of = models.DateField(_("as of"))
    source = models.URLField(_("source"), max_length=300)
    verified = models.BooleanField(_("checked against its source"))

    class Meta:
        ordering = ["per_1000_node_days", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["key", "as_of", "per_1000_node_days"], name="baserate_once"),
            models.CheckConstraint(condition=Q(per_1000_node_days__gt=0), name="baserate_above_0"),
        ]


class CurrencyRate(models.Model):
    """Units of a currency for one US dollar on a day; the newest day of a currency counts."""

    append_only = True

    currency = models.CharField(_("currency"), max_length=3)
    per_usd = models.DecimalField(_("for one US dollar"), max_digits=18, decimal_places=8)
    as_of = models.DateField(_("as of"))
    source = models.URLField(_("source"), max_length=300)
    verified = models.BooleanField(_("checked against its source"))

    class Meta:
        ordering = ["currency", "-as_of", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["currency", "as_of", "per_usd"], name="currencyrate_once"),
            models.CheckConstraint(condition=Q(per_usd__gt=0), name="currencyrate_above_0"),
        ]


class ClusterPrice(Told):
    """What an hour of one of the cluster's GPUs costs, as somebody said; the newest counts."""

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="prices")
    amount = models.DecimalField(_("US dollars a GPU hour"), max_digits=12, decimal_places=6)
    reason = models.TextField(_("where the price is from"))

    class Meta:
        ordering = ["cluster", "-id"]
        constraints = [models.CheckConstraint(condition=Q(amount__gt=0), name="clusterprice_above_0")]


class CostScenario(Told):
    """The inputs of one what-if, kept with a cluster or a run; the newest of a name counts."""

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="scenarios")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, null=True, related_name="scenarios")
    name = models.CharField(_("name"), max_length=100)
    provider = models.CharField(_("provider"), max_length=32)
    inputs = models.JSONField(_("inputs"))

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name


class Estimate(Told):
    """What a scenario cost by the prices of its day, with a copy of them. Another price is another estimate."""

    scenario = models.ForeignKey(CostScenario, on_delete=models.PROTECT, related_name="estimates")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, null=True, related_name="estimates")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="estimates")
    formula_version = models.PositiveIntegerField(_("version of the formulas"))
    # The whole estimate as it was shown: lines with formula, inputs and copies of the price rows.
    document = models.JSONField(_("lines and prices"))
    low = models.DecimalField(_("low, US dollars"), max_digits=20, decimal_places=2)
    expected = models.DecimalField(_("expected, US dollars"), max_digits=20, decimal_places=2)
    high = models.DecimalField(_("high, US dollars"), max_digits=20, decimal_places=2)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.scenario} {self.at:%Y-%m-%d}"


class ActualCost(Told):
    """A bill that was read in against an estimate; the newest one counts."""

    estimate = models.ForeignKey(Estimate, on_delete=models.PROTECT, related_name="actuals")
    form = models.CharField(_("form of the file"), max_length=16)
    file_name = models.CharField(_("file"), max_length=200)
    checksum = models.CharField(_("digest of the file"), max_length=64)
    # {"compute": "123.45", …}: US dollars by cause.
    billed = models.JSONField(_("US dollars by cause"))
    rows = models.PositiveIntegerField(_("rows of the file that cost something"))

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["estimate", "checksum"], name="actualcost_once")]
