"""Bills from CSV, and how far they are from what was estimated."""

from datetime import date
from decimal import Decimal

import pytest

from checks.domain.cost.actual import Cause, Level, compare
from checks.domain.cost.bills import BillForm, BillUnreadable, read_bill
from checks.domain.cost.currency import Rate, convert
from checks.domain.cost.estimating import estimate
from checks.domain.cost.money import Estimate, LineItem, Part, Range
from tests.domain.cost.pricing import LARGE, SHIPPED

CUR = """identity/LineItemId,lineItem/LineItemType,lineItem/UsageStartDate,lineItem/UsageType,lineItem/CurrencyCode,lineItem/UnblendedCost
1,Usage,2026-11-01T00:00:00Z,BoxUsage:p5.48xlarge,USD,1000.50
2,Usage,2026-11-01T00:00:00Z,USE1-SpotUsage:p5.48xlarge,USD,200
3,Usage,2026-11-01T00:00:00Z,USE1-DataTransfer-Out-Bytes,USD,10
4,Usage,2026-11-01T00:00:00Z,USE1-USE2-AWS-Out-Bytes,USD,5
5,Usage,2026-11-01T00:00:00Z,NatGateway-Bytes,USD,4
6,Usage,2026-11-01T00:00:00Z,USE1-TimedStorage-ByteHrs,USD,3
7,Usage,2026-11-01T00:00:00Z,Requests-Tier1,USD,0.25
8,Usage,2026-11-01T00:00:00Z,NatGateway-Hours,USD,1
9,Usage,2026-11-01T00:00:00Z,DataTransfer-In-Bytes,USD,0
10,Credit,2026-11-01T00:00:00Z,BoxUsage:p5.48xlarge,USD,-0.50
11,Usage,2026-11-01T00:00:00Z,EBS:VolumeUsage.gp3,USD,2
"""  # noqa: E501 - as the report is written


def of(**parts: str) -> Estimate:
    """An estimate with one exact line a part."""
    return Estimate(
        tuple(LineItem(part, Part(part), Range.exactly(Decimal(usd)), "as given") for part, usd in parts.items())
    )


def test_a_cost_and_usage_report_is_summed_by_cause() -> None:
    found = read_bill(CUR)

    assert found.form is BillForm.AWS_CUR
    assert found.billed == {
        Cause.COMPUTE: Decimal("1200.00"), Cause.EGRESS: Decimal(19), Cause.STORAGE: Decimal(5),
        Cause.REQUESTS: Decimal("0.25"), Cause.OTHER: Decimal(1),
    }  # fmt: skip
    assert found.rows == 10


def test_the_newer_columns_of_the_report_are_read_too() -> None:
    text = "line_item_usage_type,line_item_unblended_cost,line_item_currency_code\nBoxUsage:p5,12.5,USD\n"

    assert read_bill(text).billed == {Cause.COMPUTE: Decimal("12.5")}


def test_a_plain_list_is_read_with_a_byte_order_mark_and_without_currency() -> None:
    found = read_bill("\ufeffcause,amount\ncompute,100\nEgress,7.5\ncompute,1\n")

    assert found.billed == {Cause.COMPUTE: Decimal(101), Cause.EGRESS: Decimal("7.5")}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names no columns"),
        ("date,usd\n1,2\n", "names no columns"),
        ("cause,amount\ncompute,ten\n", "Line 2: 'ten' is no amount"),
        ("cause,amount\ncompute,NaN\n", "out of all bounds"),
        ("cause,amount\ncompute,1e12\n", "out of all bounds"),
        ("cause,amount\ncompute,-5\n", "less than 0"),
        ("cause,amount\nlunch,5\n", "'lunch' is no cause"),
        ("cause,amount,currency\ncompute,5,EUR\n", "is in 'EUR'"),
        ("cause,amount\ncompute,0\n", "bills 0 USD"),
        ("cause,amount\n", "bills 0 USD"),
        ('cause,amount\n"compute,5\n', "no CSV"),
        ("cause,amount\ncompute,700,000\n", "Line 2 has more cells"),
        ("cause,amount\ncompute,7\nstorage\n", "Line 3 has fewer cells"),
        ("cause,amount,amount\ncompute,1,700\n", "names the column amount twice"),
    ],
)
def test_a_file_that_is_no_bill_is_refused_with_what_to_do(text: str, said: str) -> None:
    with pytest.raises(BillUnreadable, match=said):
        read_bill(text)


@pytest.mark.parametrize(
    ("billed", "level"),
    [("90", Level.OK), ("114.99", Level.OK), ("115", Level.AMBER), ("129.99", Level.AMBER), ("130", Level.RED)],
)
def test_a_bill_is_amber_from_15_and_red_from_30_per_cent_above(billed: str, level: Level) -> None:
    found = compare(of(training="80", idle="20"), {Cause.COMPUTE: Decimal(billed)})

    assert found.whole.level is found.causes[0].level is level


def test_what_nobody_estimated_is_red() -> None:
    found = compare(of(training="100"), {Cause.COMPUTE: Decimal(100), Cause.OTHER: Decimal(1)})

    assert [(one.cause, one.level, one.over_percent) for one in found.causes] == [
        (Cause.OTHER, Level.RED, None), (Cause.COMPUTE, Level.OK, Decimal(0)),
    ]  # fmt: skip


def test_the_largest_overrun_comes_first_and_causes_sum_to_the_whole() -> None:
    found = compare(estimate(LARGE, SHIPPED["aws"]), {Cause.STORAGE: Decimal(500), Cause.COMPUTE: Decimal(2_700_000)})

    assert found.causes[0].cause is Cause.COMPUTE
    assert sum(one.billed for one in found.causes) == found.whole.billed
    assert sum(one.estimated.expected for one in found.causes) == found.whole.estimated.expected


def test_dollars_are_shown_in_another_currency_by_a_dated_rate() -> None:
    rate = Rate("CNY", Decimal("7.1884"), as_of=date(2024, 12, 31), source="https://example.org", verified=True)

    assert convert(Decimal("1062.20"), rate) == Decimal("7635.52")
    assert rate.is_aged(date(2026, 11, 30))
    assert not rate.is_aged(date(2025, 3, 31))
