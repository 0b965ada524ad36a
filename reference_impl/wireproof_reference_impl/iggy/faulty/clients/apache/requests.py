"""Faults of a client of generation apache in the headers of its requests, and in its login."""

from msgspec.structs import replace

from wireproof_reference_impl.client_faults import constant
from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.iggy.client.core.apache import session, tcp
from wireproof_reference_impl.iggy.client.core.apache.session import Session
from wireproof_reference_impl.iggy.client.core.apache.tcp import ApacheTransport
from wireproof_reference_impl.iggy.client.core.calls import (
    Answer,
    Created,
    Login,
    Poll,
    Refused,
    Send,
)
from wireproof_reference_impl.iggy.faulty.clients.apache.ways import (
    before,
    boundary,
    condition,
    extra,
    missing,
    on_header,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, around
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.checksum import xxh3_64
from wireproof_spec.iggy.apache.envelope import LoginBody
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_spec.iggy.apache.frames import Reply
from wireproof_spec.iggy.apache.header import RequestHeader
from wireproof_spec.iggy.apache.operations import (
    METADATA,
    NON_REPLICATED,
    REGISTER,
    SEND_MESSAGES,
)
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.kinds import OFFSET, TIMESTAMP

_LOW_32 = (1 << 32) - 1
_OF_REPLICAS = 6
_started: list[int] = []
_DIGITS = 10


def _is_login(header: RequestHeader) -> bool:
    return header.operation == REGISTER


@wrong_value("request", on_header)
def command_of_replies(header: RequestHeader) -> RequestHeader:
    """Requests have the command byte of replies."""
    return replace(header, command=8)


@condition("request", on_header)
def later_command_of_replicas(header: RequestHeader) -> RequestHeader:
    """From the second request behind the login on, requests have a command of replicas."""
    return replace(header, command=_OF_REPLICAS) if header.request > 1 else header


@extra("zero reserved", on_header)
def unused_fields_set(header: RequestHeader) -> RequestHeader:
    """Fields and bytes of a header that clients do not use are not cleared."""
    return replace(header, view=1, reserved_front=b"\xcd" * len(header.reserved_front))


@condition("zero", on_header)
def user_id_after_login(header: RequestHeader) -> RequestHeader:
    """After the login a client sends its user id."""
    return header if _is_login(header) else replace(header, user_id=1)


@condition("reserved", on_header)
def codes_of_writes(header: RequestHeader) -> RequestHeader:
    """A request has the command code of a replicated operation, too."""
    return replace(header, code=101 if header.operation == SEND_MESSAGES else header.code or 38)


@extra("operation")
def internal_operation() -> Change:
    """Before a poll and a send, an operation that only servers use is sent."""
    header = RequestHeader(operation=operations.CREATE_TOPIC_INTERNAL)
    return before(Poll, header), before(Send, header)


@boundary("operation")
def operation_zero() -> Change:
    """Before a poll and a send, operation 0 is sent."""
    header = RequestHeader(operation=0)
    return before(Poll, header), before(Send, header)


@wrong_value("stamp", around(session, "stamp"))
def stamp_of_more(original: Original, header: RequestHeader, body: bytes) -> RequestHeader:
    """The request checksum covers one byte that is not in the body."""
    return replace(header, request_checksum=xxh3_64(body + b"\0"))


@boundary("stamp", around(session, "stamp"))
def stamp_of_32_bits(original: Original, header: RequestHeader, body: bytes) -> RequestHeader:
    """Of the request checksum, 32 bits are sent."""
    return replace(header, request_checksum=xxh3_64(body) & _LOW_32)


@extra("session", on_header)
def login_with_session(header: RequestHeader) -> RequestHeader:
    """A login has a session."""
    return replace(header, session=1) if _is_login(header) else header


@extra(
    "numbers-positive",
    on_header,
    also=(constant(tcp, "is_answer", value=True),),
)
def login_numbered(header: RequestHeader) -> RequestHeader:
    """A login has a request number."""
    return replace(header, request=1) if _is_login(header) else header


@boundary("numbers-positive", around(Session, "next_number"))
def numbers_from_zero(original: Original, self: Session) -> int:
    """The first request behind a login has the number 0."""
    _started.append(self.client)
    return _started.count(self.client) - 1


@missing("register", around(session, "new_client"))
def no_client_id(original: Original, settings: object) -> int:
    """Requests have no client id."""
    return 0


@condition("register")
def one_client_id() -> Change:
    """A client logs in again with the client id that it had before."""
    return constant(session, "new_client", 1 << 100)


@wrong_value("identity", on_header)
def identity_of_requests(header: RequestHeader) -> RequestHeader:
    """Each request behind the login has a client id of its own."""
    return header if _is_login(header) else replace(header, client=header.client ^ header.request)


@boundary("identity", on_header)
def identity_of_64_bits(header: RequestHeader) -> RequestHeader:
    """Behind the login, 64 bits of the client id are sent."""
    mask = (1 << 64) - 1
    return header if _is_login(header) else replace(header, client=(header.client & mask) | 1)


@missing("session", on_header)
def no_session(header: RequestHeader) -> RequestHeader:
    """Requests have no session."""
    return replace(header, session=0)


@boundary("session", on_header)
def session_of_32_bits(header: RequestHeader) -> RequestHeader:
    """Of the session, 32 bits are sent."""
    return replace(header, session=header.session & _LOW_32)


@extra("login-first")
def asks_before_login() -> Change:
    """Before its login a client asks for the nodes of the cluster."""
    code = operations.GET_CLUSTER_METADATA
    return before(Login, RequestHeader(operation=NON_REPLICATED, code=code))


@condition("login-first")
def streams_before_login() -> Change:
    """Before its login a client asks for streams."""
    return before(Login, RequestHeader(operation=NON_REPLICATED, code=operations.GET_STREAMS))


@missing("version", around(session, "login_body"))
def version_missing(original: Original, *given: object) -> LoginBody:
    """A login has the protocol version 0."""
    body: LoginBody = original(*given)
    return replace(body, protocol_version=0)


@wrong_value("version", around(session, "login_body"))
def version_marked(original: Original, *given: object) -> LoginBody:
    """The highest bit of the protocol version is set."""
    body: LoginBody = original(*given)
    return replace(body, protocol_version=OWN.version | 1 << 31)


def _refuse_patches(above: int) -> Change:
    def answer(original: Original, self: ApacheTransport, reply: Reply) -> object:
        found = original(self, reply)
        if self.server_version & ((1 << _DIGITS) - 1) > above:
            raise Refused(0, "the server has another version")
        return found

    return around(ApacheTransport, "_answer", answer)


@condition("patch")
def patches_refused() -> Change:
    """A server whose version has another patch is refused."""
    return _refuse_patches(0)


@boundary("patch")
def high_patches_refused() -> Change:
    """A server whose version has a patch above 255 is refused."""
    return _refuse_patches(255)


@missing("numbers", around(Session, "header"))
def metadata_number_kept(original: Original, self: Session, operation: int, code: int) -> object:
    """All metadata operations have the same request number."""
    if operation in METADATA:
        self.request = 0
    return original(self, operation, code)


@wrong_value("numbers", around(Session, "header"))
def metadata_numbers_fall(original: Original, self: Session, operation: int, code: int) -> object:
    """The request numbers of metadata operations fall."""
    if operation in METADATA:
        self.request = (self.request or _LOW_32) - 2
    return original(self, operation, code)


@missing("result-section", around(tcp, "read_body"))
def result_section_kept(original: Original, reply: Reply, operation: int) -> object:
    """The result section of a reply to a metadata operation is read as its payload."""
    return reply.body if operation in METADATA else original(reply, operation)


@condition("result-section", around(ApacheTransport, "_answer"))
def created_without_payload(original: Original, self: ApacheTransport, reply: Reply) -> Answer:
    """Of the reply to a new stream, only the result section is read."""
    found: Answer = original(self, reply)
    return Created(0, found.name) if isinstance(found, Created) else found


@wrong_value("place", around(session, "poll_body"))
def polls_other_topic(original: Original, call: object, settings: object) -> object:
    """A poll names another topic."""
    return replace(original(call, settings), topic=numeric(2))


@condition("strategy", around(session, "poll_body"))
def always_by_offset(original: Original, call: Poll, settings: object) -> object:
    """Every poll is one by offset."""
    return original(replace(call, strategy=OFFSET), settings)


@boundary("strategy", around(session, "poll_body"))
def times_in_milliseconds(original: Original, call: Poll, settings: object) -> object:
    """The time of a poll is sent in milliseconds."""
    is_time = call.strategy == TIMESTAMP
    return original(replace(call, value=call.value // 1000) if is_time else call, settings)


FAULTS = list_faults(__name__)
