"""The requests to an adapter as frames with field maps.

Only what a system is to judge can be made wrong: the message of a request, or the name in it. The
request around it stays a JSON object, since an adapter could not answer anything else.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, TypeAlias

from hypothesis import strategies as st

from wireproof_kit.fuzz.case import Field, Frame
from wireproof_kit.fuzz.generate.grammar import Grammar, Kind
from wireproof_kit.fuzz.generate.random_source import RandomSource
from wireproof_kit.fuzz.generate.traps.text_traps import Trap
from wireproof_kit.fuzz.json_fields import open_documents
from wireproof_kit.oms import strategies
from wireproof_kit.oms.fuzz.placeholders import BODY, DESTINATION, TRANSACTION
from wireproof_spec.oms import names
from wireproof_spec.oms.names import LIMITS, Type
from wireproof_spec.strict_json import is_object, members_of

ADAPTER, NOBODY = "adapter", "none"
OPENED: Final = "opened"
CREATED: Final = "wp_fuzz_created"
UNKNOWN: Final = "wireproof-no-such-operation"
SEND, PREPARE = "send", "prepare"
WITH_MESSAGE: Final = (SEND, PREPARE)
"""The operations that hand over a message."""
Members: TypeAlias = dict[str, object]
Drawn: TypeAlias = Mapping[str, st.SearchStrategy[object]]
_RECEIPT: Final = "wp_fuzz_receipt"
_LONGEST: Final = LIMITS[Type.LONG][1]
_TEXTS = st.sampled_from(["a", "00420", "aBc", "e\u0301", "ß\u00a0中", "\U0001f600", "\"'\\/<&"])
_DEEP: Final = 40
_CLIENT_SETS: Drawn = {
    names.CORRELATION_ID: _TEXTS,
    names.MESSAGE_KEY: _TEXTS,
    names.TRACE_ID: _TEXTS,
    names.DELAY_TIME: st.sampled_from([0, -1]),
    names.EXPIRE_TIME: st.sampled_from([_LONGEST, 2**53 + 1]),
    names.PRIORITY: st.integers(1, 10),
    names.PARTITION: st.just(0),
}
_PROPERTIES = st.dictionaries(
    st.sampled_from(["a", "b", "wp-c"]), _TEXTS | st.integers(), max_size=2
)
_ALL = "request"
_MESSAGE = f"{names.MESSAGE}.{names.MESSAGE}.{names.EXTENSION_HEADER}"
_LIMITS: Mapping[str, tuple[int, ...]] = {
    f"{_MESSAGE}.{name}": (*LIMITS[kind], LIMITS[kind][0] - 1, LIMITS[kind][1] + 1)
    for name, kind in names.ATTRIBUTES.items()
    if kind is not Type.STRING
}


def _instead(text: bytes) -> Trap:
    def make(right: bytes, source: RandomSource) -> bytes:
        return text

    return make


_TRAPS: Mapping[str, Mapping[str, Trap]] = {
    "json": {
        "JSON: 40 arrays deep": _instead(b"[" * _DEEP + b"]" * _DEEP),
        "JSON: 40 objects deep": _instead(b'{"a":' * _DEEP + b"1" + b"}" * _DEEP),
        "JSON: a text of 64 KiB": _instead(b'"' + b"x" * (1 << 16) + b'"'),
        "JSON: texts by hundreds": _instead(
            b"{" + b",".join(b'"name%d":"value"' % number for number in range(300)) + b"}"
        ),
    },
    "text": {"32 KiB": _instead(b"x" * (1 << 15)), "a quote and an escape": _instead(rb"\"\\\t")},
}


def grammar(operations: Collection[str], claims: Collection[str]) -> Grammar:
    """Return the requests that an adapter with these operations and claims can be sent."""
    return Grammar(
        kinds=tuple(
            each for each in _kinds(claims) if each.name.split()[0] in (*operations, UNKNOWN)
        ),
        states={ADAPTER: (OPENED,), NOBODY: ()},
        entry={OPENED: ()},
        talking=NOBODY,
        is_delimited=lambda kind, data: True,
        is_hazardous=_is_hazardous,
        moves=lambda state, frame: None,
        limits=_LIMITS,
        traps=_TRAPS,
    )


def whole_grammar() -> Grammar:
    """Return the requests that an adapter with all operations and claims can be sent."""
    return grammar([kind.name for kind in _kinds(names.ATTRIBUTES)], names.ATTRIBUTES)


def _is_hazardous(kind: str, data: bytes) -> bool:
    """Return True if a request may create a destination whose name lacks the kit's prefix."""
    return kind == "create_destination" and b'"destination":"wp_' not in data


def _kinds(claims: Collection[str]) -> Iterator[Kind]:
    sets = {name: made for name, made in _CLIENT_SETS.items() if name in claims}
    for op in WITH_MESSAGE:
        own = {names.TRANSACTION_ID: st.just(TRANSACTION)} if op == PREPARE else {}
        yield _kind(op, _messages(sets, own).map(_write), (names.MESSAGE,))
    request: Members = {"destination": DESTINATION, "group": "wp_group"}
    received = {**request, "max": 1, "timeout_ms": 0}
    yield _kind("receive", st.just(_write(received)), (*request, "max"))
    yield _kind("create_destination", st.just(_write({"destination": CREATED})), ("destination",))
    for op in ("ack", "nack"):
        yield _kind(op, st.just(_write({"receipt": _RECEIPT})), ("receipt",))
    for op in ("commit", "rollback"):
        named = _write({names.TRANSACTION_ID: TRANSACTION})
        yield _kind(op, st.just(named), (names.TRANSACTION_ID,))
    yield _kind(UNKNOWN, st.just(_write(request)), tuple(request))


def documents(op: str) -> Mapping[str, st.SearchStrategy[bytes]]:
    """Return strategies of requests that each carry a random document, by the kind of document."""
    made = {"a valid document": strategies.valid, "a broken document": strategies.invalid}
    return {
        name: draw("oms/message")
        .map(_redirect)
        .flatmap(strategies.texts)
        .map(partial(_with_document, op))
        for name, draw in made.items()
    }


def _messages(sets: Drawn, own: Drawn) -> st.SearchStrategy[Members]:
    some = st.fixed_dictionaries(dict(own), optional=dict(sets))
    attributes = some | st.fixed_dictionaries({**own, **sets})
    header = st.fixed_dictionaries(
        {names.DESTINATION: st.just(DESTINATION)}, optional={names.QOS: st.sampled_from([0, 2])}
    )
    inner = st.fixed_dictionaries(
        {
            names.VERSION: st.just("1.0.0-alpha"),
            names.HEADER: header,
            names.EXTENSION_HEADER: attributes,
            names.PROPERTIES: _PROPERTIES,
            names.DATA: st.just(BODY),
        }
    )
    return inner.map(lambda message: {names.MESSAGE: {names.MESSAGE: message}})


def _redirect(document: object) -> object:
    """Return a drawn document for the destination of the run, with its own body if it has one."""
    whole = members_of(document)
    message = whole.get(names.MESSAGE)
    if not is_object(message):
        return document
    parts = dict(message)
    header = members_of(parts.get(names.HEADER))
    if isinstance(header.get(names.DESTINATION), str):
        parts[names.HEADER] = {**header, names.DESTINATION: DESTINATION}
    if isinstance(parts.get(names.DATA), str):
        parts[names.DATA] = BODY
    return {**whole, names.MESSAGE: parts}


def _with_document(op: str, text: bytes) -> bytes:
    """Return the request with a document in any spelling; a request is one line."""
    return b'{"op":"%s","message":%s}' % (op.encode(), text.replace(b"\n", b" "))


def _write(members: Members) -> bytes:
    return json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()


def _kind(op: str, members: st.SearchStrategy[bytes], fields: Collection[str]) -> Kind:
    def make(text: bytes) -> Frame:
        data = b'{"op":"%s",%s' % (op.encode(), text[1:])
        whole = open_documents(Frame(op, data, (Field(_ALL, 0, len(data), "json"),)))
        chosen = [field for field in whole.fields if _is_below(field.path, fields)]
        return Frame(op, data, tuple(_with_characters(data, chosen)))

    return Kind(op, ADAPTER, members.map(make), (OPENED,))


def _is_below(path: str, fields: Collection[str]) -> bool:
    return any(f"{path}.".startswith(f"{_ALL}.{field}.") for field in fields)


def _with_characters(data: bytes, fields: Sequence[Field]) -> Iterator[Field]:
    """Yield fields without the name of the whole, and what is between the quotes of a string."""
    for field in fields:
        path = field.path.removeprefix(f"{_ALL}.")
        yield replace(field, path=path)
        if data[field.start : field.start + 1] == b'"':
            yield Field(f"{path}.characters", field.start + 1, field.end - 1, "text")
