"""What was acknowledged is crossed off by what comes, in whatever way leaves the least missing."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wireproof_kit.fuzz.oracle.bystanders import Missing, describe_undelivered

ZERO, ZEROS = b"\0", b"\0\0\0"


def test_a_message_with_two_readings_leaves_the_other_to_the_one_that_has_no_choice() -> None:
    missing = Missing([ZERO, ZEROS])

    assert missing.strike([ZEROS, ZERO])
    assert missing.strike([b"\0\0\0\0\0", ZEROS])
    assert not missing


def test_what_nobody_stored_is_strange_and_what_is_stored_twice_is_due_twice() -> None:
    missing = Missing([b"a", b"a", b"b"])

    assert missing.strike([b"a"])
    assert not missing.strike([b"c"])
    assert missing.strike([b"b"])
    assert not missing.strike([b"b"])
    assert (len(missing), missing.first) == (1, b"a")


def test_of_messages_alike_one_is_asked_whether_it_can_be_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    missing = Missing([ZERO] * 100 + [b"b"])
    for _ in range(100):
        assert missing.strike([ZERO, ZEROS])
    asked: list[Sequence[bytes]] = []
    strike = Missing._strike

    def counted(self: Missing, readings: tuple[bytes, ...], tried: set[bytes]) -> bool:
        asked.append(readings)
        return strike(self, readings, tried)

    monkeypatch.setattr(Missing, "_strike", counted)

    assert not missing.strike([ZERO, ZEROS])
    assert asked == [(ZERO, ZEROS)] * 2


def test_what_is_lost_is_told_without_what_stands_before_it() -> None:
    words = describe_undelivered(Missing([b"1234lost"]), 3, strange=1, before_content=4).words

    assert words == (
        "1 of 3 acknowledged messages were not delivered; 1 others were; the first is b'lost'"
    )


@given(st.permutations([0, 1, 2, 3, 4]), st.lists(st.sampled_from("abcd"), min_size=10))
def test_nothing_is_missing_when_each_message_has_its_own_among_its_readings(
    order: list[int], words: list[str]
) -> None:
    pairs = [(words[2 * at].encode(), words[2 * at + 1].encode()) for at in range(5)]
    missing = Missing(own for own, _ in pairs)
    for at in order:
        assert missing.strike(sorted(pairs[at]))

    assert not missing


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_with_one_reading_each_it_is_a_difference(stored: list[str], came: list[str]) -> None:
    missing = Missing(each.encode() for each in stored)
    for each in came:
        missing.strike([each.encode()])

    assert len(missing) == (Counter(stored) - Counter(came)).total()
