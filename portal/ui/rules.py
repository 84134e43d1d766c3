"""The rules that pages show, from the caches that judging uses."""

from checks.models import Cluster, Node
from checks.selectors.rules import catalogue_in_force, ruleset_for
from portal.ui.criteria import Rules


def rules_of(cluster: Cluster, node: Node | None = None) -> dict[str, Rules]:
    """Every item as it is in force for *node*, or for the cluster's own profile."""
    catalogue, ruleset = catalogue_in_force(), ruleset_for(cluster, node)
    return {
        key: Rules(catalogue.items.get(key, item), item, ruleset.profile, cluster.overrides, catalogue)
        for key, item in ruleset.items.items()
    }
