"""The limits of what a server may send never speak against one that answers every request."""

import pytest

from wireproof_kit.iggy.apache.connection import Frames
from wireproof_kit.iggy.wire.connection import Answers
from wireproof_kit.wire.transcript import Transcript

CONTENT = 70_000


@pytest.mark.parametrize("polls", [1, 10, 60, 200])
def test_a_case_may_poll_everything_that_it_sent_at_each_request(polls: int) -> None:
    transcript = Transcript()
    transcript.add("send", "A", data=bytes(CONTENT))
    for _ in range(polls):
        transcript.add("send", "A", data=bytes(43))

    for limit in (
        Answers(transcript, counts_status=False).bytes_limit,
        Frames(transcript).bytes_limit,
    ):
        assert limit > polls * 2 * CONTENT
        assert limit < 100 << 20
