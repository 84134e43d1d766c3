"""Who takes responsibility for what, until when. Append-only: an end is a row of its own, never a change."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from checks.models.clusters import Cluster, Node, Role
from checks.models.runs import Run

_PERSON = settings.AUTH_USER_MODEL


class TakenBack(models.Model):
    """The end of something before its time: who did it, when and why."""

    append_only = True

    by = models.ForeignKey(_PERSON, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(_("at"))
    reason = models.TextField(_("reason"))

    class Meta:
        abstract = True


class PolicyVersion(models.Model):
    """Who signs which layer of a cluster's runs, and for how long, as one person proposed it.

    In force is the approved one with the highest number; without any, the default of ``checks.domain.policy``.
    """

    append_only = True

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="policies")
    number = models.PositiveIntegerField(_("number"))
    document = models.JSONField(_("policy"))
    proposed_by = models.ForeignKey(_PERSON, on_delete=models.PROTECT, related_name="+")
    proposed_at = models.DateTimeField(_("proposed"))
    reason = models.TextField(_("reason"))

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["cluster", "number"], name="policyversion_number_unique")]


class PolicyApproval(models.Model):
    """The second person's word: from here on the policy is in force."""

    append_only = True

    policy = models.OneToOneField(PolicyVersion, on_delete=models.PROTECT, related_name="approval")
    by = models.ForeignKey(_PERSON, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(_("at"))


class SignoffPackage(models.Model):
    """One layer of one run: what its signers lock while they sign. It says nothing about being signed."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="packages")
    layer = models.CharField(_("layer"), max_length=16)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "layer"], name="signoffpackage_once")]

    def __str__(self) -> str:
        return f"{self.run} {self.layer}"


class Manifest(models.Model):
    """What was signed, content-addressed: the header, the shared branch and each pool node's hash."""

    append_only = True

    digest = models.CharField(_("digest"), max_length=64, primary_key=True)
    header = models.JSONField(_("header"))
    shared = models.CharField(_("digest of the shared branch"), max_length=64)
    nodes = models.JSONField(_("node uuid -> digest of its layer"))
    stored_at = models.DateTimeField(_("stored"))

    def __str__(self) -> str:
        return self.digest[:12]


class ManifestBlob(models.Model):
    """The leaves behind one digest of a node's layer or of a shared branch: zlib over canonical JSON."""

    append_only = True

    digest = models.CharField(_("digest"), max_length=64, primary_key=True)
    body = models.BinaryField(_("leaves"))

    def __str__(self) -> str:
        return self.digest[:12]


class Delegation(models.Model):
    """Somebody who holds the role signs for somebody else who does, in their own name; at most 14 days, no chain."""

    append_only = True

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="delegations")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, null=True, blank=True, related_name="delegations")
    role = models.CharField(_("role"), max_length=16, choices=Role)
    giver = models.ForeignKey(_PERSON, on_delete=models.PROTECT, related_name="delegations_given")
    receiver = models.ForeignKey(_PERSON, on_delete=models.PROTECT, related_name="delegations_received")
    starts_at = models.DateTimeField(_("starts"))
    ends_at = models.DateTimeField(_("ends"))
    reason = models.TextField(_("reason"))
    given_at = models.DateTimeField(_("given"))

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(ends_at__gt=F("starts_at")), name="delegation_ends_after_its_start"),
            models.CheckConstraint(condition=~Q(giver=F("receiver")), name="delegation_to_another_person"),
        ]


class DelegationEnd(TakenBack):
    """A delegation taken back before its time."""

    delegation = models.OneToOneField(Delegation, on_delete=models.PROTECT, related_name="end")


class Meaning(models.TextChoices):
    """What a signature says of its signer."""

    PERFORMED = "performed", _("I performed these checks")
    REVIEWED = "reviewed", _("I reviewed the evidence")
    RESPONSIBLE = "responsible", _("I accept responsibility")


class Signature(models.Model):
    """One person's word, in one role, on exactly one digest."""

    append_only = True

    package = models.ForeignKey(SignoffPackage, on_delete=models.PROTECT, related_name="signatures")
    manifest = models.ForeignKey(Manifest, on_delete=models.PROTECT, related_name="+")
    round = models.PositiveIntegerField(_("round"))
    role = models.CharField(_("role"), max_length=16, choices=Role)
    signer = models.ForeignKey(_PERSON, on_delete=models.PROTECT, related_name="signatures")
    signed_at = models.DateTimeField(_("signed"))
    expires_at = models.DateTimeField(_("expires"), null=True)
    restart_until = models.DateTimeField(_("the run may come back until"))
    printed_name = models.CharField(_("name at the time"), max_length=150)
    meaning = models.CharField(_("meaning"), max_length=16, choices=Meaning)
    comment = models.TextField(_("comment"), blank=True)
    policy_number = models.PositiveIntegerField(_("policy version; 0 is the default policy"))
    delegation = models.ForeignKey(Delegation, on_delete=models.PROTECT, null=True, related_name="+")
    # The policy let a person sign who had contributed to the package; the certificate says so.
    contributor = models.BooleanField(_("contributed to the package"), default=False)
    role_granted_at = models.DateTimeField(_("role held since"))
    auth_method = models.CharField(_("how the person proved to be there"), max_length=32)
    auth_at = models.DateTimeField(_("when"))
    address = models.GenericIPAddressField(_("address"), null=True)
    user_agent = models.CharField(_("browser"), max_length=300, blank=True)
    # Not signed: warnings, value and age of each leaf, digests of raw texts, seconds spent on each piece of evidence.
    annex = models.JSONField(_("annex"), default=dict)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["package", "manifest", "round", "role"], name="signature_one_a_role"),
            models.UniqueConstraint(fields=["package", "manifest", "round", "signer"], name="signature_one_a_person"),
            models.CheckConstraint(condition=Q(meaning__in=Meaning.values), name="signature_meaning_known"),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="signature_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.printed_name} · {self.role} · {self.package}"


class Revocation(TakenBack):
    """A signature taken back."""

    signature = models.OneToOneField(Signature, on_delete=models.PROTECT, related_name="revocation")


class PinnedEvidence(models.Model):
    """Raw text that a signature's annex names, and that is therefore kept."""

    append_only = True

    signature = models.ForeignKey(Signature, on_delete=models.PROTECT, related_name="pinned")
    evidence = models.CharField(_("digest of the raw text"), max_length=64, db_index=True)


class Waiver(models.Model):
    """A failed item that is to be accepted on some nodes until a date; in force once a second person agreed."""

    append_only = True

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="waivers")
    layer = models.CharField(_("layer"), max_length=16)
    item = models.CharField(_("item"), max_length=64)
    # Node uuids; empty for an item that is not a node's.
    nodes = models.JSONField(_("nodes"), default=list)
    reason = models.TextField(_("reason"))
    until = models.DateTimeField(_("until"))
    asked_by = models.ForeignKey(_PERSON, on_delete=models.PROTECT, related_name="+")
    asked_role = models.CharField(_("role"), max_length=16, choices=Role)
    asked_at = models.DateTimeField(_("asked"))

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(until__gt=F("asked_at")), name="waiver_ends_after_it_was_asked")
        ]


class WaiverApproval(models.Model):
    """The second person, of another of the layer's roles."""

    append_only = True

    waiver = models.OneToOneField(Waiver, on_delete=models.PROTECT, related_name="approval")
    by = models.ForeignKey(_PERSON, on_delete=models.PROTECT, related_name="+")
    role = models.CharField(_("role"), max_length=16, choices=Role)
    at = models.DateTimeField(_("at"))


class WaiverEnd(TakenBack):
    """A waiver taken back before its time."""

    waiver = models.OneToOneField(Waiver, on_delete=models.PROTECT, related_name="end")


class Override(models.Model):
    """A gate forced open by one person, loudly, for at most 24 hours, past exactly the blockers that it lists."""

    append_only = True

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="overrides")
    by = models.ForeignKey(_PERSON, on_delete=models.PROTECT, related_name="+")
    role = models.CharField(_("role"), max_length=16, choices=Role)
    at = models.DateTimeField(_("at"))
    until = models.DateTimeField(_("until"))
    reason = models.TextField(_("reason"))
    ticket = models.CharField(_("ticket"), max_length=150)
    # [[node uuid or "", item, subject, code]]: what stood in the way then. Anything new closes the gate again.
    accepted = models.JSONField(_("blockers it accepts"))
    # Node uuids of the run's pool then: another pool ends it.
    pool = models.JSONField(_("pool"))

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(until__gt=F("at")), name="override_ends_after_its_start"),
            models.CheckConstraint(condition=Q(role__in=["lead", "admin"]), name="override_by_lead_or_admin"),
        ]


class OverrideEnd(TakenBack):
    """An override taken back before its time."""

    override = models.OneToOneField(Override, on_delete=models.PROTECT, related_name="end")


class Attestation(models.Model):
    """What a person states about an attested item, with evidence and an end."""

    append_only = True

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="attestations")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, null=True, blank=True, related_name="attestations")
    node = models.ForeignKey(Node, on_delete=models.PROTECT, null=True, blank=True, related_name="attestations")
    item = models.CharField(_("item"), max_length=64)
    subject = models.CharField(_("subject"), max_length=128, blank=True)
    facts = models.JSONField(_("facts"))
    statement = models.TextField(_("statement"))
    by = models.ForeignKey(_PERSON, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(_("at"))
    valid_until = models.DateTimeField(_("valid until"))

    class Meta:
        ordering = ["-id"]


class AttestedFile(models.Model):
    """A picture or PDF behind an attestation; its bytes lie outside of the database, under their digest."""

    append_only = True

    attestation = models.ForeignKey(Attestation, on_delete=models.PROTECT, related_name="files")
    digest = models.CharField(_("SHA-256"), max_length=64)
    name = models.CharField(_("name"), max_length=150)
    media_type = models.CharField(_("type"), max_length=32)
    size = models.PositiveIntegerField(_("bytes"))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attestation", "digest"], name="attestedfile_once")]
