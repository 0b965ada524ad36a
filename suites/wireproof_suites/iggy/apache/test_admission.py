"""Batches that a server must not store: checksums, reserved bytes, counts, lengths and deltas."""

import zlib
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from wireproof_kit.case import case
from wireproof_kit.iggy.apache.batches import NAME, batch, batch_bytes, message
from wireproof_kit.iggy.apache.observe import observe, observe_unread
from wireproof_kit.iggy.apache.probes import SENTINEL, ask_send
from wireproof_kit.iggy.apache.requests import Topic
from wireproof_kit.iggy.apache.server import ApacheServer, confirmations_of
from wireproof_kit.observation import Observation, observed
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.apache.batch import (
    FRAME_HEADER_SIZE,
    MESSAGE_FRAME,
    Batch,
    MessageFrame,
    seal_batch,
    seal_frame,
)
from wireproof_spec.iggy.apache.checksum import xxh3_64
from wireproof_suites.iggy.apache import steps

Spoil = Callable[[MessageFrame], MessageFrame]
SENT = tuple(message(b"unwanted %d" % number, NAME) for number in range(3))
RIGHT = batch(*SENT)
FRAMES: dict[str, Spoil] = {
    "payload": lambda each: replace(each, payload=_flip(each.payload)),
    "headers": lambda each: replace(each, user_headers=_flip(each.user_headers)),
    "id": lambda each: replace(each, id=each.id ^ 1),
    "timestamp-delta": lambda each: replace(each, timestamp_delta=each.timestamp_delta ^ 1),
    "checksum": lambda each: replace(each, checksum=each.checksum ^ 1),
    "zero": lambda each: replace(each, checksum=0),
    "crc-32": lambda each: replace(each, checksum=zlib.crc32(each.payload)),
    "without-headers": lambda each: replace(each, checksum=_of_part(each)),
}
HEADERS: dict[str, Callable[[Batch], Batch]] = {
    "checksum": lambda each: _with(each, batch_checksum=each.header.batch_checksum ^ 1),
    "zero": lambda each: _with(each, batch_checksum=0),
    "origin": lambda each: _with(each, origin_timestamp=each.header.origin_timestamp ^ 1),
    "of-the-frames": lambda each: _with(each, batch_checksum=xxh3_64(batch_bytes(each)[256:])),
    "of-other-frames": lambda each: _with(
        each, batch_checksum=batch(*SENT[:1]).header.batch_checksum
    ),
}
TILING: dict[str, Callable[[Batch], bytes]] = {
    "count-more": lambda each: batch_bytes(_sealed(each, message_count=4)),
    "count-less": lambda each: batch_bytes(_sealed(each, message_count=2)),
    "count-zero": lambda each: batch_bytes(_sealed(each, message_count=0)),
    "length-more": lambda each: batch_bytes(
        _sealed(each, batch_length=each.header.batch_length + 1)
    ),
    "length-less": lambda each: batch_bytes(
        _sealed(each, batch_length=each.header.batch_length - 1)
    ),
    "length-of-header": lambda each: _of_length(each, 256),
    "byte-behind": lambda each: batch_bytes(each) + b"\x00",
    "no-message": lambda each: batch_bytes(batch()),
}
CUTS: dict[str, Callable[[bytes], bytes]] = {
    "last-byte": lambda data: data[:-1],
    "within-frame": lambda data: data[: -FRAME_HEADER_SIZE // 2],
    "within-header": lambda data: data[:100],
    "no-frame": lambda data: data[:256],
    "no-batch": lambda data: b"",
}
TOLD: dict[str, Callable[[], bytes]] = {
    "frame-checksum": lambda: batch_bytes(_spoilt(FRAMES["payload"], 1)),
    "batch-checksum": lambda: batch_bytes(HEADERS["checksum"](RIGHT)),
    "reserved": lambda: batch_bytes(_reserved(0)),
    "count": lambda: TILING["count-more"](RIGHT),
    "cut": lambda: batch_bytes(RIGHT)[:-1],
}


def _flip(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def _of_part(each: MessageFrame) -> int:
    """Return the checksum of a frame that leaves the user headers out."""
    whole = encode(MESSAGE_FRAME, each)
    return xxh3_64(whole[8 : len(whole) - len(each.user_headers)])


def _with(each: Batch, **fields: int) -> Batch:
    return Batch(replace(each.header, **fields), each.frames)


def _sealed(each: Batch, **fields: int) -> Batch:
    return seal_batch(_with(each, **fields))


def _of_length(each: Batch, length: int) -> bytes:
    return batch_bytes(_sealed(each, batch_length=length))


def _spoilt(spoil: Spoil, index: int) -> Batch:
    """Return the batch with one frame that is wrong, and a batch checksum that is right."""
    frames = [spoil(each) if n == index else each for n, each in enumerate(RIGHT.frames)]
    return seal_batch(Batch(RIGHT.header, tuple(frames)))


def _reserved(place: int, right: Batch = RIGHT) -> Batch:
    reserved = bytearray(right.header.reserved)
    reserved[place] = 1
    return seal_batch(Batch(replace(right.header, reserved=bytes(reserved)), right.frames))


def _refused(apache: ApacheServer, topic: Topic, data: bytes | Batch) -> Observation:
    return steps.refused_and_absent(apache, topic, apache.send_body(topic, data), SENT)


@case("iggy/apache/send/frame-checksum", clause="iggy.apache.send.frame-checksum")
@pytest.mark.parametrize("spoil", FRAMES.values(), ids=FRAMES)
def test_frame_checksum(apache: ApacheServer, apache_topic: Topic, spoil: Spoil) -> Observation:
    """A batch in which the checksum of a frame is wrong is not stored."""
    return _refused(apache, apache_topic, _spoilt(spoil, 1))


@case("iggy/apache/send/batch-checksum", clause="iggy.apache.send.batch-checksum")
@pytest.mark.parametrize("spoil", HEADERS.values(), ids=HEADERS)
def test_batch_checksum(
    apache: ApacheServer, apache_topic: Topic, spoil: Callable[[Batch], Batch]
) -> Observation:
    """A batch whose own checksum is wrong is not stored."""
    return _refused(apache, apache_topic, spoil(RIGHT))


@case("iggy/apache/send/reserved", clause="iggy.apache.send.reserved")
@pytest.mark.parametrize(
    ("place", "right"),
    [(0, RIGHT), (100, RIGHT), (203, RIGHT), (0, batch(SENT[0]))],
    ids=["first", "middle", "last", "single"],
)
def test_reserved(
    apache: ApacheServer, apache_topic: Topic, place: int, right: Batch
) -> Observation:
    """A batch with a reserved byte that is not zero is not stored."""
    return _refused(apache, apache_topic, _reserved(place, right))


@case("iggy/apache/send/reserved-frame", clause="iggy.apache.send.reserved-frame")
@pytest.mark.parametrize("value", [1, 1 << 56], ids=["first", "last"])
@pytest.mark.parametrize("index", [0, 2], ids=["first-frame", "last-frame"])
def test_reserved_frame(
    apache: ApacheServer, apache_topic: Topic, value: int, index: int
) -> Observation:
    """A batch with a frame whose reserved bytes are not zero is not stored."""
    spoilt = _spoilt(lambda each: seal_frame(replace(each, reserved=value)), index)
    return _refused(apache, apache_topic, spoilt)


@case("iggy/apache/send/tiling", clause="iggy.apache.send.tiling")
@pytest.mark.parametrize("spoil", TILING.values(), ids=TILING)
def test_tiling(
    apache: ApacheServer, apache_topic: Topic, spoil: Callable[[Batch], bytes]
) -> Observation:
    """A batch whose counts and lengths do not fit its bytes is not stored."""
    return _refused(apache, apache_topic, spoil(RIGHT))


@case("iggy/apache/send/cut", clause="iggy.apache.send.cut")
@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_cut(
    apache: ApacheServer, apache_topic: Topic, cut: Callable[[bytes], bytes]
) -> Observation:
    """A batch that ends too early is not stored, not even in part."""
    return _refused(apache, apache_topic, cut(batch_bytes(RIGHT)))


@case("iggy/apache/send/all-or-nothing", clause="iggy.apache.send.all-or-nothing")
@pytest.mark.parametrize("index", range(3), ids=["first", "second", "last"])
def test_all_or_nothing(apache: ApacheServer, apache_topic: Topic, index: int) -> Observation:
    """If one frame of a batch is wrong, no message of the batch is stored."""
    return _refused(apache, apache_topic, _spoilt(FRAMES["checksum"], index))


@case("iggy/apache/send/told", clause="iggy.apache.send.told")
@pytest.mark.parametrize("make", TOLD.values(), ids=TOLD)
def test_told(apache: ApacheServer, apache_topic: Topic, make: Callable[[], bytes]) -> Observation:
    """The producer of a batch that is not stored is told so."""
    return observe(ask_send(apache, apache_topic, apache.send_body(apache_topic, make())))


@case("iggy/apache/send/offset-delta", clause="iggy.apache.send.offset-delta")
@pytest.mark.parametrize(
    "deltas", [(5, 5), (0, 0), (1, 0), (5,)], ids=["5-and-5", "0-and-0", "1-and-0", "5"]
)
def test_offset_delta(
    apache: ApacheServer, apache_topic: Topic, deltas: tuple[int, ...]
) -> Observation:
    """Deltas that are not the index of the frame are refused or put right; nothing is lost."""
    sent = [message(b"message %d" % number) for number in range(len(deltas))]
    body = apache.send_body(apache_topic, batch(*sent, deltas=deltas))
    answer = ask_send(apache, apache_topic, body)
    if not confirmations_of(answer):
        return observed("refused", note=observe(answer).value).on(answer)
    polled = apache.poll_for(apache_topic, SENTINEL)
    unread = observe_unread(polled)
    if unread is not None:
        return unread
    lost = {each.payload for each in sent} - {*polled.payloads}
    note = f"offsets {polled.offsets[:4]}"
    if lost:
        return observed("delivered:lost", note=note).on(answer, polled)
    is_alone = len({*polled.offsets}) == len(polled.offsets)
    is_right = is_alone and polled.payloads[: len(sent)] == [each.payload for each in sent]
    return observed("delivered:all" if is_right else "delivered:other", note=note).on(polled)
