"""Django's PostgreSQL backend, with an end to every wait; ``settings.DATABASES`` names this package."""
