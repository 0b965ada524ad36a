"""A round of redelivery: what came and was returned must come again, each message in its way."""

import pytest

from wireproof_kit.nsq.fuzz.returns import AGAIN, COUNT, RedeliveryRound

PATIENCE_S, GRACE_S = 10.0, 1.0


def message(number: int, body: bytes) -> bytes:
    content = bytes(8) + bytes(2) + number.to_bytes(8) + bytes(8) + body
    return (4 + len(content)).to_bytes(4) + (2).to_bytes(4) + content


def begun(*, times_out: bool = True) -> RedeliveryRound:
    """Return a round whose messages have all come once, at time 0."""
    found = RedeliveryRound(b"r", PATIENCE_S, GRACE_S, times_out, 0.0)
    for number, body in enumerate(found.bodies):
        found.reply(message(number, body), 0.0)
    return found


def deliver(found: RedeliveryRound, bodies: list[bytes], now: float) -> list[bytes]:
    """Deliver messages again; return the replies."""
    return [found.reply(message(7, body), now) for body in bodies]


def test_all_that_is_returned_and_comes_again_is_finished() -> None:
    found = begun()
    assert len(found.bodies) == 3 * COUNT
    for _ in range(AGAIN - 1):
        answered = [body for body in found.bodies if b":t" not in body]
        assert {reply[:4] for reply in deliver(found, answered, 0.2)} == {b"REQ "}
    assert not found.is_over(0.3)
    assert {reply[:4] for reply in deliver(found, found.bodies, 0.4)} == {b"FIN "}
    assert found.is_over(0.5)
    assert found.has_timed_out
    assert found.trouble(PATIENCE_S + 1) is None


@pytest.mark.parametrize("way", [b":n", b":l", b":t"])
def test_what_does_not_follow_the_last_one_soon_is_lost(way: bytes) -> None:
    found = begun()
    for at in range(AGAIN):
        kept = [body for body in found.bodies if way not in body or not body.endswith(b"7")]
        deliver(found, kept, 0.1 * (at + 1))

    assert found.trouble(0.2 + GRACE_S) is None
    trouble = found.trouble(0.3 + 10 * 0.2 + GRACE_S)
    assert trouble is not None
    assert trouble.violated == "redelivery"
    assert f"35 of {COUNT} messages" in trouble.words


def test_what_takes_long_once_may_take_long_again() -> None:
    found = begun()
    late = [found.bodies[0], found.bodies[3]]
    deliver(found, late[:1], 2.0)
    for _ in range(AGAIN):
        deliver(found, [body for body in found.bodies if body not in late], 2.0)

    assert found.trouble(2.0 + GRACE_S + 5.0) is None


def test_where_nothing_comes_again_patience_decides_but_not_about_time_outs() -> None:
    nothing = begun()
    assert nothing.trouble(PATIENCE_S - 1) is None
    assert nothing.trouble(PATIENCE_S + 1) is not None

    found = begun()
    for _ in range(AGAIN):
        deliver(found, [body for body in found.bodies if b":t" not in body], 0.1)
    assert found.trouble(PATIENCE_S + 1) is None
    assert found.is_over(PATIENCE_S + 1)
    assert not found.has_timed_out


def test_without_time_outs_each_message_is_answered() -> None:
    found = begun(times_out=False)
    assert len(found.bodies) == 2 * COUNT
    assert all(b":t" not in body for body in found.bodies)
