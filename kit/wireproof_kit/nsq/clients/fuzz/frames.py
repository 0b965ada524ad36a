"""The grammar of what nsqd and nsqlookupd send, for cases against clients."""

from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import strategies as st

from wireproof_kit.fuzz.case import Frame, Role
from wireproof_kit.fuzz.generate import field_map
from wireproof_kit.fuzz.generate.field_map import nest_frame
from wireproof_kit.fuzz.generate.grammar import Grammar, Kind
from wireproof_kit.fuzz.generate.json_documents import texts
from wireproof_kit.fuzz.generate.values import Rules, values
from wireproof_kit.fuzz.json_fields import open_documents
from wireproof_kit.nsq.clients.fuzz import documents, states
from wireproof_kit.nsq.clients.fuzz.states import IDENTIFY, PUBLISH, PUSH, STATES, SUBSCRIBE
from wireproof_spec.decoding import Schema, encode
from wireproof_spec.nsq import error_codes, names
from wireproof_spec.nsq.frame import (
    FRAME_TYPE_ERROR,
    FRAME_TYPE_MESSAGE,
    FRAME_TYPE_RESPONSE,
    NEED_MORE,
    SERVER_FRAME,
    FrameReader,
    ServerFrame,
)
from wireproof_spec.nsq.message import Extend, message_schema
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE
from wireproof_spec.outline import outline
from wireproof_spec.wire_error import WireError

TCP, HTTP, NOTHING = "tcp", "http", "none"
LARGEST = (1 << 32) - 1
"""The greatest size that a frame can declare; a size need not be believable to be decoded."""
_ROLES: Mapping[str, Role] = {"extend.data": "json"}
_IDS = st.integers(1, 1 << 32)
_HEADERS = st.sampled_from([b"{}", b'{"k":"v"}', b'{"##client_dispatch_tag":"tag"}'])
_NO_HEADER = Extend(names.EXT_VERSION_NONE, None)
_RULES: Rules = {
    "timestamp_ns": st.integers(1, 1 << 61),
    "attempts": st.integers(1, 5),
    "internal_id": _IDS,
    "trace_id": st.integers(0, (1 << 64) - 1),
    "disk_queue_offset": _IDS,
    "disk_queue_data_size": st.integers(30, 1 << 20),
    "extend": _HEADERS.map(lambda data: Extend(names.EXT_VERSION_JSON, data))
    | st.just(_NO_HEADER),
    "body": st.binary(min_size=0, max_size=60),
}
_LIMITS = {"disk_queue_offset": ((1 << 63) - 1, 1 << 63), "internal_id": ((1 << 63) - 1, 1 << 63)}


def grammar() -> Grammar:
    """Return the frames and lookup responses that servers can send to a client."""
    http = states.named(*states.HTTP_PLACES)
    tcp = tuple(name for name in STATES if name not in (*http, *states.IDLE))
    return Grammar(
        kinds=tuple(_kinds()),
        states={TCP: tcp, HTTP: http, NOTHING: states.IDLE},
        entry=dict.fromkeys(STATES, ()),
        talking=NOTHING,
        is_delimited=is_delimited,
        is_hazardous=lambda kind, data: False,
        moves=lambda state, frame: None,
        limits=_LIMITS,
    )


def is_delimited(kind: str, data: bytes) -> bool:
    """Return True if the bytes are complete frames that leave the stream usable."""
    reader = FrameReader(LARGEST)
    reader.feed(data)
    try:
        while (frame := reader.next_frame()) is not NEED_MORE:
            if any(each in frame.data for each in (b"tls_v1", b"deflate", b"snappy")):
                return kind == _IDENTITY and b'"tls_v1"' in data and not _turns(data)
    except WireError:
        return False
    return not reader.pending


def _turns(data: bytes) -> bool:
    """Return True if an answer to IDENTIFY may announce another encoding of the stream."""
    plain = data.replace(b" ", b"")
    return not all(b'"%s":false' % each in plain for each in (b"tls_v1", b"deflate", b"snappy"))


_IDENTITY = "answer to IDENTIFY"


def _kinds() -> Iterator[Kind]:
    for name, each in _messages().items():
        due = tuple(state for state in states.named(PUSH) if _is_due(state, each))
        yield Kind(name, TCP, _frames(name, FRAME_TYPE_MESSAGE, message_schema(**each)), due)
    yield Kind(_IDENTITY, TCP, _texts(_IDENTITY, _identities()), states.named(IDENTIFY))
    plain = tuple(n for n in states.named(PUBLISH) if not STATES[n].trace)
    answered = (*states.named(IDENTIFY, SUBSCRIBE), *plain)
    yield Kind("OK", TCP, _texts("OK", st.just(names.OK), role="fixed"), answered)
    traced = tuple(name for name in states.named(PUBLISH) if STATES[name].trace)
    traces = _frames("answer to PUB_TRACE", FRAME_TYPE_RESPONSE, TRACE_RESPONSE)
    yield Kind("answer to PUB_TRACE", TCP, traces, traced)
    beat = _texts("heartbeat", st.just(names.HEARTBEAT), role="fixed")
    yield Kind("heartbeat", TCP, beat, states.named(PUSH))
    everywhere = states.named(PUSH, IDENTIFY, SUBSCRIBE, PUBLISH)
    yield Kind("error", TCP, _errors(), everywhere)
    for name, made in documents.kinds().items():
        place = states.LISTLOOKUP if "listlookup" in name else states.LOOKUP
        yield Kind(name, HTTP, made, states.named(place))


def _messages() -> Mapping[str, dict[str, bool]]:
    return {
        " ".join(["message", *["ext"] * extend, *["ordered"] * ordered]): {
            "extend": extend,
            "ordered": ordered,
        }
        for extend in (False, True)
        for ordered in (False, True)
    }


def _is_due(state: str, message: Mapping[str, bool]) -> bool:
    there = STATES[state]
    return (there.extend, there.has_place) == (message["extend"], message["ordered"])


def _frames(kind: str, frame_type: int, schema: Schema[Any]) -> st.SearchStrategy[Frame]:
    def make(value: object) -> Frame:
        return _nest(kind, frame_type, field_map.frame(kind, schema, value, _ROLES))

    return values(outline(schema), _RULES).map(make)


def _texts(
    kind: str, data: st.SearchStrategy[bytes], *, role: Role = "json"
) -> st.SearchStrategy[Frame]:
    def make(text: bytes) -> Frame:
        roles: Mapping[str, Role] = {"data": role}
        value = ServerFrame(FRAME_TYPE_RESPONSE, text)
        return open_documents(field_map.frame(kind, SERVER_FRAME, value, roles))

    return data.map(make)


def _errors() -> st.SearchStrategy[Frame]:
    codes = sorted(code for name, code in vars(error_codes).items() if name.startswith("E_"))

    def make(text: str) -> Frame:
        value = ServerFrame(FRAME_TYPE_ERROR, text.encode())
        return field_map.frame("error", SERVER_FRAME, value, {"data": "text"})

    return st.builds("{} {}".format, st.sampled_from(codes), st.sampled_from(["", "why"])).map(
        make
    )


def _nest(kind: str, frame_type: int, inner: Frame) -> Frame:
    outer = Frame(
        kind,
        encode(SERVER_FRAME, ServerFrame(frame_type, inner.data)),
        field_map.fields_of(
            SERVER_FRAME, encode(SERVER_FRAME, ServerFrame(frame_type, inner.data))
        ),
    )
    return nest_frame(kind, outer, "data", inner)


def _identities() -> st.SearchStrategy[bytes]:
    no = st.just(value=False)
    encodings = dict.fromkeys(("tls_v1", "deflate", "snappy", "auth_required"), no)
    return texts("nsq/identify-response", {**encodings, "max_rdy_count": st.just(2500)})
