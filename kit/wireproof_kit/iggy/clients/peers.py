"""The server that a client meets: one for each transport, with the same log; without I/O."""

import json
from collections.abc import Iterator, Mapping, Sequence

from wireproof_kit.clients.effects import Ask, Effect, HangUp, Send
from wireproof_kit.clients.events import Answered, Event, Greeted, Malformed
from wireproof_kit.clients.pieces import Pieces
from wireproof_kit.iggy.apache import APACHE
from wireproof_kit.iggy.clients import log
from wireproof_kit.iggy.clients.answers import (
    http_answer,
    http_refusal,
    polled_body,
    polled_json,
    raw_effects,
    tcp_answer,
)
from wireproof_kit.iggy.clients.apache.front import ApacheFront, Postponed
from wireproof_kit.iggy.clients.decoder import HTTP, TCP
from wireproof_kit.iggy.clients.driver_requests import settings
from wireproof_kit.iggy.clients.events import Asked
from wireproof_kit.iggy.clients.resources import resource_body, resource_object
from wireproof_kit.iggy.clients.script import Messages, Raw, Refuse, Reply, Script
from wireproof_spec.decoding import encode
from wireproof_spec.driver.lines import OPEN, VERSION
from wireproof_spec.iggy.bodies.consumer_offsets import StoreConsumerOffset
from wireproof_spec.iggy.bodies.users import IDENTITY, Identity
from wireproof_spec.iggy.generation import framed
from wireproof_spec.iggy.statuses import INVALID_COMMAND, OK, STREAM_ID_ALREADY_EXISTS

TOKEN = "wireproof"
_EMPTY = frozenset(
    {
        "ping",
        "store_consumer_offset",
        "create_consumer_group",
        "delete_consumer_group",
        "join_consumer_group",
        "leave_consumer_group",
    }
)
"""Commands that are answered without a body, and change only the stored offset."""
_EXISTING = frozenset({"create_stream", "create_topic"})
TOKEN_OBJECT = {"user_id": 1, "access_token": {"token": TOKEN, "expiry": 4_102_444_800}}


class IggyPeers:
    """The Iggy server that the kit plays for a client under test, by the script of a case."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._values: Mapping[str, str] = {}
        self._polls, self._sends = iter(script.polls), iter(script.sends)
        self._asks = iter(script.asks)
        self._stored: int | None = None
        self._apache = ApacheFront(script)
        replaced = {each.offset: each for each in script.stored}
        self._log = [replaced.get(each.offset, each) for each in log.LOG]

    def names(self) -> Sequence[str]:
        """Return the names of the server's ports."""
        return (TCP, HTTP)

    def has_http(self, peer: str) -> bool:
        """Return True if the port with this name speaks HTTP."""
        return peer == HTTP

    def pieces(self, peer: str) -> Pieces | None:
        """Return in which pieces the script lets the server write."""
        return self._script.pieces

    def begin(self, addresses: Mapping[str, str], values: Mapping[str, str]) -> Iterator[Effect]:
        """Store the settings for the driver; there are no effects before the client starts."""
        self._values = values
        self._apache.addresses = addresses
        return iter(())

    def react(self, event: Event) -> Iterator[Effect]:
        """Yield what the server does because of an event, such as to answer a request."""
        if isinstance(event, Asked):
            is_theirs = event.peer == HTTP and event.command in ("poll_messages", "send_messages")
            is_apache = event.generation == APACHE
            if is_apache or (is_theirs and self._script.generation == APACHE):
                yield from self._apache.answer(event)
            else:
                yield from self._answer(event)
        elif isinstance(event, Malformed):
            # As real servers: a request over TCP that cannot be read ends the connection.
            if event.peer == HTTP:
                yield Send(event.conn, http_answer(400))
            yield HangUp(event.conn)
        elif isinstance(event, Greeted):
            yield Ask(OPEN, {"version": VERSION, "settings": dict(settings(self._values))})
        elif isinstance(event, Answered):
            for ask in self._asks:
                yield Ask(ask.op, ask.fields)
                return

    def react_to_timer(self, token: object) -> Iterator[Effect]:
        """Yield the late answer to a request of generation apache."""
        if isinstance(token, Postponed):
            yield from self._apache.answer_late(token)

    def _answer(self, event: Asked) -> Iterator[Effect]:
        reply = self._reply(event)
        if isinstance(reply, Raw):
            yield from raw_effects(event.conn, reply)
            return
        yield Send(event.conn, self._bytes(event, reply))
        if event.closes:
            yield HangUp(event.conn)

    def _reply(self, event: Asked) -> Reply | None:
        """Return the special answer to a request, or the messages of a poll; else None.

        Scripts for generation apache have answers that the others lack.
        """
        if event.poll is not None:
            return next(self._polls, None) or self._poll(event)
        if event.command == "send_messages":
            return next(self._sends, None)
        if isinstance(event.payload, StoreConsumerOffset):
            self._stored = event.payload.offset
        return None

    def _poll(self, event: Asked) -> Messages:
        assert event.poll is not None
        messages = log.find(event.poll, self._log, self._stored)
        if event.poll.auto_commit == 1 and messages:
            self._stored = messages[-1].offset
        return Messages(messages)

    def _bytes(self, event: Asked, reply: Reply | None) -> bytes:
        over_http = event.peer == HTTP
        if isinstance(reply, Refuse):
            return http_refusal(reply.status) if over_http else tcp_answer(reply.status)
        if isinstance(reply, Messages):
            if over_http:
                return http_answer(200, polled_json(reply, framed(event.generation)))
            return tcp_answer(OK, polled_body(reply, framed(event.generation)))
        return (_over_http if over_http else self._over_tcp)(event)

    def _over_tcp(self, event: Asked) -> bytes:
        if event.command == "send_messages" or event.command in _EMPTY:
            return tcp_answer(OK)
        if event.command == "login_user":
            return tcp_answer(OK, encode(IDENTITY, Identity(1)))
        if event.command in _EXISTING:
            return tcp_answer(STREAM_ID_ALREADY_EXISTS)
        body = resource_body(event.command, framed(event.generation), self._stored or 0)
        return tcp_answer(INVALID_COMMAND) if body is None else tcp_answer(OK, body)


def _over_http(event: Asked) -> bytes:
    if event.command == "send_messages":
        return http_answer(201)
    if event.command == "store_consumer_offset":
        return http_answer(204)
    if event.command == "ping":
        return http_answer(200, b"pong", json=False)
    if event.command == "login_user":
        return http_answer(200, json.dumps(TOKEN_OBJECT).encode())
    if event.command in _EXISTING:
        return http_refusal(STREAM_ID_ALREADY_EXISTS)
    value = resource_object(event.command)
    return http_answer(404) if value is None else http_answer(200, json.dumps(value).encode())
