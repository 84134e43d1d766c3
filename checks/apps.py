from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ChecksConfig(AppConfig):
    name = "checks"
    verbose_name = "Readiness"

    def ready(self) -> None:
        from checks import system_checks  # noqa: F401  (registers itself)
        from checks.grants import grant_after_migrate
        from checks.services.partitions import ensure_after_migrate

        post_migrate.connect(grant_after_migrate, sender=self)
        post_migrate.connect(ensure_after_migrate, sender=self)
