"""How many GPUs a cluster's nodes have, by their hardware profile."""

from checks.models import Cluster
from checks.selectors.rules import ruleset_for


def gpus_per_node(cluster: Cluster) -> int:
    """GPUs of a node of the cluster's own profile; no statement when this process has its rules already.

    Raises:
        NoCatalogue, UnknownProfile: nobody can tell.
    """
    return ruleset_for(cluster).profile.gpus
