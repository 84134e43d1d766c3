"""Evidence from another tool, brought by a person: shown first, kept when they have seen it, under their name."""

import re
from datetime import datetime, timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse

from checks.adapters.reading import WHYS
from checks.adapters.tools import TOOLS as READ
from checks.models import LedgerEntry, NodeItemState, Role, ToolEvidence
from checks.services.nodes import retire_node
from portal.accounts.models import User
from portal.ui.pages.evidence import TOOLS, UNJUDGED
from tests.adapters import samples
from tests.fleet import Fleet, person
from tests.ui.conftest import Sight, seen_by

PAGE = "/clusters/helios/nodes/gpu-001/evidence/"
NODE = "/clusters/helios/nodes/gpu-001/"
NHC = samples.NHC.replace("gpu001", "gpu-001")


def post(sight: Sight, now: datetime, text: str = NHC, tool: str = "nhc", **fields: str) -> HttpResponse:
    """Send a file that was written a minute ago, by the cluster's clock."""
    ran = (now - timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%S")
    file = SimpleUploadedFile("out.log", text.encode(), content_type="text/plain")
    return sight.client.post(PAGE, {"tool": tool, "measured_at": ran, "file": file, **fields})


def shown_fields(page: str) -> dict[str, str]:
    """What the button *Keep it* sends."""
    names = ("tool", "measured_at", "packed")
    return {name: re.findall(f'type="hidden" name="{name}" value="([^"]*)"', page)[-1] for name in names}


def test_what_an_output_says_is_shown_and_nothing_of_it_stays(sight: Sight, now: datetime) -> None:
    before = NodeItemState.objects.filter(raw="fail").count()
    page = post(sight, now).content.decode()

    assert "2. What it says" in page
    assert "gpu-ecc" in page
    assert "GPU 6" in page
    assert "check_fs_mount" in page
    assert "No item of the checklist asks for it." in page
    assert (NodeItemState.objects.filter(raw="fail").count(), ToolEvidence.objects.count()) == (before, 0)


def test_keeping_it_judges_it_and_leaves_its_digest_and_name_in_the_ledger(
    sight: Sight, hana: User, now: datetime
) -> None:
    page = post(sight, now).content.decode()
    response = sight.client.post(PAGE, {**shown_fields(page), "keep": "1"})
    kept, entry = ToolEvidence.objects.get(), LedgerEntry.objects.get(what="evidence_uploaded")

    assert (response.status_code, response.headers["Location"]) == (302, NODE)
    assert NodeItemState.objects.get(node__hostname="gpu-001", item="gpu-ecc", subject="gpu6").raw == "fail"
    assert (kept.by, entry.who, entry.target, entry.data["digest"]) == (hana, hana, "gpu-001", kept.digest)
    assert entry.data["verdicts"]["gpu-ecc"] == "fail"


def test_what_was_kept_is_listed_and_handed_back_as_it_was_sent(sight: Sight, now: datetime) -> None:
    page = post(sight, now).content.decode()
    sight.client.post(PAGE, {**shown_fields(page), "keep": "1"})
    listed = sight.text(PAGE)
    address = re.findall(r'href="([^"]+/output)"', listed)[0]
    response = sight.client.get(address)

    assert "Hana" in listed
    assert response.content.decode() == NHC
    assert response.headers["Content-Disposition"].startswith("attachment;")
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_the_same_output_again_says_so(sight: Sight, now: datetime) -> None:
    fields = {**shown_fields(post(sight, now).content.decode()), "keep": "1"}
    sight.client.post(PAGE, fields)
    again = sight.client.post(PAGE, fields, follow=True).content.decode()

    assert "This very output is kept already" in again
    assert ToolEvidence.objects.count() == 1


@pytest.mark.parametrize(
    ("text", "tool", "says"),
    [
        (samples.GPUD, "nhc", "This is not what that tool prints; nothing was kept."),
        (samples.DCGMI[:-100], "dcgmi-diag", "The output was cut or damaged; nothing was kept."),
        (samples.NCCL, "nccl-tests", "The output is about another host; nothing was kept."),
        ("", "nhc", "Choose the file that the tool wrote."),
    ],
)
def test_a_refusal_stands_on_the_form_and_nothing_is_kept(
    sight: Sight, now: datetime, text: str, tool: str, says: str
) -> None:
    response = post(sight, now, text, tool)

    assert response.status_code == 422
    assert says in response.content.decode()
    assert ToolEvidence.objects.count() == 0


def test_a_time_that_nobody_tells_is_asked_for(sight: Sight, now: datetime) -> None:
    response = post(sight, now, measured_at="")

    assert response.status_code == 422
    assert "Say when the tool ran" in response.content.decode()


@pytest.mark.parametrize("packed", ["!", "AAAA", "eJw=", "x" * 100])
def test_what_this_page_never_wrote_is_no_output(sight: Sight, packed: str) -> None:
    response = sight.client.post(PAGE, {"tool": "nhc", "packed": packed, "keep": "1"})

    assert response.status_code == 422
    assert ToolEvidence.objects.count() == 0


def test_markup_in_an_output_is_text(sight: Sight, now: datetime) -> None:
    text = NHC.replace("/scratch is not mounted", "<script>alert(1)</script>")
    page = post(sight, now, text).content.decode()

    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_viewer_brings_nothing_and_sees_no_way_to(fleet: Fleet) -> None:
    vera = seen_by(person("vera", fleet.cluster, Role.VIEWER))

    assert vera.client.get(PAGE).status_code == 403
    assert vera.client.post(PAGE, {"tool": "nhc"}).status_code == 403
    assert PAGE not in vera.text(NODE)


def test_the_nodes_page_leads_there(sight: Sight) -> None:
    assert PAGE in sight.text(NODE)


def test_nothing_is_kept_about_a_node_that_was_taken_out(sight: Sight, fleet: Fleet, now: datetime) -> None:
    retire_node(node=fleet.node("gpu-001"), by=None, reason="sold", now=now)
    response = post(sight, now)

    assert response.status_code == 403
    assert "This node was taken out" in response.content.decode()


def test_the_page_says_why_nobody_judges_a_line_in_the_words_of_the_api() -> None:
    assert {code: str(said) for code, said in UNJUDGED.items()} == dict(WHYS)
    assert TOOLS.keys() == READ.keys()


def test_the_page_in_chinese(sight: Sight, now: datetime) -> None:
    sight.client.post("/accounts/language/", {"language": "zh-hans", "next": "/"})
    page = post(sight, now).content.decode()

    assert "来自其他工具的证据" in page
    assert "没有检查项要求它" in page
    assert "No item of the checklist" not in page
