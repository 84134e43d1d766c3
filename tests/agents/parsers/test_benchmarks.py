"""Outputs of nccl-tests, perftest and fio: the figure that counts, and when there is none."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.agents.parsers.inputs import shared
from tests.agents.parsers.saved_outputs import case, complaints, facts, read

NCCL, PERFTEST, FIO = "nccl-tests", "perftest", "fio"


def some(found: Mapping[str, object], *names: str) -> tuple[object, ...]:
    return tuple(found.get(name) for name in names)


def test_the_largest_size_counts_and_not_the_average() -> None:
    found = facts(case(NCCL, "nccl/a100_8_allreduce_validation0.log"))

    assert some(found, "busbw", "message_size", "average_busbw") == (235.26, 8589934592, 68.4048)
    assert some(found, "busbw_in_place", "algbw", "gpus", "device") == (235.03, 134.44, 8, "A100-SXM4-40GB")


def test_a_run_without_validation_says_nothing_about_wrong_values() -> None:
    saved = case(NCCL, "nccl/a100_8_allreduce_validation0.log")

    assert facts(saved)["validation"] is False
    assert some(facts(saved), "wrong", "out_of_bounds") == (None, None)


def test_columns_shift_where_there_is_no_reduction() -> None:
    found = facts(case(NCCL, "nccl/a100_8_alltoall.log"))

    assert some(found, "busbw", "busbw_in_place", "average_busbw", "wrong") == (224.31, 226.16, 58.6481, None)


def test_a_validated_run_counts_wrong_values_and_names_its_nccl() -> None:
    found = facts(case(NCCL, "nccl/gcm_1node_a100.log"))

    assert some(found, "busbw", "message_size", "wrong", "out_of_bounds") == (231.72, 1073741824, 0, 0)
    assert some(found, "average_busbw", "nccl_version", "gpus") == (210.99, "2.16.2+cuda11.6", 8)


def test_a_launcher_that_could_not_start_gives_no_bandwidth() -> None:
    saved = case(NCCL, "nccl/gcm_mpi_no_slots.log")

    assert saved.facts == ()
    assert "not enough slots" in complaints(saved)


def test_one_size_of_16_gibibytes_on_eight_h200() -> None:
    found = facts(case(NCCL, "nccl/h200_8_16G.log"))

    assert some(found, "busbw", "busbw_in_place", "average_busbw", "wrong") == (479.97, 480.26, 480.11, 0)
    assert some(found, "message_size", "gpus", "device") == (17179869184, 8, "NVIDIA H200")


def test_an_old_error_column_is_a_relative_error() -> None:
    saved = case(NCCL, "nccl/allgather_v100_error_1e00.log")
    found = facts(saved)

    assert some(found, "out_of_bounds", "relative_error_max", "average_busbw", "wrong") == (2, 1.0, 128.942, None)
    assert found["busbw"] == 129.05
    assert "2 values are out of bounds" in complaints(saved)


def test_one_rank_is_no_test_of_a_bus() -> None:
    saved = case(NCCL, "nccl/single_gpu_busbw_zero_5090.log")

    assert some(facts(saved), "gpus", "busbw") == (1, None)
    assert "one rank" in complaints(saved)


def test_a_run_that_failed_keeps_its_sentence_and_has_no_bandwidth() -> None:
    saved = case(NCCL, "nccl/nccl1_unhandled_cuda_error.log")

    assert some(facts(saved), "gpus", "busbw") == (8, None)
    assert "unhandled cuda error" in complaints(saved)


def test_the_end_of_a_log_without_its_head() -> None:
    found = facts(case(NCCL, "nccl/tail_avg_84.log"))

    assert some(found, "busbw", "busbw_in_place", "message_size", "average_busbw") == (95.74, 95.94, 133169160, 84.8558)


def test_a_run_without_its_last_lines_is_incomplete() -> None:
    saved = case(NCCL, "nccl/sendrecv_a40_inplace_na.log")

    assert some(facts(saved), "gpus", "busbw", "rows") == (2, None, 5)
    assert "did not end" in complaints(saved)


def test_messages_between_table_and_summary_are_passed_over() -> None:
    found = facts(case(NCCL, "nccl/destroy_complete_interleaved.log"))

    assert some(found, "busbw", "busbw_in_place", "gpus", "average_busbw", "wrong") == (25.86, 25.88, 2, 8.62002, 0)


def test_marks_of_a_launcher_before_each_line_are_no_numbers() -> None:
    text = "".join(f"[1,0]<stdout>:{line}\n" for line in shared("cases/nccl/h200_8_16G.log").splitlines())

    assert facts(read(NCCL, text))["busbw"] == 479.97


def test_a_run_that_ends_before_the_size_it_was_asked_for_is_incomplete() -> None:
    text = shared("cases/nccl/gcm_1node_a100.log")
    cut = text[: text.index("  1073741824")] + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 206.0\n"

    saved = read(NCCL, cut)

    assert "busbw" not in facts(saved)
    assert "1073741824" in complaints(saved)


def test_megabytes_of_perftest_are_binary() -> None:
    found = facts(case(PERFTEST, "perftest/hdr_loopback_all_sizes.log"))

    assert some(found, "message_size", "average_mib", "peak_mib") == (8388608, 23240.68, 23240.68)
    assert round(float(str(found["average"])), 2) == 194.96
    assert some(found, "device", "mtu", "link_type") == ("ib0", 4096, "IB")


def test_a_table_that_was_cut_has_no_result() -> None:
    saved = case(PERFTEST, "perftest/gbps_tab_mixed_truncated.txt")

    assert some(facts(saved), "average", "rows", "device") == (None, 4, "mlx5_0")
    assert "closing line" in complaints(saved)


def test_two_runs_in_one_file_stay_two_and_a_peak_of_zero_is_none() -> None:
    saved = case(PERFTEST, "perftest/send_bw_peak_zero_two_sizes.txt")

    rows = [some(facts(saved, run), "row_average_mib", "row_message_size", "row_peak_mib") for run in ("run1", "run2")]
    assert rows == [(5544.28, 1024, None), (920.13, 1024, None)]


def test_a_connection_that_was_refused() -> None:
    saved = case(PERFTEST, "perftest/rdma_cm_event_rejected.txt")

    assert facts(saved) == {"cm_event": "RDMA_CM_EVENT_REJECTED", "cm_error": -111}
    assert "RDMA_CM_EVENT_REJECTED" in complaints(saved)


def test_a_port_that_is_down() -> None:
    saved = case(PERFTEST, "perftest/port_down_no_context.txt")

    assert facts(saved) == {"port": 1, "port_state": "Down"}
    assert "Down" in complaints(saved)


def test_a_work_request_that_never_completed() -> None:
    saved = case(PERFTEST, "perftest/failed_status_12.txt")

    assert facts(saved) == {"completion_status": 12, "sent": 128, "completed": 0}
    assert "transport retry counter exceeded" in complaints(saved)


def test_a_mixed_run_of_fio_3() -> None:
    found = facts(case(FIO, "fio/sb_randrw_nvme.json"))

    assert some(found, "read_bytes_per_second", "write_bytes_per_second") == (348743777, 348450387)
    assert (round(float(str(found["read_iops"])), 2), round(float(str(found["write_iops"])), 2)) == (85138.89, 85066.13)
    assert some(found, "read_p99", "write_p99", "errors", "fio_version") == (2244608, 2072576, 0, "fio-3.16")


def test_a_git_version_and_values_as_stated() -> None:
    found = facts(case(FIO, "fio/vc_readwrite.json"))

    assert some(found, "read_bytes_per_second", "write_bytes_per_second") == (149343283, 67267937)
    assert (round(float(str(found["read_iops"])), 2), round(float(str(found["write_iops"])), 2)) == (569.70, 256.61)


@pytest.mark.parametrize(("file", "jobs"), [("vc_err84_1.txt", 1), ("vc_err84_4.txt", 4)])
def test_errors_without_a_report(file: str, jobs: int) -> None:
    saved = case(FIO, f"fio/{file}")

    assert some(facts(saved), "errors", "error_codes", "read_iops") == (jobs, "84", None)
    assert "multibyte" in complaints(saved)


def test_data_that_came_back_changed() -> None:
    saved = case(FIO, "fio/vc_verify_crc.txt")

    assert some(facts(saved), "verify_failures", "verify_offset") == (1, 668565504)
    assert "verify" in complaints(saved)


def test_errors_before_a_report_that_was_cut() -> None:
    saved = case(FIO, "fio/io_error_before_json.txt")

    assert some(facts(saved), "errors", "error_codes", "read_iops") == (7, "5", None)
    assert "JSON" in complaints(saved)


def test_a_harmless_notice_and_a_report_without_jobs() -> None:
    saved = case(FIO, "fio/sprandom_notice_before_json.txt")

    assert some(facts(saved), "errors", "fio_version", "notices") == (0, "fio-3.41", "fio: sprandom sets norandommap=1")
    assert "no job" in complaints(saved)


def test_text_of_fio_2_in_bytes_a_second() -> None:
    found = facts(case(FIO, "fio/human_2_2_10.txt"))

    assert some(found, "write_bytes_per_second", "write_iops", "write_seconds", "write_clat_max", "errors") == (
        14339, 3, 365.631, 2355700, 0,
    )  # fmt: skip


def test_text_of_fio_2_in_binary_kilobytes() -> None:
    found = facts(case(FIO, "fio/human_2_read_line.txt"))

    assert some(found, "read_bytes_per_second", "read_iops", "read_seconds") == (214088 * 1024, 26760, 313.167)
    assert some(found, "write_bytes_per_second", "write_iops") == (91612 * 1024, 11451)


def test_text_of_fio_3() -> None:
    text = (
        "  read: IOPS=85.1k, BW=333MiB/s (349MB/s)(19.5GiB/60001msec)\n    clat (nsec): min=1, max=6302845, avg=5.0\n"
    )

    found = facts(read(FIO, text))

    assert some(found, "read_iops", "read_bytes_per_second", "read_seconds") == (85100, 333 * 1024 * 1024, 60.001)


def test_a_direction_that_did_nothing_was_not_measured() -> None:
    text = '{"fio version": "fio-3.30", "jobs": [{"error": 0, "read": {"total_ios": 0, "bw_bytes": 0, "iops": 0}}]}'

    assert "read_iops" not in facts(read(FIO, text))


def test_a_job_of_fio_3_that_ended_with_an_error_is_a_problem() -> None:
    text = (
        "j: (groupid=0, jobs=1): err= 5 (file:io_u.c:1803, func=io_u error, error=Input/output error): pid=9: Tue\n"
        "  read: IOPS=10, BW=40.0KiB/s (41.0kB/s)(4096B/100msec)\n"
    )

    saved = read(FIO, text)

    assert facts(saved)["errors"] == 1
    assert "Input/output error" in complaints(saved)


def test_jobs_of_a_text_are_summed_and_their_time_is_the_longest() -> None:
    text = (
        "  write: IOPS=1000, BW=1000MiB/s (1049MB/s)(58.6GiB/60001msec); 0 zone resets\n"
        "    clat (usec): min=3, max=700, avg=5.0\n"
        "  write: IOPS=2k, BW=2000MiB/s (2097MB/s)(117GiB/60002msec); 0 zone resets\n"
        "    clat (msec): min=3, max=9, avg=5.0\n"
    )

    saved = read(FIO, text)

    assert some(facts(saved), "write_iops", "write_bytes_per_second") == (3000, 3000 * 1024 * 1024)
    assert some(facts(saved), "write_seconds", "write_clat_max") == (60.002, 9000)
    assert len(saved.facts) == len({fact.name for fact in saved.facts})


def test_megabytes_of_fio_3_are_decimal() -> None:
    found = facts(read(FIO, "  read: IOPS=83, BW=349MB/s (333MiB/s)(20.9GB/60001msec)\n"))

    assert found["read_bytes_per_second"] == 349_000_000


def test_the_last_of_several_reports_is_that_of_the_whole_run() -> None:
    reports = [
        f'{{"fio version": "fio-3.30", "jobs": [{{"error": {error}, "read": '
        f'{{"total_ios": {ios}, "bw_bytes": {ios * 1000}, "iops": {ios}}}}}]}}\n'
        for ios, error in ((70, 0), (90, 5))
    ]

    saved = read(FIO, "".join(reports))

    assert some(facts(saved), "read_iops", "errors") == (90, 1)
    assert "was cut" not in complaints(saved)
    assert "JSON" in complaints(read(FIO, reports[0] + reports[1][:-20]))


def test_percentiles_of_fio_2_are_microseconds() -> None:
    text = '{"jobs": [{"read": {"total_ios": 9, "bw": 8, "iops": 3, "clat": {"percentile": {"99.000000": 1500}}}}]}'

    assert facts(read(FIO, text))["read_p99"] == 1_500_000


def test_a_damaged_header_of_verified_data_is_data_that_came_back_changed() -> None:
    text = "verify: bad magic header 0, wanted acca at file /data/f.0.0 offset 65536, length 4096 (requested block)\n"

    assert some(facts(read(FIO, text)), "verify_failures", "verify_offset") == (1, 65536)


RULE = "-" * 87


def test_a_rate_of_both_directions_is_no_rate_of_a_link() -> None:
    text = (
        "                    RDMA_Write Bidirectional BW Test\n"
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        f" 65536      20000            787.85             787.72 \t\t   1.502457\n{RULE}\n"
    )

    assert some(facts(read(PERFTEST, text)), "average", "both_ways_average") == (None, 787.72)


def test_mebibytes_by_their_newer_name() -> None:
    text = (
        " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]\n"
        f" 65536      5000             23453.12            23450.00 \t\t   0.375200\n{RULE}\n"
    )

    found = facts(read(PERFTEST, text))

    assert some(found, "average_mib", "average") == (23450, pytest.approx(23450 * 8.388608 / 1000))


def test_a_column_with_the_load_of_the_processor_belongs_to_each_row() -> None:
    head = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]    CPU_Util[%]\n"
    row = " 65536      1853700          0.00               97.19  \t\t   0.185370"

    assert facts(read(PERFTEST, f"{head}{row}\t    3.11\n{RULE}\n"))["average"] == 97.19
    assert "average" not in facts(read(PERFTEST, f"{head}{row}\n{RULE}\n"))


def test_latencies_are_those_of_the_smallest_message() -> None:
    text = (
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"
        "   99% percentile[usec]   99.9% percentile[usec] \n"
        " 2       1000     1.02     3.71    1.05     \t   1.06     \t0.05   \t\t1.13    \t\t3.70\n"
        f" 4       1000     1.12     3.81    1.15     \t   1.16     \t0.05   \t\t1.23    \t\t3.80\n{RULE}\n"
    )

    saved = read(PERFTEST, text)

    names = ("latency_message_size", "latency_typical", "latency_average", "latency_p99", "latency_p999")
    assert some(facts(saved), *names) == (2, 1.05, 1.06, 1.13, 3.7)
    assert saved.problems == ()


TWO_RANKS = (
    "# nThread 1 nGpus 2 minBytes 1048576 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20 validation: 1\n"
    "#  Rank  0 Group  0 Pid 11 on  node01 device  0 [0x19] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid 11 on  node01 device  1 [0x3b] NVIDIA H100 80GB HBM3\n"
)
SUMMARY = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 28.63\n"


def test_a_time_of_more_than_a_second_has_an_exponent() -> None:
    row = (
        "  1048576   262144     float     sum      -1  1.2e+06   28.63   28.63      0  1.2e+06   28.61   28.61      0\n"
    )

    assert some(facts(read(NCCL, TWO_RANKS + row + SUMMARY)), "busbw", "busbw_in_place", "rows") == (28.63, 28.61, 1)


def test_a_warning_counts_only_where_the_run_did_not_end() -> None:
    warning = "node01:11:19 [0] misc/socket.cc:1 NCCL WARN socket closed\n"
    row = "  1048576   262144     float     sum      -1    36.6   28.63   28.63      0    36.6   28.61   28.61      0\n"

    assert read(NCCL, TWO_RANKS + warning + row + SUMMARY).problems == ()
    assert "socket closed" in complaints(read(NCCL, TWO_RANKS + row + warning))


def test_wrong_values_are_a_problem_although_the_summary_says_ok() -> None:
    row = "  1048576   262144     float     sum      -1    36.6   28.63   28.63     17    36.6   28.61   28.61      0\n"

    saved = read(NCCL, TWO_RANKS + row + SUMMARY)

    assert (facts(saved)["wrong"], complaints(saved)) == (17, "17 values are wrong: data came back wrong")


def test_an_error_behind_the_report_counts_like_one_before_it() -> None:
    report = '{"jobs": [{"error": 0, "read": {"total_ios": 9, "bw_bytes": 8, "iops": 3}}]}\n'

    saved = read(FIO, report + "fio: pid=7, err=5/file:io_u.c:1803, func=io_u error, error=Input/output error\n")

    assert some(facts(saved), "errors", "error_codes", "read_iops") == (1, "5", 3)
    assert "Input/output error" in complaints(saved)
