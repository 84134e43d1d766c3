from django.apps import AppConfig


class UiConfig(AppConfig):
    name = "portal.ui"
    label = "ui"

    def ready(self) -> None:
        """Listen to changes of what proves people to be there."""
        from portal.ui import proof_changes  # noqa: F401  (its receivers need the apps)
