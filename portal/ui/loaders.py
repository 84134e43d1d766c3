"""From an address to the thing it names, for this person: a stranger's is 404, a role that may not is 403."""

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils import timezone

from checks.models import Estimate, Node
from checks.selectors.costs import NoSuchEstimate, estimate_for
from checks.selectors.gate_context import NoSuchRun
from checks.selectors.incidents import IncidentAccess, NoSuchIncident, incident_for
from checks.selectors.pages_access import ACTING_ROLES, ClusterAccess, cluster_of, node_of
from checks.selectors.roles import roles_of
from checks.selectors.runs import RunAccess, get_run_for
from portal.ui.requests import PersonRequest


def load_cluster(request: PersonRequest, slug: str) -> ClusterAccess:
    """The cluster *slug* with this person's roles.

    Raises:
        Http404: no such cluster, or none that this person has a role in.
    """
    access = cluster_of(request.user, slug)
    if access is None:
        raise Http404
    return access


def load_cluster_to_enrol(request: PersonRequest, slug: str) -> ClusterAccess:
    """The cluster *slug*, for somebody who may bring nodes into it.

    Raises:
        Http404: as ``load_cluster``.
        PermissionDenied: the role is neither lead nor administrator.
    """
    access = load_cluster(request, slug)
    if not access.may_enrol:
        raise PermissionDenied
    return access


def load_node(request: PersonRequest, slug: str, hostname: str) -> tuple[ClusterAccess, Node]:
    """One node of a cluster that this person sees.

    Raises:
        Http404: no such cluster or node, or not this person's.
    """
    access = load_cluster(request, slug)
    node = node_of(access, hostname)
    if node is None:
        raise Http404
    return access, node


def load_node_to_decide(request: PersonRequest, slug: str, hostname: str) -> Node:
    """One node, for somebody who may decide whether it is believed and whether it stays.

    Raises:
        Http404: as ``load_node``.
        PermissionDenied: the role does not decide about machines.
    """
    access, node = load_node(request, slug, hostname)
    if not access.may_decide:
        raise PermissionDenied
    return node


def load_node_to_recheck(request: PersonRequest, slug: str, hostname: str) -> Node:
    """One node, for somebody who may ask it to measure again.

    Raises:
        Http404: as ``load_node``.
        PermissionDenied: the role is viewer.
    """
    access, node = load_node(request, slug, hostname)
    if not access.may_recheck:
        raise PermissionDenied
    return node


def load_cluster_to_plan(request: PersonRequest, slug: str) -> ClusterAccess:
    """The cluster *slug*, for somebody who may plan runs on it.

    Raises:
        Http404: as ``load_cluster``.
        PermissionDenied: the role is viewer.
    """
    access = load_cluster(request, slug)
    if not access.may_recheck:
        raise PermissionDenied
    return access


def load_run(request: PersonRequest, slug: str) -> RunAccess:
    """One run of a cluster that this person sees.

    Raises:
        Http404: no such run, or not this person's.
    """
    try:
        return get_run_for(request.user, slug)
    except NoSuchRun as error:
        raise Http404 from error


def load_run_to_reckon(request: PersonRequest, slug: str) -> RunAccess:
    """One run, for somebody who may keep estimates and bills with it, when it is over too.

    Raises:
        Http404: as ``load_run``.
        PermissionDenied: the role is viewer.
    """
    access = load_run(request, slug)
    if not access.may_reckon:
        raise PermissionDenied
    return access


def load_estimate(request: PersonRequest, number: int) -> tuple[Estimate, bool]:
    """One frozen estimate, and whether this person may read a bill in against it.

    Raises:
        Http404: no such estimate, or not this person's.
    """
    try:
        row = estimate_for(request.user, number)
    except NoSuchEstimate as error:
        raise Http404 from error
    return row, bool(roles_of(request.user, row.cluster) & ACTING_ROLES)


def load_run_to_change(request: PersonRequest, slug: str) -> RunAccess:
    """One run, for somebody who works on runs.

    Raises:
        Http404: as ``load_run``.
        PermissionDenied: the role is viewer, or the run is over.
    """
    access = load_run(request, slug)
    if not access.may_edit:
        raise PermissionDenied
    return access


def load_incident(request: PersonRequest, number: int) -> IncidentAccess:
    """One incident of a cluster that this person sees, with what it lost so far.

    Raises:
        Http404: no such incident, or not this person's.
    """
    try:
        return incident_for(request.user, number, now=timezone.now())
    except NoSuchIncident as error:
        raise Http404 from error


def load_incident_to_act(request: PersonRequest, number: int) -> IncidentAccess:
    """One incident, for somebody who works in its cluster.

    Raises:
        Http404: as ``load_incident``.
        PermissionDenied: the role is viewer.
    """
    access = load_incident(request, number)
    if not access.may_act:
        raise PermissionDenied
    return access
