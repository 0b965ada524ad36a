"""Polls of more messages and bytes than usual: nothing is skipped."""

from dataclasses import dataclass
from itertools import pairwise

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.observe.observations import AS_SENT, MISSING, observe_messages
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.payloads import Polling
from wireproof_kit.observation import Observation, observed
from wireproof_suites.iggy.steps.message_contents import make_payload, message
from wireproof_suites.iggy.steps.poll_results import AS_ASKED


@dataclass(frozen=True, slots=True)
class Amount:
    """How many messages are polled, and how large each of them is."""

    messages: int
    size: int
    in_a_request: int = 50


AMOUNTS = {
    "101-messages": Amount(101, 16),
    "250-messages": Amount(250, 16),
    "beyond-1-mib": Amount(20, 65_536, in_a_request=5),
}


@case("iggy/poll/many", clause="iggy.poll.as-many")
@pytest.mark.parametrize("amount", AMOUNTS.values(), ids=AMOUNTS)
def test_many(server: Server, topic: Topic, amount: Amount) -> Observation:
    """A large poll, with further ones if the server limits it, skips no message."""
    body = make_payload(amount.size - 4)
    sent = [message(b"%4d" % n + body, id=n) for n in range(1, amount.messages + 1)]
    for first in range(0, len(sent), amount.in_a_request):
        server.send_accepted(topic, *sent[first : first + amount.in_a_request])
    polled = server.poll_until(topic, len(sent), Polling(count=len(sent)))
    seen = observe_messages(polled, sent, ordered=False)
    offsets = [each.offset for each in polled.messages]
    if seen.value == AS_SENT:
        is_rising = all(one < other for one, other in pairwise(offsets))
        return observed(AS_ASKED if is_rising else "offsets:other", note=str(offsets[:10]))

    return observed("delivered:fewer", note=seen.note) if seen.value == MISSING else seen
