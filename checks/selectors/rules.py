"""The rules in force, compiled once a process: building them costs milliseconds, a report has two or three in all.

Two caches, both keyed by content, so neither can be wrong, only unneeded: catalogues by their digest, rulesets by
``judged_under``. Texts are no part of ``judged_under``: a new catalogue empties the second cache.
"""

from collections.abc import Mapping
from typing import Final

from checks.domain.catalogue import Catalogue
from checks.domain.errors import CountersignError
from checks.domain.profiles import Ruleset, TrainingEnv
from checks.models import CatalogVersion, Cluster, Node

_MOST_RULESETS: Final = 1024

_catalogues: dict[str, Catalogue] = {}
_rulesets: dict[str, Ruleset] = {}


class NoCatalogue(CountersignError):
    """Nothing can be judged before a catalogue is in force."""

    code = "no_catalogue"
    status = 503

    def __init__(self) -> None:
        super().__init__("No catalogue is loaded; run: manage.py catalog load")


def catalogue_in_force() -> Catalogue:
    """The catalogue that nodes are judged by now: one statement, and one more when this process has not seen it yet.

    Raises:
        NoCatalogue: none was ever loaded.
    """
    digest = CatalogVersion.objects.filter(in_force=True).values_list("digest", flat=True).first()
    if digest is None:
        raise NoCatalogue
    if digest not in _catalogues:
        document = CatalogVersion.objects.values_list("document", flat=True).get(digest=digest)
        remember_catalogue(digest, Catalogue.from_json(document))
    return _catalogues[digest]


def remember_catalogue(digest: str, catalogue: Catalogue) -> None:
    """Keep *catalogue* in this process, in the place of those before it."""
    _catalogues.clear()
    _rulesets.clear()
    _catalogues[digest] = catalogue


def profile_of(cluster: Cluster, node: Node | None) -> str:
    """Key of the hardware profile: the node's own, else its cluster's."""
    return (node.profile if node is not None else "") or cluster.profile


def ruleset_for(cluster: Cluster, node: Node | None = None) -> Ruleset:
    """The rules that *node* (or a node of the cluster without a profile of its own) is judged by.

    No statement when this process has them already.
    """
    profile = profile_of(cluster, node)
    known = known_ruleset(cluster.judged_under.get(profile))
    return known or build_ruleset(profile, cluster.overrides, cluster.training_env)


def known_ruleset(judged_under: str | None) -> Ruleset | None:
    """The rules of that name, when this process has compiled them."""
    return _rulesets.get(judged_under) if judged_under else None


def rules_in_force(judged_under: str | None, *, cluster_id: int, profile: str) -> Ruleset:
    """The rules called *judged_under*; read from the database when this process does not have them yet.

    The answer may carry another name, when the rules changed meanwhile: its user stores the name it judged by.
    """
    known = known_ruleset(judged_under)
    if known is not None:
        return known
    return build_ruleset(profile, *Cluster.objects.values_list("overrides", "training_env").get(pk=cluster_id))


def build_ruleset(profile: str, overrides: Mapping[str, object], training_env: str) -> Ruleset:
    """Compile the rules of *profile* under a cluster's settings from the catalogue in force, and keep them."""
    ruleset = Ruleset.build(catalogue_in_force(), profile, overrides, TrainingEnv(training_env))
    if len(_rulesets) >= _MOST_RULESETS:
        _rulesets.clear()
    _rulesets[ruleset.judged_under] = ruleset
    return ruleset
