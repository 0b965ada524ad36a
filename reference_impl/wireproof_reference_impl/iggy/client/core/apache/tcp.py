"""One TCP connection of generation apache: requests and replies with headers of 256 bytes."""

from typing import TypeVar

from wireproof_reference_impl.iggy.client.core.apache import messages
from wireproof_reference_impl.iggy.client.core.apache.session import Session
from wireproof_reference_impl.iggy.client.core.calls import (
    Answer,
    Call,
    Created,
    CreateStream,
    Evicted,
    Login,
    Lost,
    Poll,
    Refused,
    Unreadable,
)
from wireproof_reference_impl.iggy.client.core.settings import Settings
from wireproof_spec.decoding import Schema, decode
from wireproof_spec.iggy.apache.bodies.resources import STREAM
from wireproof_spec.iggy.apache.bodies.results import CONFIRMATIONS, RESULT, Result
from wireproof_spec.iggy.apache.envelope import unpack_version
from wireproof_spec.iggy.apache.evictions import REASONS
from wireproof_spec.iggy.apache.frames import (
    MAX_FRAME_SIZE,
    NEED_MORE,
    Eviction,
    FrameReader,
    Reply,
    decode_answer,
    encode_request,
)
from wireproof_spec.iggy.apache.operations import RESULT_FRAMED, SEND_MESSAGES
from wireproof_spec.iggy.apache.statuses import OK, STATUSES
from wireproof_spec.wire_error import WireError

T = TypeVar("T")


class ApacheTransport:
    """One TCP connection of the Iggy client: calls become requests, replies answers."""

    def __init__(self, settings: Settings) -> None:
        self.session = Session(settings)
        self.server_version = 0
        """The protocol version that the server named in the reply to the login."""
        self._reader = FrameReader(MAX_FRAME_SIZE)
        self._call: Call | None = None
        self._operation = 0

    def begin(self) -> tuple[Call, ...]:
        """Return the login."""
        return (Login(),)

    def ask(self, call: Call) -> bytes:
        """Return a call as the bytes of a request."""
        if self._reader.pending:
            raise Lost("the server sent more than the answer")
        request = self.session.make(call)
        self._call, self._operation = call, request.header.operation
        return encode_request(request)

    def receive(self, data: bytes) -> Answer | None:
        """Return the answer that these received bytes complete, or None."""
        if not data:
            raise Lost("the server closed the connection before it answered")
        self._reader.feed(data)
        try:
            while (frame := self._reader.next_frame()) is not NEED_MORE:
                answer = decode_answer(frame)
                if isinstance(answer, Eviction):
                    raise evicted(answer)
                if is_answer(answer, self.session):
                    return self._answer(answer)
        except WireError as error:
            raise Lost(str(error)) from None
        return None

    def lasts(self) -> bool:
        """Return True if no received bytes are left over from the last answer."""
        return not self._reader.pending

    def _answer(self, reply: Reply) -> Answer:
        call, self._call = self._call, None
        check_status(reply)
        body = read_body(reply, self._operation)
        if isinstance(call, Login):
            found = _decode(self.session.envelope.login_reply, body)
            self.session.session = found.session
            self.server_version = found.server_protocol_version
        if isinstance(call, CreateStream):
            stream = _decode(STREAM, body)
            return Created(stream.id, stream.name)
        if self._operation == SEND_MESSAGES:
            _decode(CONFIRMATIONS, body)
        return messages.read_polled(self.session.envelope, body) if _polls(call) else ()


def is_answer(reply: Reply, session: Session) -> bool:
    """Return True if a reply has the number of the latest request; others belong to none."""
    return reply.header.request == session.request


def check_status(reply: Reply) -> None:
    """Check that a reply does not deny its request.

    Raises:
        Refused: it does.
    """
    if reply.header.status != OK:
        raise refusal(reply.header.status)


def read_body(reply: Reply, operation: int) -> bytes:
    """Return the body of a reply, without the result section in front of it.

    Raises:
        Refused: the result section rejects the request.
        Unreadable: there is no result section.
    """
    if operation not in RESULT_FRAMED:
        return reply.body
    result: Result = _decode(RESULT, reply.body)
    check_result(result)
    return result.payload


def check_result(result: Result) -> None:
    """Check that a result section does not reject its request.

    Raises:
        Refused: it does.
    """
    for rejection in result.rejections:
        raise refusal(rejection.result)


def refusal(status: int) -> Refused:
    """Return the error for a status, or for the code in a result section."""
    name = STATUSES.get(status, "an unknown error")
    return Refused(status, f"the server refuses with status {status}: {name}")


def evicted(eviction: Eviction) -> Evicted:
    """Return the error for an eviction: its reason, and the versions that the server accepts."""
    header = eviction.header
    name = REASONS.get(header.reason, "an unknown reason")
    window = header.server_protocol_version_min, header.server_protocol_version
    told = " to ".join(".".join(map(str, unpack_version(each))) for each in window)
    accepted = f"; it accepts protocol {told}" if any(window) else ""
    text = f"the server has ended the session for reason {header.reason}: {name}{accepted}"
    return Evicted(header.reason, text)


def _decode(schema: Schema[T], body: bytes) -> T:
    try:
        return decode(schema, body)
    except WireError as error:
        raise Unreadable(str(error)) from None


def _polls(call: Call | None) -> bool:
    return isinstance(call, Poll)
