"""Moments that drift is told from: the last signature, and the last start that went well."""

from datetime import datetime

from checks.models import Node, Run, RunStart, Signature, Stage


def last_signed(run: Run) -> datetime | None:
    """When the newest signature under *run* was given."""
    return Signature.objects.filter(package__run=run).order_by("-signed_at").values_list("signed_at", flat=True).first()


def last_signed_of_node(node: Node) -> datetime | None:
    """When the newest signature was given under a run whose pool has *node*."""
    signed = Signature.objects.filter(package__run__pool=node).order_by("-signed_at")
    return signed.values_list("signed_at", flat=True).first()


def last_start(run: Run) -> datetime | None:
    """When *run* started or came back last."""
    return RunStart.objects.filter(run=run).order_by("-at").values_list("at", flat=True).first()


def last_good_run_of(node: Node) -> RunStart | None:
    """The last start on *node* of a run that was not aborted."""
    starts = RunStart.objects.filter(run__cluster=node.cluster_id, hostnames__contains=[node.hostname])
    return starts.exclude(run__stage=Stage.ABORTED).select_related("run").order_by("-at").first()
