"""``manage.py cluster create|set|close|window|list``."""

from argparse import ArgumentParser, BooleanOptionalAction
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from checks.domain.profiles import TrainingEnv
from checks.management.acts import find_cluster, told_in_one_line
from checks.management.windows import add_window_verbs, do_with_windows
from checks.models import Cluster
from checks.services.closing import close_cluster
from checks.services.cluster_settings import change_settings
from checks.services.clusters import create_cluster, set_profile, set_training_env

WHY = "changed with manage.py cluster set"


class Command(BaseCommand):
    """Clusters: what hardware they are judged as, and how often they are measured."""

    help = "Create a cluster, change one, close one that is gone, or list them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """``create SLUG --profile P``, ``set SLUG``, ``close SLUG --reason R``, ``window …``, ``list``."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        create = verbs.add_parser("create", help="create a cluster")
        create.add_argument("slug")
        create.add_argument("--profile", required=True, help="hardware profile of its nodes, such as 8xh100")
        change = verbs.add_parser("set", help="change a cluster")
        change.add_argument("slug")
        change.add_argument("--profile", help="judge its nodes as this hardware profile, at once")
        change.add_argument("--reason", default=WHY, help="why; it is kept")
        change.add_argument(
            "--health-serves-as-launch",
            action=BooleanOptionalAction,
            default=None,
            help="say of healthy nodes that a job may start on them, without a run and its signatures",
        )
        change.add_argument(
            "--every-link",
            action=BooleanOptionalAction,
            default=None,
            help="measure the link between each pair of nodes in a window, not only enough pairs to name a bad node",
        )
        for one in (create, change):
            _add_settings(one)
        close = verbs.add_parser("close", help="take a cluster off the board and the gate; its history stays")
        close.add_argument("slug")
        close.add_argument("--reason", required=True, help="why; it is kept")
        add_window_verbs(verbs.add_parser("window", help="when its nodes may be measured at the cost of a job"))
        verbs.add_parser("list", help="list clusters")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do the one act, and say what is in force now."""
        with told_in_one_line():
            getattr(self, f"_{options['verb']}")(options)

    def _create(self, options: dict[str, Any]) -> None:
        settings = {"name": options["slug"]} | _given(options)
        self._show(
            create_cluster(slug=options["slug"], profile=options["profile"], by=None, now=timezone.now(), **settings)
        )

    def _set(self, options: dict[str, Any]) -> None:
        cluster = find_cluster(options["slug"])
        if options["profile"]:
            cluster = set_profile(
                cluster=cluster, profile=options["profile"], by=None, reason=options["reason"], now=timezone.now()
            )
        training_env = options.pop("training_env")
        if training_env:
            cluster = set_training_env(
                cluster=cluster, training_env=training_env, by=None, reason=options["reason"], now=timezone.now()
            )
        self._change(cluster, _given(options), options["reason"])

    def _close(self, options: dict[str, Any]) -> None:
        cluster = find_cluster(options["slug"])
        close_cluster(cluster=cluster, by=None, reason=options["reason"], now=timezone.now())
        self.stdout.write(f"{cluster.slug} is closed; its agents are told to stop.")

    def _change(self, cluster: Cluster, settings: dict[str, object], reason: str) -> None:
        if settings:
            cluster = change_settings(cluster=cluster, changes=settings, by=None, reason=reason, now=timezone.now())
        self._show(cluster)

    def _window(self, options: dict[str, Any]) -> None:
        for line in do_with_windows(find_cluster(options["slug"]), options):
            self.stdout.write(line)

    def _list(self, options: dict[str, Any]) -> None:
        for cluster in Cluster.objects.filter(closed_at=None):
            self._show(cluster)

    def _show(self, cluster: Cluster) -> None:
        replay = "takes replays" if cluster.accept_replay else "live nodes only"
        links = ", measures every link" if cluster.every_link else ""
        self.stdout.write(f"{cluster.slug}: {cluster.profile}, each {cluster.interval_s} s, {replay}{links}")


def _add_settings(parser: ArgumentParser) -> None:
    parser.add_argument("--name")
    parser.add_argument("--provider")
    parser.add_argument("--time-zone", dest="time_zone")
    parser.add_argument("--interval", dest="interval_s", type=int, help="seconds between ticks, 5 to 3600")
    parser.add_argument("--poll-after", dest="poll_after_s", type=int, help="seconds between questions for the plan")
    parser.add_argument(
        "--settle-gap",
        dest="min_settle_gap_s",
        type=int,
        help="least seconds between two measurements that count towards a settled verdict; 60 unless set",
    )
    parser.add_argument(
        "--training-env",
        dest="training_env",
        choices=[one.value for one in TrainingEnv],
        help="where jobs find the software they train with: on the node (host, unless set), in an image on it "
        "(container), or in what each job brings along (none: the nodes are not asked about it)",
    )
    parser.add_argument("--accept-replay", dest="accept_replay", action=BooleanOptionalAction, default=None)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    names = (
        "name", "provider", "time_zone", "interval_s", "poll_after_s", "min_settle_gap_s", "accept_replay",
        "health_serves_as_launch", "training_env", "every_link",
    )  # fmt: skip
    return {name: options[name] for name in names if options.get(name) is not None}
