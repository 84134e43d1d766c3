"""What a page's request carries once the person is signed in and htmx has been looked at."""

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from portal.accounts.models import User


class PersonRequest(HttpRequest):
    """A request behind ``login_required``; never made, only named in annotations."""

    user: User
    htmx: HtmxDetails
