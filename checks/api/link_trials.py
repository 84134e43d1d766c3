"""``POST /api/v1/nodes/{hostname}/link-trials`` and what became of one: a taken node asks with whom it measures."""

from typing import Annotated, Final

import msgspec
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from msgspec import Meta, Struct
from rest_framework.request import Request
from rest_framework.status import HTTP_200_OK, HTTP_204_NO_CONTENT
from rest_framework.views import APIView

from checks.api.authentication import BearerToken, token_of
from checks.api.decode import decode_json, read_body
from checks.api.openapi import PROBLEMS, describe
from checks.api.permissions import HasScope
from checks.api.throttles import AgentThrottle
from checks.domain.link_facts import Card, Told
from checks.services.link_trials import Offer, Turn, next_turn, tell_outcome

#: Cards of one node: sixteen are twice what any profile has.
Cards = Annotated[int, Meta(ge=1, le=16)]
GigabitsASecond = Annotated[float, Meta(ge=0, le=100_000)]


class ReadyV1(Struct, forbid_unknown_fields=True, frozen=True):
    """Where partners find this node (a plain host name or address), and what it can measure; *flow_s* in seconds."""

    address: Annotated[str, Meta(pattern=r"^[A-Za-z0-9:][A-Za-z0-9._:-]{0,252}\Z")]
    cards: Cards
    gpu_memory: bool
    flow_s: Annotated[int, Meta(ge=3, le=60)]


class TurnV1(Struct, frozen=True, omit_defaults=True):
    """``wait`` so many seconds and ask again, ``measure`` within them, or ``done``: nothing is left to measure.

    To measure: the trial's number, this node's role (``server`` listens first), its partner's name and address, the
    first of 128 TCP ports, the cards a side, and how long one flow lasts.
    """

    do: str
    seconds: int
    why: str = ""
    trial: int | None = None
    role: str = ""
    partner: str = ""
    address: str = ""
    port: int | None = None
    cards: int | None = None
    gpu_memory: bool | None = None
    flow_s: int | None = None


class CardV1(Struct, forbid_unknown_fields=True, frozen=True):
    """One card: Gb/s of its port and of its lanes, bytes of MTU, and Gb/s that it wrote from either memory."""

    number: Annotated[int, Meta(ge=0, le=15)]
    rate: GigabitsASecond
    pcie: GigabitsASecond
    mtu: Annotated[int, Meta(ge=256, le=65536)]
    infiniband: bool
    host: GigabitsASecond | None = None
    gpu: GigabitsASecond | None = None


class OutcomeV1(Struct, forbid_unknown_fields=True, frozen=True):
    """What one end found: its cards, all of them at once (Gb/s), bytes a message, seconds of the shortest flow."""

    cards: Annotated[list[CardV1], Meta(max_length=16)]
    together: GigabitsASecond | None = None
    message_size: Annotated[int, Meta(ge=0, le=2**40)] = 0
    seconds: Annotated[float, Meta(ge=0, le=86_400)] = 0.0
    problem: Annotated[str, Meta(max_length=250)] = ""


READY: Final = describe(ReadyV1)
TURN: Final = describe(TurnV1)
OUTCOME: Final = describe(OutcomeV1)


class LinkTrialsView(APIView):
    """The turns of the node that the token belongs to."""

    authentication_classes = [BearerToken]
    permission_classes = [HasScope]
    required_scope = "agent:write"
    throttle_classes = [AgentThrottle]

    @extend_schema(
        operation_id="next_link_trial",
        request={"application/json": READY},
        responses={(200, "application/json"): TURN, **PROBLEMS},
    )
    def post(self, request: Request, hostname: str) -> HttpResponse:
        """Say that the node is ready to measure a link; the answer is what it does next."""
        asked = decode_json(read_body(request), ReadyV1)
        offer = Offer(asked.address, asked.cards, asked.gpu_memory, asked.flow_s)
        turn = next_turn(token=token_of(request), hostname=hostname, offer=offer, now=timezone.now())
        said = msgspec.json.encode(_as_v1(turn))
        return HttpResponse(said, status=HTTP_200_OK, content_type="application/json")


class LinkTrialView(APIView):
    """What the node found in one trial."""

    authentication_classes = [BearerToken]
    permission_classes = [HasScope]
    required_scope = "agent:write"
    throttle_classes = [AgentThrottle]

    @extend_schema(
        operation_id="end_link_trial",
        request={"application/json": OUTCOME},
        responses={204: None, **PROBLEMS},
    )
    def post(self, request: Request, hostname: str, trial: int) -> HttpResponse:
        """Tell what was measured; the same twice is told once."""
        told = _as_told(decode_json(read_body(request), OutcomeV1))
        tell_outcome(token=token_of(request), hostname=hostname, trial=trial, told=told, now=timezone.now())
        return HttpResponse(status=HTTP_204_NO_CONTENT)


def _as_v1(turn: Turn) -> TurnV1:
    if turn.trial is None:
        return TurnV1(turn.do, turn.seconds, turn.why)
    trial = turn.trial
    return TurnV1(
        turn.do, turn.seconds, turn.why, trial=trial.pk, role="server" if turn.serves else "client",
        partner=turn.partner, address=turn.address, port=trial.port, cards=trial.cards, gpu_memory=trial.gpu_memory,
        flow_s=trial.flow_s,
    )  # fmt: skip


def _as_told(said: OutcomeV1) -> Told:
    cards = tuple(Card(**msgspec.structs.asdict(card)) for card in said.cards)
    return Told(cards, said.together, said.message_size, said.seconds, said.problem)
