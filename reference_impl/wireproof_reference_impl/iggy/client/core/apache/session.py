"""The session of a client on one connection, and the requests that it makes."""

from msgspec.structs import replace

from wireproof_reference_impl.iggy.client.core.apache import messages
from wireproof_reference_impl.iggy.client.core.calls import (
    Call,
    CreateStream,
    Login,
    Poll,
    Send,
    StoreOffset,
)
from wireproof_reference_impl.iggy.client.core.settings import Settings
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.bodies import messages as bodies
from wireproof_spec.iggy.apache.bodies import resources
from wireproof_spec.iggy.apache.bodies.places import one_partition
from wireproof_spec.iggy.apache.checksum import xxh3_64
from wireproof_spec.iggy.apache.envelope import Envelope, LoginBody
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_spec.iggy.apache.frames import Request, make_request
from wireproof_spec.iggy.apache.header import RequestHeader
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.kinds import CONSUMER_KIND

SDK_NAME, SDK_VERSION = "wireproof-example", "1.0.0"


class Session:
    """The client's side of a session: it makes the headers of requests."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.envelope: Envelope = OWN
        self.client = new_client(settings)
        self.session = 0
        """What the reply to the login said; 0 before."""
        self.request = 0
        """The number of the latest request."""

    def make(self, call: Call) -> Request:
        """Return a call as a request."""
        operation, code = command_of(call)
        body = body_of(call, self._settings, self.envelope)
        header = self.header(operation, code)
        return make_request(stamp(header, body), body)

    def header(self, operation: int, code: int) -> RequestHeader:
        """Return the header of the next request; a login has neither number nor session."""
        if operation != operations.REGISTER:
            self.request = self.next_number()
        return RequestHeader(
            client=self.client,
            request=self.request,
            operation=operation,
            session=self.session,
            code=code,
        )

    def next_number(self) -> int:
        """Return the number of the next request: they rise, so that each reply belongs to one."""
        return self.request + 1


def new_client(settings: Settings) -> int:
    """Return the id by which a client registers; it is a new one for each login."""
    return settings.new_id()


def stamp(header: RequestHeader, body: bytes) -> RequestHeader:
    """Return the header of a metadata operation with the checksum of the body, others as they are.

    It lets the server notice a number that is used again for something else.
    """
    if header.operation not in operations.METADATA:
        return header
    return replace(header, request_checksum=xxh3_64(body))


def command_of(call: Call) -> tuple[int, int]:
    """Return the operation of a call, and its command code if that is a read."""
    if isinstance(call, Login):
        return operations.REGISTER, 0
    if isinstance(call, Poll):
        return operations.NON_REPLICATED, operations.POLL_MESSAGES
    if isinstance(call, Send):
        return operations.SEND_MESSAGES, 0
    if isinstance(call, StoreOffset):
        return operations.STORE_CONSUMER_OFFSET, 0
    return operations.CREATE_STREAM, 0


def body_of(call: Call, settings: Settings, envelope: Envelope) -> bytes:
    """Return the body of the request for a call."""
    if isinstance(call, Login):
        return encode(envelope.login, login_body(settings, envelope))
    if isinstance(call, Poll):
        return encode(bodies.POLL_MESSAGES, poll_body(call, settings))
    if isinstance(call, Send):
        return encode(bodies.SEND_MESSAGES, send_body(call, settings))
    if isinstance(call, StoreOffset):
        return encode(bodies.STORE_CONSUMER_OFFSET, _offset_body(call, settings))
    return encode(resources.CREATE_STREAM, _stream_body(call))


def login_body(settings: Settings, envelope: Envelope) -> LoginBody:
    """Return the body of a login with name and password."""
    own = envelope.version, SDK_NAME, SDK_VERSION
    secret = bytes(envelope.secret_size) if envelope.secret_size else None
    return LoginBody(*own, settings.user, settings.password, bind_secret=secret)


def poll_body(call: Poll, settings: Settings) -> bodies.PollMessages:
    """Return the body of a poll."""
    return bodies.PollMessages(
        consumer=_consumer(settings),
        stream=settings.stream,
        topic=settings.topic,
        partition=one_partition(settings.partition),
        strategy=call.strategy,
        value=call.value,
        count=call.count,
        auto_commit=int(call.auto_commit),
    )


def send_body(call: Send, settings: Settings) -> bodies.SendMessages:
    """Return the body of a request that sends messages in one batch."""
    batch = messages.make_batch(call.messages, settings)
    place = settings.stream, settings.topic, call.partitioning
    return bodies.SendMessages(bodies.SendMetadata(*place, len(call.messages)), batch)


def _offset_body(call: StoreOffset, settings: Settings) -> bodies.StoreConsumerOffset:
    place = settings.stream, settings.topic, one_partition(settings.partition)
    return bodies.StoreConsumerOffset(_consumer(settings), *place, call.offset, bodies.QUORUM)


def _stream_body(call: Call) -> resources.CreateStream:
    assert isinstance(call, CreateStream)
    return resources.CreateStream(call.name)


def _consumer(settings: Settings) -> Consumer:
    return Consumer(CONSUMER_KIND, numeric(settings.consumer))
