"""People who sign in. What they may do in a cluster is ``checks.models.Membership``."""

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.translation import gettext_lazy as _


class Language(models.TextChoices):
    """Languages a person can prefer; must equal ``settings.LANGUAGES``."""

    ENGLISH = "en", _("English")
    SIMPLIFIED_CHINESE = "zh-hans", _("Simplified Chinese")


class User(AbstractUser):
    """A person. Deactivated when they leave, never deleted: signatures name them."""

    display_name = models.CharField(_("display name"), max_length=150, blank=True)
    language = models.CharField(
        _("language"),
        max_length=16,
        choices=Language,
        blank=True,
        help_text=_("Empty: the browser's choice."),
    )

    def __str__(self) -> str:
        return self.shown_name

    @property
    def shown_name(self) -> str:
        """What pages and certificates call this person."""
        return self.display_name or self.get_full_name() or self.username
