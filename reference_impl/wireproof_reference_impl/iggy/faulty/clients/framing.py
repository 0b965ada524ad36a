"""Faults of how a client takes answers that come in pieces, or are long."""

# A fault reaches into the core from outside, also for what is private there.
# pyright: reportPrivateUsage=false

import h11
from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.iggy.client.core.calls import Lost
from wireproof_reference_impl.iggy.client.core.http import HttpTransport
from wireproof_reference_impl.iggy.client.core.tcp import LARGEST_BODY, TcpTransport
from wireproof_reference_impl.iggy.faulty.clients.seams import Messages, on_read
from wireproof_reference_impl.iggy.faulty.clients.ways import boundary, condition, missing
from wireproof_reference_impl.overrides import Original, around
from wireproof_spec.iggy.frame import RESPONSE_HEAD_SIZE, ResponseReader

_MOST = (1 << 15) - 1


@missing("framing", around(TcpTransport, "receive"))
def answer_ends_with_read(original: Original, self: TcpTransport, data: bytes) -> object:
    """An answer over TCP that does not come with one read is given up."""
    answer = original(self, data)
    if answer is None:
        raise Lost("the answer is too short")
    return answer


@condition("framing", around(TcpTransport, "receive"))
def part_of_head_lost(original: Original, self: TcpTransport, data: bytes) -> object:
    """A read that ends inside the head of an answer over TCP is lost."""
    answer = original(self, data)
    if answer is None and len(self._reader.pending) < RESPONSE_HEAD_SIZE:
        self._reader = ResponseReader(LARGEST_BODY)
    return answer


@missing("framing-http", around(HttpTransport, "receive"))
def http_answer_ends_with_read(original: Original, self: HttpTransport, data: bytes) -> object:
    """An answer over HTTP that does not come with one read is given up."""
    answer = original(self, data)
    if answer is None:
        raise Lost("the answer is too short")
    return answer


@condition("framing-http", around(HttpTransport, "receive"))
def http_head_ends_with_read(original: Original, self: HttpTransport, data: bytes) -> object:
    """An answer over HTTP is given up if a read ends inside its head."""
    answer = original(self, data)
    if answer is None and self._parser.their_state is h11.SEND_RESPONSE:
        raise Lost("the head is too short")
    return answer


@boundary("layout")
def long_payloads_cut() -> Change:
    """Of a payload, at most 32767 bytes are given to the user."""

    def cut(messages: Messages) -> Messages:
        return tuple(replace(message, payload=message.payload[:_MOST]) for message in messages)

    return on_read(cut)


FAULTS = list_faults(__name__)
