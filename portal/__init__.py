"""The site: composition root, and everything a browser sees."""

from portal.celery import app as celery_app

__all__ = ["celery_app"]
