"""The ledger of an Iggy server: polls for groups, by other strategies and with commit."""

from dataclasses import replace as replace_fields

import iggy_recording
import pytest
from iggy_recording import SENT, START_US, TOPIC, Recording, stored
from msgspec.structs import replace

from wireproof_kit.iggy.wire.payloads import Polling
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.kinds import FIRST, GROUP_KIND, LAST, NEXT, TIMESTAMP

GROUP = Polling(kind=GROUP_KIND, consumer=7, strategy=NEXT, auto_commit=1)
THREE = [SentMessage(n, (), b"message %d" % n) for n in (1, 2, 3)]
TWO = THREE[:2]


def broken_ways(recording: Recording) -> dict[str, str]:
    """Return the way of each clause that is broken."""
    outcomes = recording.conclude().outcomes
    return {each.clause: each.way for each in outcomes if each.broken}


@pytest.mark.parametrize(
    ("polling", "way"),
    [
        (Polling(), "plain"),
        (GROUP, "auto-commit+by-next+group"),
        (Polling(strategy=TIMESTAMP, value=START_US), "by-timestamp"),
        (Polling(strategy=FIRST, auto_commit=1), "auto-commit+by-first"),
        (Polling(strategy=LAST), "by-last"),
    ],
)
def test_the_checksum_is_judged_however_a_message_is_polled(polling: Polling, way: str) -> None:
    recording = Recording()
    recording.send(SENT)
    recording.poll(replace(stored(SENT), checksum=1), polling=polling)

    assert broken_ways(recording) == {"iggy.checksum.polynomial": way}


def test_what_a_group_polls_is_not_judged_once_a_message_of_the_topic_may_be_changed() -> None:
    recording = Recording()
    recording.send(SENT)
    recording.control("state=10")
    recording.poll(replace(stored(SENT), state=10, checksum=1), polling=GROUP)

    assert recording.broken() == {}


def test_a_group_polls_the_only_partition_of_a_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(partitions: int) -> dict[str, str]:
        monkeypatch.setattr(iggy_recording, "TOPIC", replace_fields(TOPIC, partitions=partitions))
        recording = Recording()
        recording.send(*TWO)
        backwards = [stored(each, 1 - n) for n, each in enumerate(TWO)]
        recording.poll(*backwards, polling=GROUP)
        return broken_ways(recording)

    assert broken(3) == {}
    assert broken(1).keys() == {"iggy.message.offset-sequence"}


def test_a_group_may_poll_messages_again_that_it_committed() -> None:
    recording = Recording()
    recording.send(*TWO)
    for _ in range(2):
        recording.poll(*(stored(each, n) for n, each in enumerate(TWO)), polling=GROUP)

    assert recording.broken() == {}


def test_two_messages_of_one_poll_have_their_own_offsets_also_after_an_earlier_poll() -> None:
    recording = Recording()
    recording.send(*TWO)
    recording.poll(stored(TWO[0]))
    recording.poll(*(stored(each, 0) for each in TWO), polling=Polling(strategy=FIRST))

    assert recording.broken()["iggy.message.offset"] == "offset:leads-astray"


@pytest.mark.parametrize("shift", [1, -1])
def test_a_message_has_one_offset_however_it_is_polled(shift: int) -> None:
    recording = Recording()
    recording.send(*THREE)
    usual = [stored(each, n) for n, each in enumerate(THREE)]
    moved = [replace(each, offset=each.offset + shift) for each in usual[1:]]
    recording.poll(*moved, polling=Polling(strategy=FIRST))
    recording.poll(*usual)

    assert recording.broken()["iggy.message.offset"] == "offset:leads-astray"


def test_a_message_that_is_stored_twice_may_have_two_offsets() -> None:
    recording = Recording()
    recording.send(*THREE)
    usual = [stored(each, n) for n, each in enumerate((*THREE[:1], *THREE))]
    recording.poll(usual[1], polling=Polling(strategy=FIRST))
    recording.poll(*usual)

    assert "iggy.message.offset" not in recording.broken()
