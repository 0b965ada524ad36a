"""The decorators and seams of these faults; clauses lack `iggy.apache.client.`.

Each fault also makes the client one of generation apache.
"""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from wireproof_reference_impl.client_faults import constant
from wireproof_reference_impl.faults import Faults
from wireproof_reference_impl.iggy.client import driver
from wireproof_reference_impl.iggy.client.core.apache import messages
from wireproof_reference_impl.iggy.client.core.apache.messages import Received
from wireproof_reference_impl.iggy.client.core.apache.session import Session
from wireproof_reference_impl.iggy.client.core.apache.tcp import ApacheTransport
from wireproof_reference_impl.iggy.client.core.calls import Call
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.iggy.apache.batch import Batch, BatchHeader, MessageFrame
from wireproof_spec.iggy.apache.frames import Request, encode_request, make_request
from wireproof_spec.iggy.apache.header import RequestHeader

SPEAKS_APACHE = constant(driver, "generation", "apache")
_FAULTS = Faults("iggy.apache.client.", names="client-apache-", always=(SPEAKS_APACHE,))
missing, boundary, wrong_value = _FAULTS.missing, _FAULTS.boundary, _FAULTS.wrong_value
extra, condition = _FAULTS.extra, _FAULTS.condition

Frames = Sequence[MessageFrame]
EXTRA_NUMBER = 1 << 40
"""The request number of a request on top of others; its reply is taken for none of theirs."""


def on_header(change: Callable[[RequestHeader], RequestHeader]) -> Override:
    """Return an override that changes the header of each request before it is sent."""

    def make(original: Original, self: Session, call: Call) -> Request:
        request: Request = original(self, call)
        return Request(change(request.header), request.body)

    return around(Session, "make", make)


def on_batch(change: Callable[[Batch], Batch]) -> Override:
    """Return an override that changes each batch after its checksum was made."""

    def make(original: Original, header: BatchHeader, frames: Frames) -> Batch:
        return change(original(header, frames))

    return around(messages, "seal", make)


def on_batch_header(change: Callable[[BatchHeader], BatchHeader]) -> Override:
    """Return an override that changes the header of each batch before its checksum is made."""

    def make(original: Original, header: BatchHeader, frames: Frames) -> object:
        return original(change(header), frames)

    return around(messages, "seal", make)


def on_frame(change: Callable[[MessageFrame, int], MessageFrame]) -> Override:
    """Return an override that changes each message to send, which has its index and checksum."""

    def place(original: Original, frame: MessageFrame, index: int) -> object:
        return change(original(frame, index), index)

    return around(messages, "place", place)


def on_unsealed(change: Callable[[MessageFrame], MessageFrame]) -> Override:
    """Return an override that changes each message to send before its checksum is made."""

    def make(original: Original, message: object, settings: object) -> MessageFrame:
        return change(original(message, settings))

    return around(messages, "make_frame", make)


def on_received(change: Callable[[Received, MessageFrame], Received]) -> Override:
    """Return an override that changes each message that is read over TCP."""

    def read(original: Original, header: object, frame: MessageFrame, **named: object) -> object:
        return change(original(header, frame, **named), frame)

    return around(messages, "read_frame", read)


def before(wanted: type[Call], header: RequestHeader) -> Override:
    """Return an override that sends one more request before each call of a type."""

    def ask(original: Original, self: ApacheTransport, call: Call) -> bytes:
        data: bytes = original(self, call)
        if not isinstance(call, wanted):
            return data
        own = replace(header, client=self.session.client, session=self.session.session)
        more = make_request(replace(own, request=header.request or EXTRA_NUMBER))
        return encode_request(more) + data

    return around(ApacheTransport, "ask", ask)
