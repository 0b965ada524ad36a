"""The server of generation apache that a client meets: by a script, and else as a real one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count

from wireproof_kit.clients.effects import Effect, HangUp, Later, Send
from wireproof_kit.iggy.clients.answers import http_answer, http_refusal, raw_effects
from wireproof_kit.iggy.clients.apache import answers, log
from wireproof_kit.iggy.clients.apache.decoder import LOGIN, envelope_of, read_prefix
from wireproof_kit.iggy.clients.events import Asked
from wireproof_kit.iggy.clients.resources import NAME
from wireproof_kit.iggy.clients.script import (
    LOG_SIZE,
    Batches,
    Body,
    Evict,
    Late,
    Odd,
    Raw,
    Refuse,
    Reject,
    Reply,
    Script,
    Silence,
)
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.apache import evictions, operations, statuses
from wireproof_spec.iggy.apache.bodies.resources import (
    CREATE_STREAM,
    CREATE_TOPIC,
    CreateStream,
    CreateTopic,
)
from wireproof_spec.iggy.apache.envelope import Envelope, unpack_version
from wireproof_spec.iggy.apache.envelopes import ENVELOPES, OWN
from wireproof_spec.iggy.apache.frames import Request
from wireproof_spec.iggy.bodies.consumer_offsets import StoreConsumerOffset
from wireproof_spec.wire_error import WireError

NO_FIELDS: Mapping[str, object] = {}
_FIRST_SESSION = 20
_VERSION_MASK = (1 << 30) - 1


@dataclass(frozen=True, slots=True)
class Postponed:
    """The token of a timer: a request that is to be answered now."""

    event: Asked
    reply: Reply | None


class ApacheFront:
    """The server of generation apache in one case, over both transports, without I/O."""

    def __init__(self, script: Script) -> None:
        self._polls, self._sends = iter(script.polls), iter(script.sends)
        self._logins, self._creations = iter(script.logins), iter(script.creations)
        self._sessions = iter(script.sessions)
        self._own_sessions = count(_FIRST_SESSION)
        self._open: dict[str, int] = {}
        """The session of each connection that is logged in."""
        self._waiting: dict[str, list[Asked]] = {}
        """The requests behind one that is answered late, by connection."""
        self._envelopes: dict[str, Envelope] = {}
        self._created = count(answers.FIRST_CREATED)
        self._stored: int | None = None
        self._next_offset = LOG_SIZE
        self.addresses: Mapping[str, str] = {}
        """HOST:PORT of each transport: a client may connect again to what it is told of them."""

    def answer(self, event: Asked) -> Iterator[Effect]:
        """Yield what the server does because of a request."""
        if event.conn in self._waiting:
            self._waiting[event.conn].append(event)
            return
        yield from self._carry_out(event, self._scripted(event))

    def answer_late(self, late: Postponed) -> Iterator[Effect]:
        """Yield a late answer, and those to the requests behind it: answers come in order."""
        behind = self._waiting.pop(late.event.conn, [])
        yield from self._carry_out(late.event, late.reply)
        for event in behind:
            yield from self.answer(event)

    def _carry_out(self, event: Asked, reply: Reply | None) -> Iterator[Effect]:
        """Yield how a request is answered by this reply, or in the usual way."""
        if isinstance(reply, Late):
            self._waiting[event.conn] = []
            yield Later(reply.seconds, Postponed(event, reply.reply))
            return
        if isinstance(reply, Silence):
            return
        if isinstance(reply, Raw):
            yield from raw_effects(event.conn, reply)
            return
        over_tcp = event.request is not None
        yield Send(event.conn, self._bytes(event, reply) if over_tcp else self._json(event, reply))
        if event.closes:
            yield HangUp(event.conn)

    def _scripted(self, event: Asked) -> Reply | None:
        """Return the special answer to a request, if the script has one."""
        steps: Mapping[str, Iterator[Reply]] = {
            "poll_messages": self._polls,
            "send_messages": self._sends,
            LOGIN: self._logins,
            "create_stream": self._creations,
        }
        found = steps.get(event.command)
        return next(found, None) if found is not None else None

    def _bytes(self, event: Asked, reply: Reply | None) -> bytes:
        request = event.request
        assert request is not None
        fields: Mapping[str, object] = reply.fields if isinstance(reply, Odd) else NO_FIELDS
        found = _as_scripted(reply)
        if found is None:
            found = self._reply(event, request, reply.reply if isinstance(reply, Odd) else reply)
        if isinstance(found, Evict):
            self._open.pop(event.conn, None)
            return answers.eviction(request, found.reason, found.window)
        if isinstance(found, Refuse):
            return answers.reply(request, status=found.status, fields=fields)
        if isinstance(found, Body):
            if found.is_login:
                self._enter(event, request)
            return answers.reply(request, found.data, status=found.status)
        return answers.reply(request, found, fields=fields)

    def _reply(
        self, event: Asked, request: Request, reply: Reply | None
    ) -> bytes | Evict | Refuse:
        """Return the body of the usual reply, or what the server refuses the request with."""
        operation, code = request.header.operation, request.header.code
        if operation == operations.REGISTER:
            return self._login(event, request)
        if operation == operations.NON_REPLICATED and code == operations.PING:
            return b""
        if event.conn not in self._open:
            if code in operations.LEGACY_LOGINS:
                return Evict(evictions.MALFORMED_LOGIN)
            is_read = operation == operations.NON_REPLICATED
            return Refuse(statuses.UNAUTHENTICATED) if is_read else Evict(evictions.NO_SESSION)
        if operation == operations.LOGOUT:
            del self._open[event.conn]
            return b""
        if operation == operations.NON_REPLICATED:
            return self._read(event, code, reply)
        return self._write(event, request)

    def _login(self, event: Asked, request: Request) -> bytes | Evict:
        prefix = read_prefix(request.body)
        if prefix is None:
            return Evict(evictions.MALFORMED_LOGIN)
        if not _is_served(prefix.protocol_version):
            return Evict(evictions.INCOMPATIBLE_PROTOCOL, (OWN.version, OWN.version))
        return answers.logged_in(*self._enter(event, request))

    def _enter(self, event: Asked, request: Request) -> tuple[Envelope, int]:
        """Log a client in; return the shapes of its number, and its session."""
        envelope = envelope_of(request.body)
        self._envelopes[event.conn] = envelope
        session = next(self._sessions, None) or next(self._own_sessions)
        self._open[event.conn] = session
        return envelope, session

    def _read(self, event: Asked, code: int, reply: Reply | None) -> bytes | Refuse:
        if event.poll is not None:
            found = reply if isinstance(reply, Batches) else self._poll(event)
            return answers.polled(self._envelopes[event.conn], found)
        if code == operations.GET_CONSUMER_OFFSET:
            return answers.stored_offset(self._stored)
        if code == operations.GET_CLUSTER_METADATA:
            return answers.cluster(self.addresses)
        body = answers.RESOURCES.get(code)
        if body is not None:
            return body
        is_known = code in operations.KNOWN_CODES
        return Refuse(statuses.FEATURE_UNAVAILABLE if is_known else statuses.INVALID_COMMAND)

    def _write(self, event: Asked, request: Request) -> bytes | Refuse:
        operation = request.header.operation
        if operation == operations.SEND_MESSAGES:
            return answers.confirmed(self._take(event))
        if operation in (operations.STORE_CONSUMER_OFFSET, operations.DELETE_CONSUMER_OFFSET):
            self._store(event)
            return answers.done()
        try:
            if operation == operations.CREATE_STREAM:
                return self._create(decode(CREATE_STREAM, request.body))
            if operation == operations.CREATE_TOPIC:
                return self._create(decode(CREATE_TOPIC, request.body))
        except WireError:
            return Refuse(statuses.INVALID_COMMAND)
        if operation in operations.METADATA:
            return answers.done()
        return Refuse(statuses.FEATURE_UNAVAILABLE)

    def _create(self, wanted: CreateStream | CreateTopic) -> bytes:
        if wanted.name == NAME:
            is_stream = isinstance(wanted, CreateStream)
            return answers.rejection(
                statuses.STREAM_NAME_ALREADY_EXISTS
                if is_stream
                else statuses.TOPIC_NAME_ALREADY_EXISTS
            )
        if isinstance(wanted, CreateTopic):
            return answers.created_topic(wanted.name)
        return answers.created_stream(next(self._created), wanted.name)

    def _poll(self, event: Asked) -> Batches:
        assert event.poll is not None
        found = log.find(event.poll, log.BATCHES, self._stored)
        if event.poll.auto_commit and found:
            self._stored = log.newest(found)
        return Batches(found)

    def _take(self, event: Asked) -> int:
        """Return the offset of the first message of a request to send."""
        first = self._next_offset
        self._next_offset += len(event.sending.messages) if event.sending is not None else 0
        return first

    def _store(self, event: Asked) -> None:
        if isinstance(event.payload, StoreConsumerOffset):
            self._stored = event.payload.offset

    def _json(self, event: Asked, reply: Reply | None) -> bytes:
        if isinstance(reply, Refuse):
            return http_refusal(reply.status)
        if event.poll is not None:
            return answers.polled_json(reply if isinstance(reply, Batches) else self._poll(event))
        if event.command == "send_messages":
            return answers.sent_json(self._take(event))
        self._store(event)
        return http_answer(404)


def _is_served(version: int) -> bool:
    """Return True if the shapes of a client's version are known, or if it says none.

    Two bits that must be zero are passed over: the law of clients judges them.
    """
    parts = {each.parts for each in ENVELOPES.values()}
    return not version or unpack_version(version & _VERSION_MASK)[:2] in parts


def _as_scripted(reply: Reply | None) -> bytes | Evict | Refuse | Body | None:
    """Return what answers a request whatever it is, or the body; None: the usual answer."""
    if isinstance(reply, Reject):
        return answers.rejection(reply.result)
    return reply if isinstance(reply, Evict | Refuse | Body) else None
