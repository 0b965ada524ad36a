"""Rounds of redelivery: what came and was returned must come again, each message in its way."""

from typing import cast

import pytest

from wireproof_kit.fuzz.driver import Answer
from wireproof_kit.fuzz.send.connection import CaseConnection
from wireproof_kit.nsq.fuzz.answers import MESSAGE
from wireproof_kit.nsq.fuzz.exercises.returns import (
    AGAIN,
    COUNT,
    LEAST_QUIET_S,
    OrderedRound,
    RedeliveryRound,
    make_bodies,
    publish_all,
    quiet_s,
)
from wireproof_kit.nsq.topics.topic import Topic

PATIENCE_S, GRACE_S = 10.0, 1.0
BODIES = make_bodies(b"r")
NOBODY = cast(CaseConnection, None)


def message(body: bytes) -> bytes:
    content = bytes(8) + bytes(2) + (7).to_bytes(8) + bytes(8) + body
    return (4 + len(content)).to_bytes(4) + (2).to_bytes(4) + content


def begun(*, times_out: bool = False) -> RedeliveryRound:
    """Return a round whose messages have all come once, at time 0."""
    found = RedeliveryRound(NOBODY, BODIES, PATIENCE_S, GRACE_S, times_out, 0.0)
    deliver(found, BODIES, 0.0)
    return found


def deliver(found: RedeliveryRound, bodies: list[bytes], now: float) -> set[bytes]:
    """Deliver messages; return the words of the replies."""
    return {found.reply(message(body), now)[:4] for body in bodies}


def test_all_that_is_returned_and_comes_again_is_finished() -> None:
    found = RedeliveryRound(NOBODY, BODIES, PATIENCE_S, GRACE_S, False, 0.0)
    for _ in range(AGAIN):
        assert deliver(found, BODIES[1:], 0.2) == {b"REQ "}
    assert not found.is_over(0.3)
    assert deliver(found, BODIES[1:], 0.4) == {b"FIN "}
    assert found.is_over(0.5)
    assert found.came_again
    assert found.trouble(PATIENCE_S + 1) is None


def test_some_are_returned_immediately_and_some_for_a_while() -> None:
    found = RedeliveryRound(NOBODY, BODIES, PATIENCE_S, GRACE_S, False, 0.0)
    replies = [found.reply(message(body), 0.0) for body in BODIES]
    assert replies[0] == b""
    assert [reply[20:] for reply in replies[1:]] == [b" 0\n", b" 100\n"] * (COUNT // 2)


def test_what_is_not_answered_comes_once_more() -> None:
    found = RedeliveryRound(NOBODY, BODIES, PATIENCE_S, GRACE_S, True, 0.0)
    assert deliver(found, BODIES, 0.0) == {b""}
    assert deliver(found, BODIES, 1.0) == {b"FIN "}
    assert found.is_over(1.1)


@pytest.mark.parametrize("times_out", [False, True])
def test_what_does_not_follow_the_last_one_soon_is_lost(times_out: bool) -> None:
    found = begun(times_out=times_out)
    kept = [body for body in BODIES if not body.endswith(b"7")]
    for at in range(1 if times_out else AGAIN):
        deliver(found, kept, 0.1 * (at + 1))

    assert found.trouble(0.1 + GRACE_S) is None
    trouble = found.trouble(0.3 + 10 * 0.2 + GRACE_S)
    assert trouble is not None
    assert trouble.violated == "redelivery"
    assert f"105 of {COUNT // (1 if times_out else 2)} messages" in trouble.words


def test_what_takes_long_once_may_take_long_again() -> None:
    found = begun()
    late = BODIES[1:4:2]
    deliver(found, late[:1], 2.0)
    for _ in range(AGAIN):
        deliver(found, [body for body in BODIES if body not in late], 2.0)

    assert found.trouble(2.0 + GRACE_S + 5.0) is None


def test_where_nothing_comes_again_patience_decides_but_not_about_time_outs() -> None:
    returned, unanswered = begun(), begun(times_out=True)
    assert returned.trouble(PATIENCE_S - 1) is None
    assert returned.trouble(PATIENCE_S + 1) is not None
    assert unanswered.trouble(PATIENCE_S + 1) is None
    assert unanswered.is_over(PATIENCE_S + 1)
    assert not unanswered.came_again


def test_what_stays_away_for_longer_than_time_outs_need_is_lost() -> None:
    found = RedeliveryRound(NOBODY, BODIES, 10 * LEAST_QUIET_S, GRACE_S, False, 0.0)
    timed = begun(times_out=True)
    found.timed = timed
    deliver(found, BODIES, 0.0)
    assert found.trouble(2 * LEAST_QUIET_S) is None
    deliver(timed, BODIES, 1.0)
    assert found.trouble(LEAST_QUIET_S - 1) is None
    assert found.trouble(LEAST_QUIET_S + 1) is not None

    deliver(found, BODIES, LEAST_QUIET_S)
    assert found.trouble(2 * LEAST_QUIET_S - 1) is None
    assert quiet_s(LEAST_QUIET_S) > 2 * LEAST_QUIET_S


class Subscriber:
    """A connection to which messages come, and what it sent."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.sent: list[bytes] = []
        self.ended = ""

    def send(self, *pieces: bytes) -> None:
        self.sent += pieces


def test_on_an_ordered_channel_each_message_follows_the_one_before() -> None:
    subscriber = Subscriber()
    found = OrderedRound(cast(CaseConnection, subscriber), BODIES, PATIENCE_S, since=0.0)
    subscriber.answers = [Answer(MESSAGE, message(BODIES[0]))]
    assert found.attend(5.0) is None
    assert [each[:4] for each in subscriber.sent] == [b"FIN "]
    assert found.attend(5.0 + PATIENCE_S) is None
    trouble = found.attend(6.0 + PATIENCE_S)
    assert trouble is not None
    assert f"1 of {COUNT} messages" in trouble.words

    subscriber.answers = [Answer(MESSAGE, message(body)) for body in BODIES]
    assert found.attend(99.0) is None
    assert found.is_over(99.0)


def test_a_command_is_divided_behind_a_line_feed_in_the_id() -> None:
    subscriber = Subscriber()
    found = RedeliveryRound(cast(CaseConnection, subscriber), BODIES, PATIENCE_S, GRACE_S)
    identity = (7).to_bytes(8) + b"\n" * 8
    frames = [message(body)[:18] + identity + body for body in BODIES[1:3]]
    subscriber.answers = [Answer(MESSAGE, each) for each in frames]
    found.attend(0.0)

    assert b"".join(subscriber.sent) == b"REQ %b 0\nREQ %b 100\n" % (identity, identity)
    assert subscriber.sent[0] == b"REQ " + identity[:9]

    subscriber.sent, subscriber.answers = [], [Answer(MESSAGE, message(BODIES[3]))]
    found.attend(0.0)
    assert subscriber.sent == [b"", b"REQ " + (7).to_bytes(8) + bytes(8) + b" 0\n"]


def test_traced_messages_have_line_feeds_in_their_ids() -> None:
    topic = Topic("t", 0, False, False, False, ("127.0.0.1", 1))
    assert publish_all([b"a"], topic, traced=False) == b"PUB t 0\n\0\0\0\x01a"
    assert publish_all([b"a"], topic, traced=True) == (
        b"PUB_TRACE t 0\n\0\0\0\x09" + b"\n" * 8 + b"a"
    )
