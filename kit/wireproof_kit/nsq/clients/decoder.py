"""Decodes the bytes on connections to nsqlookupd (HTTP) and nsqd into NSQ events."""

from collections.abc import Iterator

from wireproof_kit.clients.events import Event, Malformed
from wireproof_kit.clients.http_requests import HttpRequest, HttpRequests, NotHttp
from wireproof_kit.nsq.clients.events import Commanded, Magic, Requested, Responded, Sent
from wireproof_spec.nsq import limits, names
from wireproof_spec.nsq.acknowledge import Finish, Requeue, Touch
from wireproof_spec.nsq.command import CommandLine
from wireproof_spec.nsq.command_reader import Command, CommandReader
from wireproof_spec.nsq.frame import NEED_MORE, FrameReader
from wireproof_spec.wire_error import WireError
from wireproof_spec.wording import show_value

LOOKUPD, NSQD, NSQD_HTTP = "lookupd", "nsqd", "http"
"""The start of the names of the servers that the kit plays."""
_SIZE = 4
_COUNT_DIGITS = 19
"""The digits of the greatest number of 63 bits."""


class NsqDecoder:
    """Decodes the traffic of a client case with lookup servers and nodes."""

    def __init__(self) -> None:
        self._http: dict[str, HttpRequests] = {}
        self._tcp: dict[str, _TcpStream] = {}

    def open(self, at: float, conn: str) -> None:
        """Prepare to decode a new connection."""
        if _is_http(conn):
            self._http[conn] = HttpRequests()
        else:
            self._tcp[conn] = _TcpStream()

    def decode_received(self, at: float, conn: str, data: bytes) -> Iterator[Event]:
        """Yield the client's requests or commands completed by these bytes.

        The bytes of a connection whose beginning was not recorded begin with a whole command.
        """
        if not _is_http(conn):
            stream = self._tcp.setdefault(conn, _TcpStream(has_begun=True))
            yield from stream.decode_received(at, conn, data)
            return
        try:
            for request in self._http.setdefault(conn, HttpRequests()).feed(data):
                yield make_requested(at, conn, request)
        except NotHttp as error:
            yield Malformed(at, conn, _not_http(str(error)))

    def decode_sent(self, at: float, conn: str, data: bytes) -> Iterator[Event]:
        """Yield the response or frames in these bytes; the kit sends each in one piece."""
        if not _is_http(conn):
            yield from _frames(at, conn, data)
            return
        if conn in self._http:
            self._http[conn].expect_next()
        yield Responded(at, conn, data)


def _is_http(conn: str) -> bool:
    return conn.startswith((LOOKUPD, NSQD_HTTP))


class _TcpStream:
    """Decodes the commands that a client sends to an nsqd."""

    def __init__(self, *, has_begun: bool = False) -> None:
        self._head = bytearray()
        self._reader = CommandReader(
            message_limit=limits.MAX_BODY_SIZE, body_limit=limits.MAX_BODY_SIZE
        )
        self._has_begun = has_begun
        self._is_broken = False

    def decode_received(self, at: float, conn: str, data: bytes) -> Iterator[Event]:
        if self._is_broken:
            return
        if not self._has_begun:
            self._head += data
            if len(self._head) < len(names.MAGIC):
                return
            self._has_begun = True
            data = bytes(self._head[len(names.MAGIC) :])
            if not self._head.startswith(names.MAGIC):
                self._is_broken = True
                yield Malformed(at, conn, wrong_magic(bytes(self._head)))
                return
            yield Magic(at, conn)
        self._reader.feed(data)
        yield from self._commands(at, conn)

    def _commands(self, at: float, conn: str) -> Iterator[Event]:
        try:
            start = self._reader.offset
            while (command := self._reader.next_command()) is not NEED_MORE:
                event = make_commanded(at, conn, command)
                check_count(event, start)
                yield event
                start = self._reader.offset
        except WireError as error:
            self._is_broken = True
            yield Malformed(at, conn, error.at(len(names.MAGIC)))


def _frames(at: float, conn: str, data: bytes) -> Iterator[Event]:
    reader = FrameReader(limits.MAX_BODY_SIZE)
    reader.feed(data)
    try:
        while (frame := reader.next_frame()) is not NEED_MORE:
            yield Sent(at, conn, frame.data, frame.frame_type)
    except WireError:
        yield Sent(at, conn, data)
        return
    if reader.pending:
        yield Sent(at, conn, reader.pending)


def make_requested(at: float, conn: str, request: HttpRequest) -> Requested:
    """Return the event for an HTTP request from the client."""
    method, path = request.method, request.path
    return Requested(at, conn, method, path, request.query, request.headers, request.closes)


def make_commanded(at: float, conn: str, command: Command) -> Commanded:
    """Return the event for a command from the client."""
    line, data = command.line.value, command.line.data
    if isinstance(line, CommandLine):
        body = command.body.data[_SIZE:] if command.body else b""
        words = tuple(word.decode("latin-1") for word in line.parameters)
        return Commanded(at, conn, line.name.decode("latin-1"), words, body, line=data)
    name = {Finish: names.FIN, Requeue: names.REQ, Touch: names.TOUCH}[type(line)].decode()
    timeout = line.timeout_ms if isinstance(line, Requeue) else 0
    return Commanded(at, conn, name, message_id=line.message_id, timeout_ms=timeout, line=data)


def check_count(event: Commanded, start: int) -> None:
    """Check that the count of an RDY is a number; without one it is 1, as at real nodes.

    ``start`` is the offset of the command in the stream, in bytes after the magic.

    Raises:
        WireError: the count is no number of 64 bits in decimal digits.
    """
    if event.name != names.RDY.decode() or not event.words:
        return
    word = event.words[0]
    if not word.isdecimal() or len(word) > _COUNT_DIGITS:
        raise WireError(
            clause="smart.connection.ready",
            field="count",
            offset=start + len(names.RDY) + 1,
            expected="a number in decimal digits",
            found=show_value(word.encode("latin-1")),
        )


def wrong_magic(data: bytes) -> WireError:
    """Return the error for a connection that does not begin with the magic."""
    return WireError(
        clause="smart.connection.magic",
        field="magic",
        offset=0,
        expected=repr(names.MAGIC),
        found=repr(data[:16]),
    )


def _not_http(reason: str) -> WireError:
    return WireError(
        clause="smart.lookup.request",
        field="request",
        offset=0,
        expected="an HTTP request",
        found=reason,
    )
