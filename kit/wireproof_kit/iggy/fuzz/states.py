"""The connection states in which fuzz cases begin, and the requests that lead to them."""

from collections.abc import Mapping

from wireproof_kit.fuzz.case import Frame, Step
from wireproof_kit.iggy.fuzz.names import Names
from wireproof_spec.decoding import encode
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.consumer_groups import GROUP_REQUEST, GroupRequest
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.frame import request

FRESH = "fresh"
GREETED = "greeted"
JOINED = "joined"
HTTP = "http"

ALL = (FRESH, GREETED, JOINED)


def entry(there: Names) -> Mapping[str, tuple[Step, ...]]:
    """Return the requests that lead to each state; each must be answered with status 0."""
    group = GroupRequest(numeric(there.stream_id), numeric(there.topic_id), there.group_id)
    joining = request(commands.JOIN_CONSUMER_GROUP, encode(GROUP_REQUEST, group))
    return {
        FRESH: (),
        GREETED: (Step(request(commands.PING), label="ping"),),
        JOINED: (Step(joining, label="join_consumer_group"),),
        HTTP: (),
    }


MOVES: Mapping[str, Mapping[str, str]] = {
    FRESH: {"join_consumer_group": JOINED},
    GREETED: {"join_consumer_group": JOINED},
    JOINED: {"leave_consumer_group": GREETED},
}
"""For each state, the requests that lead to another one.

Any request leads from fresh to greeted.
"""


def moves(state: str, frame: Frame) -> str | None:
    """Return the connection's state after a valid request; a failed request closes nothing."""
    staying = GREETED if state == FRESH else state
    return MOVES[state].get(frame.kind, staying)
