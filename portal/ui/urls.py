"""Addresses of the pages."""

from django.urls import URLPattern

app_name = "ui"
urlpatterns: list[URLPattern] = []
