"""Addresses of the API, as whole paths from the root of the site."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
