"""What ``nvidia-smi nvlink`` says about links, and the sentences that stand for "no links"."""

from __future__ import annotations

import pytest

from readiness_agent.parsers.nvlink import NvlinkErrors, NvlinkGpu, parse_nvlink_errors, parse_nvlink_status
from tests.agents.parsers.inputs import shared

UUID = "GPU-00000000-0000-4000-8000-000000000001"
HEADER = f"GPU 0: NVIDIA H100 80GB HBM3 (UUID: {UUID})\n"


def only(text: str) -> NvlinkGpu:
    (gpu,) = parse_nvlink_status(text)
    return gpu


def test_two_h200_have_18_links_each_at_26_562_gigabytes_a_second() -> None:
    first, second = parse_nvlink_status(shared("captures/h200x2/nvlink-s.txt"))

    assert (first.uuid, second.uuid) == (UUID, "GPU-00000000-0000-4000-8000-000000000002")
    assert [first.links_up, second.links_up] == [18, 18]
    assert [first.slowest, second.slowest] == [26.562, 26.562]


def test_eight_a100_have_12_links_each() -> None:
    gpus = parse_nvlink_status(shared("cases/nvlink/a100_8gpu_nvlink_s.txt"))

    assert [(gpu.links_up, gpu.slowest) for gpu in gpus] == [(12, 25.0)] * 8


def test_text_that_follows_in_the_same_file_belongs_to_no_gpu() -> None:
    gpu = only(shared("cases/nvlink/h100_nvlink_s.txt"))

    assert (gpu.links_up, len(gpu.links), gpu.complete) == (18, 18, True)


def test_inactive_links_count_as_links_that_are_not_up() -> None:
    gpu = only(shared("cases/nvlink/v100_gpu3_links_inactive.txt"))

    assert (gpu.place, len(gpu.links), gpu.links_up, gpu.slowest, gpu.complete) == (3, 6, 4, 25.781, True)
    assert [link.number for link in gpu.links if link.speed is None] == [3, 5]


@pytest.mark.parametrize("word", ["<inactive>", "<Inactive>", "inActive"])
def test_inactive_is_read_in_any_case(word: str) -> None:
    assert only(f"{HEADER}\t Link 0: {word}\n").links_up == 0


def test_a_report_that_was_cut_leaves_its_last_gpu_incomplete() -> None:
    first, second = parse_nvlink_status(shared("cases/nvlink/gb200_mock_nvlink_s.txt"))

    assert (first.links_up, first.slowest, first.complete) == (18, 53.125, True)
    assert (second.links_up, second.complete) == (2, False)


def test_a_line_that_was_cut_leaves_its_gpu_incomplete() -> None:
    gpu = only(HEADER + "\t Link 0: 26.562 GB/s\n\t Link 1: 26.5")

    assert (gpu.links_up, gpu.complete) == (1, False)


def test_a_card_without_nvlink_says_so_and_shows_no_link() -> None:
    gpu = only(shared("cases/nvlink/rtx4080s_nvlink_s.txt"))

    assert (gpu.supported, gpu.links) == (False, ())
    assert gpu.links_up is None


@pytest.mark.parametrize(
    "sentence",
    ["NVML: Unable to retrieve NVLink information as all links are inActive", "all links are inactive"],
)
def test_all_links_inactive_in_one_sentence_is_no_link_up(sentence: str) -> None:
    gpu = only(f"{HEADER}{sentence}\n")

    assert (gpu.supported, gpu.links_up, gpu.slowest) == (True, 0, None)


@pytest.mark.parametrize("sentence", ["NVLink is not supported on this device", "Nvlink not supported"])
def test_not_supported_in_other_words_is_not_supported(sentence: str) -> None:
    assert only(f"{HEADER}{sentence}\n").supported is False


def test_a_gpu_of_which_nothing_is_said_is_unknown() -> None:
    gpu = only(HEADER)

    assert (gpu.supported, gpu.links_up) == (None, None)


def test_escapes_of_a_terminal_in_a_file_change_nothing() -> None:
    gpu = only(f"\x1b[4m{HEADER.strip()}\x1b[0m\n\t Link 0: \x1b[1m26.562 GB/s\x1b[0m\n")

    assert (gpu.uuid, gpu.links_up) == (UUID, 1)


def test_a_sentence_alone_names_no_gpu() -> None:
    assert parse_nvlink_status("No devices were found\n") == ()


def test_errors_of_two_h200_are_zero_on_all_links() -> None:
    gpus = parse_nvlink_errors(shared("captures/h200x2/nvlink-e.txt"))

    assert gpus[0] == NvlinkErrors(0, UUID, replay=0, recovery=0, crc=0, effective_ber=None, complete=True)
    assert gpus[1].uuid == "GPU-00000000-0000-4000-8000-000000000002"


def test_errors_are_added_over_the_links_of_one_gpu() -> None:
    text = (
        f"{HEADER}\t Link 0: Replay Errors: 3\n\t Link 0: Recovery Errors: 1\n\t Link 0: CRC Errors: 7\n\n"
        "\t Link 1: Replay Errors: 4\n\t Link 1: Recovery Errors: 0\n\t Link 1: CRC Errors: 5\n\n"
    )

    assert parse_nvlink_errors(text) == (NvlinkErrors(0, UUID, 7, 1, 12, None, True),)


def test_newer_links_tell_their_bit_error_ratio_and_the_worst_one_counts() -> None:
    text = (
        f"{HEADER}\t Link 0: Total link recovery events: 2\n\t Link 0: Effective BER: 15e-255\n"
        "\t Link 1: Total link recovery events: 0\n\t Link 1: Effective BER: 3e-8\n"
    )

    assert parse_nvlink_errors(text) == (NvlinkErrors(0, UUID, None, 2, None, 3e-8, True),)


def test_a_counter_that_is_not_available_on_one_link_is_unknown_for_the_gpu() -> None:
    text = f"{HEADER}\t Link 0: Replay Errors: 3\n\t Link 1: Replay Errors: N/A\n"

    assert parse_nvlink_errors(text)[0].replay is None
