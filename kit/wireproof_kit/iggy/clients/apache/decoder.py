"""Decodes the requests of generation apache on one TCP connection.

A request is told in the words of the earlier generations as well, so that what is asked of clients
of every generation is asked in one way.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from wireproof_kit.clients.events import Event, Malformed
from wireproof_kit.iggy.apache import APACHE
from wireproof_kit.iggy.clients.events import Asked
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.bodies import messages
from wireproof_spec.iggy.apache.bodies.request_shapes import request_schema
from wireproof_spec.iggy.apache.envelope import Envelope, unpack_version
from wireproof_spec.iggy.apache.envelopes import ENVELOPES, OWN
from wireproof_spec.iggy.apache.frames import NEED_MORE, FrameReader, Request, decode_request
from wireproof_spec.iggy.apache.user_headers import USER_HEADERS, TypedBytes
from wireproof_spec.iggy.apache.version_prefix import VERSION_PREFIX, VersionPrefix
from wireproof_spec.iggy.bodies.command_shapes import Payload
from wireproof_spec.iggy.bodies.consumer_offsets import StoreConsumerOffset
from wireproof_spec.iggy.bodies.poll_messages import PollMessages
from wireproof_spec.iggy.bodies.send_messages import SendMessages, SentMessage
from wireproof_spec.iggy.header_kinds import STRING
from wireproof_spec.iggy.headers import Header
from wireproof_spec.wire_error import WireError

LARGEST_REQUEST: Final = 16 << 20
LOGIN: Final = "login_user"
_BODY_AT: Final = 256
_COMMANDS: Final = {
    **operations.OPERATIONS,
    operations.REGISTER: LOGIN,
    operations.LOGOUT: "logout_user",
}


class ApacheRequests:
    """Decodes what a client of generation apache sends on one connection."""

    def __init__(self, largest: int = LARGEST_REQUEST) -> None:
        self.envelope: Envelope = OWN
        """The protocol number of the client's latest login, if it is known."""
        self._reader = FrameReader(largest)
        self._is_broken = False

    def decode(self, at: float, conn: str, data: bytes) -> Iterator[Event]:
        """Yield the requests that end in these bytes; one that cannot be read ends the reading."""
        if self._is_broken:
            return
        self._reader.feed(data)
        try:
            while (frame := self._reader.next_frame()) is not NEED_MORE:
                yield self._asked(at, conn, decode_request(frame))
        except WireError as error:
            self._is_broken = True
            yield Malformed(at, conn, error)

    def _asked(self, at: float, conn: str, request: Request) -> Asked:
        """Return the event of a request.

        Raises:
            WireError: the body does not have the layout of its command.
        """
        header = request.header
        if header.operation == operations.REGISTER:
            self.envelope = envelope_of(request.body)
        return Asked(
            at, conn, name_of(request), APACHE, read_body(self.envelope, request), request=request
        )


def name_of(request: Request) -> str:
    """Return the name of the command of a request, as the earlier generations have it."""
    header = request.header
    if header.operation == operations.NON_REPLICATED:
        return operations.CODES.get(header.code, f"command {header.code}")
    return _COMMANDS.get(header.operation, f"operation {header.operation}")


def envelope_of(body: bytes) -> Envelope:
    """Return the shapes of the protocol number that a login names; the kit's own if unknown."""
    prefix = read_prefix(body)
    parts = unpack_version(prefix.protocol_version)[:2] if prefix else ()
    return next((each for each in ENVELOPES.values() if each.parts == parts), OWN)


def read_prefix(body: bytes) -> VersionPrefix | None:
    """Return what stands in front of a login; None if that cannot be read."""
    try:
        return decode(VERSION_PREFIX, body)
    except WireError as error:
        if error.field != "end":
            return None
        return decode(VERSION_PREFIX, body[: error.offset])


def read_body(envelope: Envelope, request: Request) -> Payload | None:
    """Return a body in the words of the earlier generations; None if these have none.

    Raises:
        WireError: the body does not have the layout of its command.
    """
    header = request.header
    try:
        schema = request_schema(envelope, header.operation, header.code)
    except LookupError:
        return None
    try:
        token = _read_login(envelope, request) if schema is envelope.login else None
        body: object = decode(schema, request.body) if token is None else token
    except WireError as error:
        raise error.at(_BODY_AT) from None
    retell = _RETOLD.get(type(body))
    return retell(body) if retell is not None else None


def _read_login(envelope: Envelope, request: Request) -> object | None:
    """Return the body of a login with a token; None if it is not one."""
    try:
        return decode(envelope.token_login, request.body)
    except WireError:
        return None


def _poll(body: messages.PollMessages) -> PollMessages:
    return PollMessages(
        consumer=body.consumer,
        stream=body.stream,
        topic=body.topic,
        partition_id=body.partition.partition_id,
        strategy=body.strategy,
        value=body.value,
        count=body.count,
        auto_commit=body.auto_commit,
    )


def _store(body: messages.StoreConsumerOffset) -> StoreConsumerOffset:
    place = body.stream, body.topic, body.partition.partition_id
    return StoreConsumerOffset(body.consumer, *place, body.offset)


def _send(body: messages.SendMessages) -> SendMessages:
    """Return the messages of a send, with their user headers read.

    Raises:
        WireError: a block of user headers cannot be read.
    """
    found = body.metadata
    sent = [
        SentMessage(frame.id, read_headers(frame.user_headers), frame.payload)
        for frame in body.batch.frames
    ]
    return SendMessages(found.stream, found.topic, found.partitioning, tuple(sent))


def read_headers(block: bytes) -> tuple[Header, ...]:
    """Return user headers with their keys as text; a key of another kind has its kind in front.

    Raises:
        WireError: the block is no run of pairs.
    """
    found = decode(USER_HEADERS, block)
    return tuple(Header(_text(each.key), each.value.kind, each.value.value) for each in found)


def _text(key: TypedBytes) -> str:
    if key.kind == STRING:
        return key.value.decode("utf-8", "replace")
    return f"{key.kind}:{key.value.hex()}"


_Retell: TypeAlias = Callable[..., Payload]
_RETOLD: Final[Mapping[type, _Retell]] = {
    messages.PollMessages: _poll,
    messages.StoreConsumerOffset: _store,
    messages.SendMessages: _send,
}
