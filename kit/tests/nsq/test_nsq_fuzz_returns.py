"""Rounds of redelivery: what came and was returned must come again, each message in its way."""

from typing import cast

import pytest

from wireproof_kit.fuzz.send.connection import CaseConnection
from wireproof_kit.nsq.fuzz.returns import AGAIN, COUNT, RedeliveryRound, make_bodies

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
        assert deliver(found, BODIES, 0.2) == {b"REQ "}
    assert found.reply(message(BODIES[0]), 0.2).endswith(b"\n")
    assert not found.is_over(0.3)
    assert deliver(found, BODIES, 0.4) == {b"FIN "}
    assert found.is_over(0.5)
    assert found.came_again
    assert found.trouble(PATIENCE_S + 1) is None


def test_some_are_returned_immediately_and_some_for_a_while() -> None:
    found = RedeliveryRound(NOBODY, BODIES, PATIENCE_S, GRACE_S, False, 0.0)
    replies = [found.reply(message(body), 0.0) for body in BODIES]
    assert [reply[20:] for reply in replies] == [b" 0\n", b" 100\n"] * (COUNT // 2)


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
    late = BODIES[:3:2]
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
