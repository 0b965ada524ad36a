"""A bystander returns some messages: each must come again, unchanged, and in order."""

import pytest

from wireproof_kit.nsq.fuzz.redelivery import EVERY, Redelivery

RETURNED = EVERY + 1


def message(number: int, *, attempts: int = 1, body: bytes = b"body") -> bytes:
    content = bytes(8) + attempts.to_bytes(2) + number.to_bytes(8) + bytes(8) + body
    return (4 + len(content)).to_bytes(4) + (2).to_bytes(4) + content


def returning(*, ordered: bool = False) -> Redelivery:
    """Return a subscriber that has just returned message number `RETURNED`."""
    subscriber = Redelivery(10.0, ordered=ordered)
    assert subscriber.reply(message(1), 0.0).startswith(b"REQ ")
    assert subscriber.is_waiting
    for number in range(1, RETURNED):
        assert subscriber.reply(message(number, attempts=2), 0.0).startswith(b"FIN ")
        assert subscriber.reply(message(number, attempts=3), 0.0).startswith(b"FIN ")
    assert not subscriber.is_waiting
    assert subscriber.reply(message(RETURNED), 0.0) == (
        b"REQ " + RETURNED.to_bytes(8) + bytes(8) + b" 0\n"
    )
    return subscriber


@pytest.mark.parametrize("ordered", [True, False])
def test_a_returned_message_that_comes_again_is_finished(ordered: bool) -> None:
    subscriber = returning(ordered=ordered)

    assert subscriber.reply(message(RETURNED, attempts=2), 5.0).startswith(b"FIN ")
    assert subscriber.trouble(99.0) is None


@pytest.mark.parametrize(
    ("again", "words"),
    [
        (message(RETURNED, attempts=2, body=b"other"), "other content"),
        (message(RETURNED, attempts=0), "fewer attempts"),
    ],
)
def test_a_returned_message_comes_again_as_it_was(again: bytes, words: str) -> None:
    subscriber = returning()
    subscriber.reply(again, 1.0)

    trouble = subscriber.trouble(1.0)
    assert trouble is not None
    assert words in trouble.words


def test_a_returned_message_must_come_again_in_time() -> None:
    subscriber = returning()

    assert subscriber.trouble(9.0) is None
    trouble = subscriber.trouble(11.0)
    assert trouble is not None
    assert "did not come again" in trouble.words


def test_only_on_an_ordered_channel_no_later_message_comes_before() -> None:
    for ordered in (True, False):
        subscriber = returning(ordered=ordered)
        subscriber.reply(message(1, attempts=2), 1.0)  # an earlier one may come twice
        assert subscriber.trouble(1.0) is None
        subscriber.reply(message(RETURNED + 1), 1.0)
        assert (subscriber.trouble(1.0) is not None) == ordered
