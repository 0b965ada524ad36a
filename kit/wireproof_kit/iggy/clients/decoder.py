"""Decodes the bytes on connections to the server into Iggy events.

A client shows its generation by itself: one of tagged servers logs in before anything else, and
its polls name the consumer by an identifier. One of generation apache begins with a header of 256
bytes, whose first four are zero where the others have the length of a request.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from wireproof_kit.clients.events import Event, Malformed
from wireproof_kit.clients.http_requests import HttpRequests, NotHttp
from wireproof_kit.iggy.clients import http_decoder
from wireproof_kit.iggy.clients.apache.decoder import ApacheRequests
from wireproof_kit.iggy.clients.events import Asked, Replied, Responded
from wireproof_spec.decoding import Schema, decode
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.apache.header import COMMAND_AT, REQUEST_COMMAND
from wireproof_spec.iggy.bodies.command_shapes import Payload, payload_schema
from wireproof_spec.iggy.bodies.send_messages import ANY_MESSAGES
from wireproof_spec.iggy.commands import COMMANDS
from wireproof_spec.iggy.frame import NEED_MORE, Request, RequestReader
from wireproof_spec.iggy.generation import Generation
from wireproof_spec.wire_error import WireError

TCP, HTTP = "tcp", "http"
"""The names of the ports of the server that the kit plays, one for each transport."""
LARGEST_REQUEST = 16 << 20
AMBIGUOUS = frozenset(
    {
        commands.LOGIN_USER,
        commands.CREATE_STREAM,
        commands.CREATE_TOPIC,
        commands.GET_CONSUMER_GROUP,
        commands.CREATE_CONSUMER_GROUP,
        commands.DELETE_CONSUMER_GROUP,
        commands.JOIN_CONSUMER_GROUP,
        commands.LEAVE_CONSUMER_GROUP,
    }
)
"""The commands whose payloads differ between releases, or within the Iggy schema."""
CERTAIN = frozenset(COMMANDS) - AMBIGUOUS
_OF_TAGGED = frozenset(
    {commands.POLL_MESSAGES, commands.GET_CONSUMER_OFFSET, commands.STORE_CONSUMER_OFFSET}
)
"""The commands that name the consumer, by an identifier in a tagged release alone."""
_OF_CLIENTS: Mapping[int, Schema[Any]] = {commands.SEND_MESSAGES: ANY_MESSAGES}
_GENERATIONS: Mapping[Generation, tuple[Generation, ...]] = {
    "published": ("published", "tagged"),
    "tagged": ("tagged", "published"),
}
"""In which order a payload is tried, by what the connection has shown before."""
_PAYLOAD_AT = 8
_WORD = 4


class IggyDecoder:
    """Decodes the traffic of a client case, over TCP and HTTP."""

    def __init__(self) -> None:
        self._http: dict[str, HttpRequests] = {}
        self._tcp: dict[str, _TcpRequests] = {}

    def open(self, at: float, conn: str) -> None:
        """Prepare to decode a new connection."""
        if conn.startswith(HTTP):
            self._http[conn] = HttpRequests()
        else:
            self._tcp[conn] = _TcpRequests()

    def decode_received(self, at: float, conn: str, data: bytes) -> Iterator[Event]:
        """Yield the client's requests completed by these bytes.

        The bytes of a connection whose beginning was not recorded begin with a whole request.
        """
        if not conn.startswith(HTTP):
            yield from self._tcp.setdefault(conn, _TcpRequests()).decode(at, conn, data)
            return
        try:
            for request in self._http.setdefault(conn, HttpRequests()).feed(data):
                yield http_decoder.decode(at, conn, request)
        except NotHttp as error:
            yield Malformed(at, conn, _not_http(str(error)))
        except WireError as error:
            yield Malformed(at, conn, error)

    def decode_sent(self, at: float, conn: str, data: bytes) -> Iterator[Event]:
        """Yield the response in these bytes; the kit sends each response in one piece."""
        if conn in self._http:
            self._http[conn].expect_next()
        found = self._tcp.get(conn)
        yield Replied(at, conn, data) if found and found.is_apache else Responded(at, conn, data)


class _TcpRequests:
    """Decodes the requests on one TCP connection, of whichever generation they are."""

    def __init__(self) -> None:
        self._decoder: RequestDecoder | ApacheRequests | None = None
        self._kept = b""

    @property
    def is_apache(self) -> bool:
        """True if the client has shown that it speaks generation apache."""
        return isinstance(self._decoder, ApacheRequests)

    def decode(self, at: float, conn: str, data: bytes) -> Iterator[Event]:
        """Yield the requests that end in these bytes."""
        if self._decoder is None:
            self._kept += data
            is_apache = begins_as_apache(self._kept)
            if is_apache is None:
                return
            self._decoder = ApacheRequests() if is_apache else RequestDecoder()
            data = self._kept
        yield from self._decoder.decode(at, conn, data)


def begins_as_apache(data: bytes) -> bool | None:
    """Return whether a connection begins with a request of generation apache; None: not known yet.

    The first four bytes are part of a checksum that clients leave zero. If they are neither zero
    nor a length, the command byte of the header decides.
    """
    if len(data) < _WORD:
        return None
    length = int.from_bytes(data[:_WORD], "little")
    if not length:
        return True
    if length <= LARGEST_REQUEST:
        return False
    return data[COMMAND_AT] == REQUEST_COMMAND if len(data) > COMMAND_AT else None


class RequestDecoder:
    """Decodes the requests on one TCP connection."""

    def __init__(self, largest: int = LARGEST_REQUEST, certain: Collection[int] = CERTAIN) -> None:
        """Create a decoder; a request must not declare more than `largest` bytes.

        A payload of another command than those in `certain` may have an unknown form.
        """
        self._largest = largest
        self._certain = certain
        self._reader = RequestReader(largest)
        self.generation: Generation = "published"
        self.is_broken = False
        """True once nothing can be decoded any more."""

    @property
    def pending(self) -> bytes:
        """The bytes of an incomplete request."""
        return self._reader.pending

    def pass_over_pending(self) -> None:
        """Forget an incomplete request, of which nothing more will be fed."""
        self._reader = RequestReader(self._largest)

    def decode(self, at: float, conn: str, data: bytes) -> Iterator[Event]:
        """Yield the requests that end in these bytes."""
        if self.is_broken:
            return
        self._reader.feed(data)
        try:
            while (request := self._reader.next_request()) is not NEED_MORE:
                yield self._asked(at, conn, request)
        except WireError as error:
            self.is_broken = True
            yield Malformed(at, conn, error)

    def _asked(self, at: float, conn: str, request: Request) -> Asked:
        if request.code == commands.LOGIN_USER:
            self.generation = "tagged"
        name = COMMANDS.get(request.code, f"command {request.code}")
        payload = self._payload(request)
        return Asked(at, conn, name, self.generation, payload)

    def _payload(self, request: Request) -> Payload | None:
        """Return the payload of a request, None if the shape of the command is not known.

        Both generations are tried: the Iggy schema has a login, and consumers without identifier.

        Raises:
            WireError: the payload fits neither generation.
        """
        fault: WireError | None = None
        for generation in _GENERATIONS[self.generation]:
            try:
                payload = decode(_schema(request.code, generation), request.payload)
            except LookupError:
                continue
            except WireError as error:
                fault = fault or error
                continue
            if generation == "tagged" and request.code in _OF_TAGGED:
                self.generation = "tagged"
            return payload
        if fault is not None and request.code in self._certain:
            raise fault.at(_PAYLOAD_AT)
        return None


def _schema(code: int, generation: Generation) -> Schema[Payload]:
    return _OF_CLIENTS.get(code) or payload_schema(code, generation)


def _not_http(reason: str) -> WireError:
    return WireError(
        clause=http_decoder.CLAUSE,
        field="request",
        offset=0,
        expected="an HTTP request",
        found=reason,
    )
