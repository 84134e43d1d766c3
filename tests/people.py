"""The people of the tests: one a role, and a stranger."""

from django.contrib.auth import get_user_model

from checks.models import Cluster, Membership, Role
from portal.accounts.models import User


def person(username: str, cluster: Cluster | None = None, *roles: Role) -> User:
    """A person with *roles* in *cluster*; with none, a stranger to it."""
    user = get_user_model().objects.create_user(username=username, password="correct horse battery staple")
    for role in roles:
        Membership.objects.create(user=user, cluster=cluster, role=role)
    return user
