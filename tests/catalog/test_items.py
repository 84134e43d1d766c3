"""Which items there are and how heavily each counts, against lists written out by hand from the design."""

import pytest

from checks.domain.catalogue import Catalogue
from checks.domain.items import Item
from checks.domain.verdicts import Cadence, Layer, Severity, Source

ITEMS = {
    Layer.PHYSICAL: """
        gpu-present gpu-clean gpu-ecc gpu-memtest gpu-burn gpu-temperature gpu-clock-throttle gpu-pcie-width
        gpu-pcie-generation gpu-thermal-photo gpu-xid gpu-nvlink-links gpu-nvlink-errors gpu-fabric gpu-peer-bandwidth
        allreduce-node net-topology-map net-switch-qos nic-queue-depth rdma-link rdma-bandwidth nic-drop-rate nccl-path
        nvme-fio object-store-upload object-store-burst nvme-health room-environment power-budget
    """,
    Layer.SYSTEM: """
        sysctl-swappiness sysctl-somaxconn sysctl-syn-backlog sysctl-netdev-backlog sysctl-file-max ulimit-nofile
        ulimit-memlock shm-size numa-binding cpu-governor driver-cuda-match gpu-firmware clock-sync persistence-mode
        iommu-acs mem-oom hung-io rendezvous
    """,
    Layer.FRAMEWORK: """
        trainer-lib-pinned image-uniform python-env-uniform nccl-cuda-match nccl-no-system amp-config
        grad-norm-first-step attention-backend parallel-layout collective-timeout checkpoint-api checkpoint-mount
        checkpoint-atime checkpoint-space checkpoint-integrity checkpoint-resume checkpoint-tag zero-offload-compat
        scaling-efficiency
    """,
    Layer.DATA: """
        data-format data-pretokenized data-shard-balance data-shard-by-sample data-integrity tokenizer-parity
        tokenizer-fast data-duplicates data-language data-encoding data-sensitive data-cleaning-loss data-spot-check
    """,
    Layer.OPERATIONS: """
        ops-maintenance-window ops-storage-gc ops-shift ops-log-policy ops-error-dump ops-spot-resume ops-idle-gpu
        ops-runbook credential-life scheduler-fit spare-nodes loss-guard
    """,
}

WARNINGS = """
    gpu-thermal-photo persistence-mode cpu-governor nccl-no-system checkpoint-atime tokenizer-fast data-language
    data-cleaning-loss iommu-acs ops-log-policy ops-maintenance-window ops-idle-gpu ops-error-dump
"""

MEASURED_NOW = """
    gpu-present gpu-clean gpu-ecc gpu-temperature gpu-clock-throttle gpu-pcie-width gpu-pcie-generation gpu-fabric
    gpu-firmware persistence-mode gpu-xid gpu-nvlink-links gpu-nvlink-errors driver-cuda-match rdma-link nic-drop-rate
    rdma-bandwidth net-switch-qos
    nic-queue-depth nvme-health sysctl-swappiness sysctl-somaxconn sysctl-syn-backlog sysctl-netdev-backlog
    sysctl-file-max ulimit-nofile ulimit-memlock numa-binding cpu-governor clock-sync mem-oom hung-io checkpoint-mount
    checkpoint-atime room-environment iommu-acs shm-size trainer-lib-pinned image-uniform python-env-uniform
    nccl-cuda-match nccl-no-system gpu-memtest gpu-burn gpu-peer-bandwidth allreduce-node nvme-fio object-store-upload
    grad-norm-first-step ops-log-policy data-format data-pretokenized data-shard-balance data-shard-by-sample
    data-integrity data-duplicates data-language data-encoding data-sensitive data-cleaning-loss
"""

AUDITED_NOW = """
    amp-config parallel-layout collective-timeout checkpoint-api checkpoint-tag zero-offload-compat tokenizer-parity
    tokenizer-fast ops-error-dump scheduler-fit ops-maintenance-window
"""

OFFLINE = """
    gpu-memtest gpu-burn gpu-peer-bandwidth allreduce-node rdma-bandwidth nccl-path nvme-fio object-store-upload
    object-store-burst
"""

ATTESTED = """
    gpu-thermal-photo net-topology-map power-budget data-spot-check ops-storage-gc ops-shift ops-runbook loss-guard
"""


@pytest.mark.parametrize("layer", Layer)
def test_a_layer_has_exactly_its_items_in_the_order_in_which_people_read_them(
    catalogue: Catalogue, layer: Layer
) -> None:
    assert [item.key for item in catalogue.items.values() if item.layer is layer] == ITEMS[layer].split()


def test_every_item_is_a_blocker_but_for_the_listed_warnings(catalogue: Catalogue) -> None:
    assert keys(catalogue, severity=Severity.WARNING) == set(WARNINGS.split())


def test_a_probe_item_that_no_probe_covers_yet_is_in_shadow_and_the_others_are_not(catalogue: Catalogue) -> None:
    assert keys(catalogue, source=Source.PROBE, shadow=False) == set(MEASURED_NOW.split())


def test_an_item_that_no_audit_can_tell_yet_is_in_shadow_and_the_others_are_not(catalogue: Catalogue) -> None:
    assert keys(catalogue, source=Source.AUDIT, shadow=False) == set(AUDITED_NOW.split())


def test_what_a_person_states_needs_no_probe_and_is_never_in_shadow(catalogue: Catalogue) -> None:
    assert keys(catalogue, source=Source.ATTESTED, shadow=False) == set(ATTESTED.split())
    assert keys(catalogue, cadence=Cadence.ATTESTED) == set(ATTESTED.split())


def test_exactly_the_offline_items_are_disruptive(catalogue: Catalogue) -> None:
    assert keys(catalogue, cadence=Cadence.OFFLINE) == set(OFFLINE.split())
    assert keys(catalogue, disruptive=True) == set(OFFLINE.split())


def test_a_hardware_fault_settles_with_one_report(catalogue: Catalogue) -> None:
    faults = ("gpu-present", "gpu-ecc", "gpu-xid", "gpu-fabric", "gpu-nvlink-links", "gpu-pcie-width")
    assert {key: catalogue.items[key].settle for key in faults} == dict.fromkeys(faults, 1)


def test_a_kernel_setting_settles_with_three_reports(catalogue: Catalogue) -> None:
    assert catalogue.items["sysctl-netdev-backlog"].settle == 3


def test_load_is_asked_for_where_an_idle_sample_shows_nothing(catalogue: Catalogue) -> None:
    assert {key for key, item in catalogue.items.items() if item.needs_load} == {
        "gpu-temperature", "gpu-clock-throttle", "gpu-pcie-generation", "gpu-nvlink-errors", "nic-drop-rate",
    }  # fmt: skip


def test_a_capped_power_draw_is_never_judged_because_full_load_shows_it_on_healthy_gpus(catalogue: Catalogue) -> None:
    judged = {criterion.fact for criterion in catalogue.items["gpu-clock-throttle"].all_criteria}
    assert judged == {"hw_slowdown_active", "hw_thermal", "power_brake", "sw_thermal", "sm_clock_share"}


def test_firmware_and_lifetime_memory_errors_enter_what_is_signed(catalogue: Catalogue) -> None:
    assert catalogue.items["gpu-firmware"].identity == ("vbios", "inforom", "part_number")
    assert catalogue.items["gpu-ecc"].identity == ("aggregate_sram_uncorrectable",)


def test_every_item_can_pass_because_it_has_a_criterion(catalogue: Catalogue) -> None:
    assert {key for key, item in catalogue.items.items() if not item.criteria} == set()


def keys(catalogue: Catalogue, **wanted: object) -> set[str]:
    """Keys of the items whose fields have the *wanted* values."""
    return {key for key, item in catalogue.items.items() if _is(item, wanted)}


def _is(item: Item, wanted: dict[str, object]) -> bool:
    return all(getattr(item, name) == value for name, value in wanted.items())
