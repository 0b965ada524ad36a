"""One HTTP connection, with h11."""

import base64
import json
from collections.abc import Mapping
from urllib.parse import quote, urlencode

import h11

from wireproof_reference_impl.iggy.client.core import messages
from wireproof_reference_impl.iggy.client.core.calls import (
    Answer,
    Call,
    CreateStream,
    Login,
    Lost,
    Poll,
    Refused,
    Send,
    StoreOffset,
    Unreadable,
)
from wireproof_reference_impl.iggy.client.core.settings import Settings
from wireproof_spec.iggy.bodies.identifier import Identifier
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.header_kinds import HEADER_KINDS, STRING
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.kinds import PARTITIONING_NAMES, STRATEGIES

LARGEST_BODY = 64 << 20
_OK = range(200, 300)


class HttpTransport:
    """One HTTP connection of the Iggy client: calls become requests, responses answers."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._parser = h11.Connection(h11.CLIENT)
        self._call: Call | None = None
        self._token = ""
        self._status = 0
        self._body = bytearray()

    def begin(self) -> tuple[Call, ...]:
        """Return the login if the server is a tagged one; the answer to it has a token."""
        return (Login(),) if self._settings.generation != "published" else ()

    def ask(self, call: Call) -> bytes:
        """Return a call as the bytes of an HTTP request."""
        self._call, self._body = call, bytearray()
        method, target, value = request_of(call, self._settings)
        body = b"" if value is None else json.dumps(value).encode()
        host, port = self._settings.address
        headers = [("Host", f"{host}:{port}"), ("Content-Length", str(len(body)))]
        if value is not None:
            headers.append(("Content-Type", "application/json"))
        if self._token:
            headers.append(("Authorization", f"Bearer {self._token}"))
        head = self._parser.send(h11.Request(method=method, target=target, headers=headers)) or b""
        data = self._parser.send(h11.Data(data=body)) or b""
        return head + data + (self._parser.send(h11.EndOfMessage()) or b"")

    def receive(self, data: bytes) -> Answer | None:
        """Return the answer that these received bytes complete, or None."""
        try:
            self._parser.receive_data(data)
            ended = self._read()
        except h11.RemoteProtocolError as error:
            raise Lost(f"no HTTP answer: {error}") from None
        if ended:
            return self._answer()
        if not data:
            raise Lost("the server closed the connection before it answered")
        return None

    def lasts(self) -> bool:
        """Return True if the connection is kept open, and prepare for the next request."""
        if self._parser.states == {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}:
            self._parser.start_next_cycle()
            return not self._parser.trailing_data[0]
        return False

    def _read(self) -> bool:
        while True:
            event = self._parser.next_event()
            if event is h11.NEED_DATA or event is h11.PAUSED:
                return False
            if isinstance(event, h11.ConnectionClosed):
                return False
            if isinstance(event, h11.Response):
                self._status = event.status_code
            elif isinstance(event, h11.Data):
                self._body += event.data
                if len(self._body) > LARGEST_BODY:
                    raise Lost(f"the answer has more than {LARGEST_BODY} bytes")
            elif isinstance(event, h11.EndOfMessage):
                return True

    def _answer(self) -> Answer:
        call, body = self._call, bytes(self._body)
        check_status(self._status, body)
        if isinstance(call, Login):
            self._token = read_token(body)
        return messages.read_json(body, self._settings.generation) if _polls(call) else ()


def _polls(call: Call | None) -> bool:
    return isinstance(call, Poll)


def check_status(status: int, body: bytes) -> None:
    """Check that the status of an HTTP response means success.

    Raises:
        Refused: the status is not one of success.
    """
    if status not in _OK:
        beginning = body[:200].decode("utf-8", "replace")
        raise Refused(status, f"the server refuses with HTTP status {status}: {beginning}")


def read_token(body: bytes) -> str:
    """Return the token in the body of the response to a login.

    Raises:
        Unreadable: there is none.
    """
    try:
        token: str = json.loads(body)["access_token"]["token"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise Unreadable("the answer to the login has no token") from None
    return token


def request_of(call: Call, settings: Settings) -> tuple[str, str, object]:
    """Return a call as HTTP method, target and JSON body; the body is None if there is none."""
    if isinstance(call, Poll):
        return "GET", f"{_topic(settings)}/messages?{urlencode(poll_query(call, settings))}", None
    if isinstance(call, Send):
        return "POST", f"{_topic(settings)}/messages", send_object(call, settings)
    if isinstance(call, StoreOffset):
        return "PUT", f"{_topic(settings)}/consumer-offsets", _offset_object(call, settings)
    if isinstance(call, CreateStream):
        return "POST", "/streams", {"name": call.name}
    return "POST", "/users/login", {"username": settings.user, "password": settings.password}


def poll_query(call: Poll, settings: Settings) -> Mapping[str, object]:
    """Return the query parameters of a poll over HTTP."""
    return {
        _consumer_name(settings): settings.consumer,
        "partition_id": settings.partition,
        "kind": STRATEGIES[call.strategy],
        "value": call.value,
        "count": call.count,
        "auto_commit": str(call.auto_commit).lower(),
    }


def send_object(call: Send, settings: Settings) -> Mapping[str, object]:
    """Return the JSON body of a request that sends messages."""
    is_apache = settings.generation == "apache"
    make = apache_object if is_apache else message_object
    partitioning = {
        "kind": PARTITIONING_NAMES[call.partitioning.kind],
        "value": _base64(call.partitioning.value),
    }
    return {"partitioning": partitioning, "messages": list(map(make, call.messages))}


def message_object(message: SentMessage) -> dict[str, object]:
    """Return a message to send as JSON; the server adds state, checksum and offset."""
    return {
        "id": message.id,
        "payload": _base64(message.payload),
        "headers": {header.key: header_object(header) for header in message.headers} or None,
    }


def apache_object(message: SentMessage) -> dict[str, object]:
    """Return a message to send to a server of generation apache as JSON.

    An id that a number of 64 bits does not hold is text: the server reads no greater number.
    """
    return {
        "id": message.id if message.id < 1 << 64 else str(message.id),
        "payload": _base64(message.payload),
        "user_headers": [
            {"key": typed_object(STRING, header.key.encode()), "value": header_object(header)}
            for header in message.headers
        ],
    }


def header_object(header: Header) -> dict[str, object]:
    """Return a message header as JSON: the kind and the value."""
    return typed_object(header.kind, header.value)


def typed_object(kind: int, value: bytes) -> dict[str, object]:
    """Return a typed value as JSON, such as the value of a message header."""
    return {"kind": HEADER_KINDS[kind], "value": _base64(value)}


def _offset_object(call: StoreOffset, settings: Settings) -> Mapping[str, object]:
    return {
        _consumer_name(settings): str(settings.consumer),
        "partition_id": settings.partition,
        "offset": call.offset,
    }


def _consumer_name(settings: Settings) -> str:
    return "id" if settings.generation == "published" else "consumer_id"


def _topic(settings: Settings) -> str:
    return f"/streams/{_word(settings.stream)}/topics/{_word(settings.topic)}"


def _word(identifier: Identifier) -> str:
    return quote(identifier.name or str(identifier.number), safe="")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
