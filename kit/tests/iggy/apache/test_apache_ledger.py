"""The ledger of generation apache: what arrives is judged, and what was never sent is not."""

from collections.abc import Callable

import pytest
from apache_talk import CLIENT, TIME_US, Talk, stamped
from msgspec.structs import replace

from wireproof_kit.iggy.apache.batches import NAME, batch, message, numbered
from wireproof_kit.iggy.apache.requests import UNSET, Polling
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.batch import Batch, make_batch, seal_batch, seal_frame
from wireproof_spec.iggy.apache.frames import Eviction, encode_answer
from wireproof_spec.iggy.apache.header import EvictionHeader
from wireproof_spec.iggy.kinds import CONSUMER_KIND, GROUP_KIND

SENT = batch(*numbered(3, NAME), origin_us=TIME_US)
Change = Callable[[Batch], Batch]


def in_header(**fields: int) -> Change:
    return lambda each: seal_batch(Batch(replace(each.header, **fields), each.frames))


def in_frame(seal: bool = True, **fields: object) -> Change:
    def change(each: Batch) -> Batch:
        spoilt = replace(each.frames[1], **fields)
        frames = (each.frames[0], seal_frame(spoilt) if seal else spoilt, each.frames[2])
        return make_batch(each.header, frames)

    return change


CHANGES: dict[str, tuple[Change, dict[str, str]]] = {
    "nothing": (lambda each: each, {}),
    "partition": (in_header(partition_id=1), {"message.partition": "partition:other"}),
    "time": (in_header(base_timestamp=5), {"message.append-time": "time:other"}),
    "origin": (in_header(origin_timestamp=TIME_US + 5), {"message.origin": "origin:other"}),
    "count": (in_header(message_count=9), {"message.counts": "counts:count"}),
    "checksum": (
        lambda each: Batch(replace(each.header, batch_checksum=1), each.frames),
        {"message.batch-checksum": "checksum:wrong"},
    ),
    "payload": (in_frame(payload=b"other"), {"message.payload": "delivered:payload"}),
    "payload-bit": (
        in_frame(seal=False, payload=b"messagf 1"),
        {"message.payload": "delivered:payload", "message.checksum": "checksum:wrong"},
    ),
    "headers": (in_frame(user_headers=b""), {"message.headers": "delivered:headers"}),
    "id": (in_frame(id=5), {"message.id": "delivered:id"}),
    "delta": (in_frame(timestamp_delta=5), {"message.origin": "origin:other"}),
    "offset": (
        in_frame(offset_delta=7),
        {"message.offset": "offsets:other", "send.confirm": "confirmed:other"},
    ),
    "reserved": (in_frame(reserved=1), {"message.reserved": "reserved:not"}),
}


@pytest.mark.parametrize(("change", "broken"), CHANGES.values(), ids=CHANGES)
def test_each_difference_breaks_its_clause(change: Change, broken: dict[str, str]) -> None:
    talk = Talk()
    talk.send(SENT)
    talk.poll(change(stamped(SENT)))
    assert talk.broken() == broken


@pytest.mark.parametrize(
    ("kind", "place", "broken"),
    [
        (CONSUMER_KIND, 0, {"poll.head": "head:other"}),
        (GROUP_KIND, 0, {}),
        (GROUP_KIND, UNSET, {}),
    ],
)
def test_a_member_without_partitions_may_be_told_any(
    kind: int, place: int, broken: dict[str, str]
) -> None:
    talk = Talk()
    talk.poll(partition=9, polling=Polling(kind=kind, partition=place))
    assert talk.broken() == broken


def test_a_poll_that_names_no_partition_is_of_the_one_that_is_answered() -> None:
    talk = Talk()
    talk.send(SENT)
    polling = Polling(kind=GROUP_KIND, partition=UNSET)
    talk.poll(stamped(SENT), polling=polling)
    talk.poll(in_header(partition_id=1)(stamped(SENT)), partition=1, polling=polling)
    assert talk.broken() == {"send.partition": "partition:other"}


def test_a_message_that_is_stored_twice_leaves_a_gap() -> None:
    talk = Talk()
    talk.send(SENT)
    again = in_header(base_offset=3)(stamped(SENT))
    talk.poll(stamped(SENT), again)
    assert talk.broken() == {"send.order": "offsets:other"}


def test_a_server_may_give_an_id_to_a_message_without_one() -> None:
    talk = Talk()
    talk.send(in_frame(id=0)(SENT))
    talk.poll(in_frame(id=9)(stamped(SENT)))
    assert talk.broken() == {}


def test_a_length_that_the_bytes_do_not_have_is_no_layout() -> None:
    talk = Talk()
    talk.send(SENT)
    talk.poll(in_header(batch_length=9999)(stamped(SENT)))
    assert talk.broken() == {"message.layout": "layout:undecodable"}


@pytest.mark.parametrize(
    ("count", "partition", "broken"),
    [
        (5, 0, {"poll.count": "count:wrong"}),
        (None, 4, {"poll.head": "head:other"}),
    ],
)
def test_a_wrong_head_is_seen(count: int | None, partition: int, broken: dict[str, str]) -> None:
    talk = Talk()
    talk.poll(stamped(SENT), count=count, partition=partition)
    assert talk.broken() == broken


def test_a_second_poll_has_to_return_the_same_frames() -> None:
    talk = Talk()
    talk.poll(stamped(SENT))
    talk.poll(in_frame(payload=b"another")(stamped(SENT)))
    assert talk.broken() == {"message.same": "different"}


def test_a_batch_that_must_not_be_stored_is_seen_when_it_is_polled() -> None:
    talk = Talk()
    spoilt = in_frame(seal=False, checksum=1)(SENT)
    talk.send(spoilt)
    talk.poll(stamped(spoilt))
    assert talk.broken() == {
        "send.frame-checksum": "unwanted",
        "message.checksum": "checksum:wrong",
    }


def test_what_was_not_sent_is_held_to_no_content() -> None:
    talk = Talk()
    talk.poll(stamped(batch(message(b"of another client"))))
    assert talk.broken() == {}


def test_deltas_that_a_producer_made_wrong_are_not_the_server_s() -> None:
    talk = Talk()
    odd = batch(*numbered(2), origin_us=TIME_US, deltas=(0, 0))
    talk.send(odd)
    talk.poll(stamped(odd))
    assert talk.broken() == {}


def test_a_refusal_has_no_body_and_an_eviction_a_reason() -> None:
    talk = Talk()
    asked = talk.ask(operations.NON_REPLICATED, Outgoing(b""), code=9999)
    talk.reply(asked, b"why", status=3)
    asked = talk.ask(operations.NON_REPLICATED, Outgoing(b""), code=1)
    talk.reply(asked, release=1, request_checksum=5)
    evicted = Eviction(EvictionHeader(client=CLIENT, reason=0))
    talk.transcript.add("receive", "A", data=encode_answer(evicted))
    assert talk.broken() == {
        "reply.denied-empty": "body",
        "frame.zero": "zero:not",
        "frame.echo": "echo:other-checksum",
        "evict.reason": "reason:none",
    }
