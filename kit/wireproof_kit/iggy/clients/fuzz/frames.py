"""The grammar of what an Iggy server sends, over both transports and in both generations."""

import json
from collections.abc import Callable, Collection, Iterator
from typing import Any

from hypothesis import strategies as st

from wireproof_kit.fuzz.case import Frame
from wireproof_kit.fuzz.clients.http_answers import is_refusal as is_http_refusal
from wireproof_kit.fuzz.clients.http_answers import keep_document, response_frame
from wireproof_kit.fuzz.generate import field_map
from wireproof_kit.fuzz.generate.grammar import Grammar, Kind
from wireproof_kit.fuzz.json_fields import open_documents
from wireproof_kit.iggy.clients.answers import http_answer, http_refusal, polled_json
from wireproof_kit.iggy.clients.fuzz.states import LOGIN, POLL, SEND, STATES, STORE, named
from wireproof_kit.iggy.clients.log import make_message
from wireproof_kit.iggy.clients.peers import TOKEN_OBJECT
from wireproof_kit.iggy.clients.script import PARTITION, Messages
from wireproof_kit.iggy.fuzz.frames import make_headers
from wireproof_spec.decoding import Schema, encode
from wireproof_spec.iggy import limits
from wireproof_spec.iggy.bodies.poll_messages import PolledMessages, polled_messages_schema
from wireproof_spec.iggy.bodies.users import IDENTITY, Identity
from wireproof_spec.iggy.frame import RESPONSE, RESPONSE_HEAD_SIZE, Response
from wireproof_spec.iggy.generation import Generation
from wireproof_spec.iggy.message import Message
from wireproof_spec.iggy.states import STATES as MESSAGE_STATES
from wireproof_spec.iggy.statuses import OK, STATUSES

TCP, HTTP, NOTHING = "tcp", "http", "none"
_LENGTH_AT = 4
_OVER_HTTP = ("answer", "document")
_LIMITS = {
    "messages[].length": (limits.MAX_PAYLOADS_SIZE, limits.MAX_PAYLOADS_SIZE + 1),
    "messages[].headers[].key_length": (limits.MAX_KEY_SIZE, limits.MAX_KEY_SIZE + 1),
    "messages[].headers[].value_length": (limits.MAX_VALUE_SIZE, limits.MAX_VALUE_SIZE + 1),
}


def grammar(generations: Collection[Generation]) -> Grammar:
    """Return the answers that a server of these generations can send."""
    return Grammar(
        kinds=tuple(_kinds(generations)),
        states={TCP: named("tcp"), HTTP: named("http"), NOTHING: ()},
        entry=dict.fromkeys(STATES, ()),
        talking=NOTHING,
        is_delimited=is_delimited,
        is_hazardous=lambda kind, data: False,
        moves=lambda state, frame: None,
        limits=_LIMITS,
    )


def is_delimited(kind: str, data: bytes) -> bool:
    """Return True if the bytes are one answer over TCP, and the next one may follow.

    Real clients do not read a body behind an error, nor one of a single byte.
    """
    if kind.partition(" ")[0] in _OVER_HTTP:
        return False  # HTTP: the connection ends
    status, size = data[:_LENGTH_AT], int.from_bytes(data[_LENGTH_AT:][:4], "little")
    if len(data) != RESPONSE_HEAD_SIZE + size:
        return False
    return size != 1 if status == bytes(_LENGTH_AT) else size == 0


def is_refusal(kind: str, data: bytes) -> bool:
    """Return True if the bytes begin with an error, at which a client may end by design."""
    if kind.partition(" ")[0] in _OVER_HTTP:
        return is_http_refusal(data)
    return len(data) >= RESPONSE_HEAD_SIZE and data[:_LENGTH_AT] != bytes(_LENGTH_AT)


def _kinds(generations: Collection[Generation]) -> Iterator[Kind]:
    for generation in sorted(generations):
        name = "polled messages" + (", tagged" if generation == "tagged" else "")
        yield Kind(name, TCP, _polled(name, generation), named("tcp", POLL))
    identity = st.integers(1, 1 << 31).map(Identity).map(_Body("identity", IDENTITY))
    yield Kind("identity", TCP, identity, named("tcp", LOGIN))
    accepted = st.just(Response(OK, b"")).map(_Body("no body"))
    yield Kind("no body", TCP, accepted, named("tcp", SEND, STORE))
    refused = st.sampled_from([Response(each, b"") for each in sorted(STATUSES)])
    yield Kind("error", TCP, refused.map(_Body("error")), named("tcp"))
    yield from _http_kinds(generations)


class _Body:
    """Makes an answer over TCP of what a schema encodes; without one of a response itself."""

    def __init__(self, kind: str, schema: Schema[Any] | None = None) -> None:
        self._kind = kind
        self._schema = schema

    def __call__(self, value: object) -> Frame:
        """Return the answer with its fields."""
        if isinstance(value, Response):
            return field_map.frame(self._kind, RESPONSE, value)
        assert self._schema is not None
        inner = field_map.frame(self._kind, self._schema, value)
        outer = field_map.frame(self._kind, RESPONSE, Response(OK, encode(self._schema, value)))
        return field_map.nest_frame(self._kind, outer, "body", inner)


def _messages() -> st.SearchStrategy[tuple[Message, ...]]:
    """Draw messages as they are stored; each checksum is that of its payload."""
    return st.lists(
        st.builds(
            make_message,
            st.integers(0, 1 << 20) | st.integers(0, (1 << 64) - 1),
            st.binary(min_size=1, max_size=60),
            state=st.sampled_from(sorted(MESSAGE_STATES)),
            headers=st.lists(make_headers(), max_size=2, unique_by=lambda each: each.key).map(
                tuple
            ),
            id=st.integers(1, (1 << 128) - 1),
            timestamp=st.integers(0, (1 << 63) - 1),
        ),
        max_size=3,
    ).map(tuple)


def _polled(kind: str, generation: Generation) -> st.SearchStrategy[Frame]:
    tagged = generation == "tagged"

    def make(messages: tuple[Message, ...]) -> PolledMessages:
        last = max((message.offset for message in messages), default=0)
        return PolledMessages(PARTITION if tagged else None, last if tagged else None, messages)

    return _messages().map(make).map(_Body(kind, polled_messages_schema(generation)))


def _http_kinds(generations: Collection[Generation]) -> Iterator[Kind]:
    polled = _messages().flatmap(
        lambda messages: st.sampled_from(sorted(generations)).map(
            lambda each: http_answer(200, polled_json(Messages(messages), each))
        )
    )
    token = st.just(http_answer(200, json.dumps(TOKEN_OBJECT).encode()))
    for what, answers, place in (("messages", polled, POLL), ("login", token, LOGIN)):
        kind = f"answer with {what}"
        yield Kind(kind, HTTP, answers.map(_open(kind)), named("http", place))
        kind = f"document with {what}"
        documents = answers.map(_open(kind)).map(_values_only(kind))
        yield Kind(kind, HTTP, documents, named("http", place))
    sent = st.just(http_answer(201)).map(_open("answer created"))
    yield Kind("answer created", HTTP, sent, named("http", SEND))
    stored = st.just(http_answer(204)).map(_open("answer without body"))
    yield Kind("answer without body", HTTP, stored, named("http", STORE))
    refused = st.sampled_from([http_refusal(each) for each in sorted(STATUSES)])
    yield Kind("answer with error", HTTP, refused.map(_open("answer with error")), named("http"))


def _open(kind: str) -> Callable[[bytes], Frame]:
    return lambda data: open_documents(response_frame(kind, data))


def _values_only(kind: str) -> Callable[[Frame], Frame]:
    return lambda frame: keep_document(frame, kind)
