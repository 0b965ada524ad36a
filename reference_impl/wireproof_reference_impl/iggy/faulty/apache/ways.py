"""The decorators and seams of these faults; clauses are named without `iggy.apache.`.

A seam also chooses the generation, so that the name of a fault alone starts such a server.
"""

from collections.abc import Callable

from msgspec.structs import replace

from wireproof_reference_impl.faults import Faults
from wireproof_reference_impl.iggy.apache import messages, records, replies
from wireproof_reference_impl.iggy.apache.partition import Partition
from wireproof_reference_impl.iggy.apache.records import Batch, Frame
from wireproof_reference_impl.iggy.generations import APACHE_SETTINGS
from wireproof_reference_impl.overrides import Function, Original, Override, Owner, around
from wireproof_reference_impl.preset import Effect
from wireproof_spec.iggy.apache.header import EvictionHeader, ReplyHeader

_FAULTS = Faults("iggy.apache.")
missing, boundary, wrong_value = _FAULTS.missing, _FAULTS.boundary, _FAULTS.wrong_value
extra, condition, late = _FAULTS.extra, _FAULTS.condition, _FAULTS.late
parser_fault = _FAULTS.parser_fault

Reply = tuple[ReplyHeader, bytes]


def effect(*overrides: Override) -> Effect:
    """Return the effect of overrides on a server of generation `apache`."""
    return Effect(APACHE_SETTINGS, overrides)


def instead(owner: Owner, name: str) -> Callable[[Function], Effect]:
    """Return the seam at which a function of the core is replaced; it gets the original first."""
    return lambda wrong: effect(around(owner, name, wrong))


def replied(change: Callable[[ReplyHeader, bytes], Reply]) -> Effect:
    """Return an effect that changes each reply; its size is made for the body afterwards."""

    def write(original: Original, header: ReplyHeader, body: bytes = b"") -> object:
        return original(*change(header, body))

    return effect(around(replies, "write", write))


def reply_bytes(change: Callable[[bytes], bytes]) -> Effect:
    """Return an effect that changes the bytes of each reply."""

    def write(original: Original, header: ReplyHeader, body: bytes = b"") -> bytes:
        return change(original(header, body))

    return effect(around(replies, "write", write))


def evicting(change: Callable[[EvictionHeader], EvictionHeader]) -> Effect:
    """Return an effect that changes the header of each eviction."""

    def write(original: Original, header: EvictionHeader) -> object:
        return original(change(header))

    return effect(around(replies, "write_eviction", write))


def stored(change: Callable[[Batch], Batch]) -> Effect:
    """Return an effect that changes each batch when it is stored, behind its stamps."""

    def stamp(original: Original, partition: Partition, batch: Batch, now_us: int) -> Batch:
        return change(original(partition, batch, now_us))

    return effect(around(Partition, "stamp", stamp))


def stored_frames(change: Callable[[Frame], Frame]) -> Effect:
    """Return an effect that changes each message when it is stored."""
    return stored(lambda batch: replace(batch, frames=tuple(map(change, batch.frames))))


def polled(change: Callable[[Batch], Batch]) -> Effect:
    """Return an effect that changes each batch of a poll over TCP; its checksum is made anew."""

    def write(original: Original, batch: Batch) -> object:
        return original(change(batch))

    return effect(around(messages, "write_record", write))


def polled_frames(change: Callable[[Frame], Frame]) -> Effect:
    """Return an effect that changes each message of a poll over TCP."""
    return polled(lambda batch: replace(batch, frames=tuple(map(change, batch.frames))))


def record_bytes(change: Callable[[Batch, bytes], bytes]) -> Effect:
    """Return an effect that changes the bytes of each batch of a poll over TCP."""

    def write(original: Original, batch: Batch) -> bytes:
        return change(batch, original(batch))

    return effect(around(messages, "write_record", write))


def patched(data: bytes, at: int, new: bytes) -> bytes:
    """Return bytes with some of them replaced."""
    return data[:at] + new + data[at + len(new) :]


def flipped(data: bytes, at: int) -> bytes:
    """Return bytes with the lowest bit of one of them flipped."""
    return patched(data, at, bytes([data[at] ^ 1]))


def remade(
    frame: Frame,
    *,
    number: int | None = None,
    delta: int | None = None,
    timestamp_delta: int | None = None,
    payload: bytes | None = None,
    user_headers: bytes | None = None,
) -> Frame:
    """Return a frame with other parts and the right checksum of them."""
    return records.make_frame(
        number=frame.id if number is None else number,
        delta=frame.delta if delta is None else delta,
        timestamp_delta=frame.timestamp_delta if timestamp_delta is None else timestamp_delta,
        payload=frame.payload if payload is None else payload,
        user_headers=frame.user_headers if user_headers is None else user_headers,
    )
