"""Strategies for valid requests of generation apache, derived from their schemas."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from hypothesis import strategies as st

from wireproof_kit.fuzz.case import Field, Frame
from wireproof_kit.fuzz.generate import field_map
from wireproof_kit.fuzz.generate.grammar import Kind, always, never
from wireproof_kit.fuzz.generate.values import Made, Rules, values
from wireproof_kit.iggy.fuzz.frames import names_of_cases
from wireproof_kit.iggy.fuzz.names import Names
from wireproof_spec.decoding import Schema, encode
from wireproof_spec.iggy import header_kinds
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.batch import (
    Batch,
    BatchHeader,
    MessageFrame,
    make_batch,
    seal_frame,
)
from wireproof_spec.iggy.apache.bodies.messages import SendMessages, SendMetadata
from wireproof_spec.iggy.apache.bodies.places import OptionalPartition
from wireproof_spec.iggy.apache.bodies.request_shapes import OF_CODES, OF_OPERATIONS
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_spec.iggy.apache.header import (
    HEADER_SIZE,
    REQUEST_HEADER,
    RequestHeader,
)
from wireproof_spec.iggy.apache.user_headers import USER_HEADERS, TypedBytes, UserHeader
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.identifier import Identifier, make_named, numeric
from wireproof_spec.iggy.bodies.partitioning import (
    Partitioning,
    make_balanced,
    messages_key,
    partition_id,
)
from wireproof_spec.iggy.kinds import CONSUMER_KIND, GROUP_KIND
from wireproof_spec.outline import outline

TCP = "tcp"
FRESH, ENTERED = "fresh", "entered"
GROUP = "wp_fuzz_group"

_OF_GROUPS = (
    operations.CREATE_CONSUMER_GROUP,
    operations.DELETE_CONSUMER_GROUP,
    operations.JOIN_CONSUMER_GROUP,
    operations.LEAVE_CONSUMER_GROUP,
)
_IN_SCRATCH = (operations.CREATE_TOPIC, operations.DELETE_TOPIC, operations.DELETE_STREAM)
_CALM = (
    operations.SEND_MESSAGES,
    operations.STORE_CONSUMER_OFFSET,
    operations.POLL_MESSAGES,
    operations.GET_CONSUMER_OFFSET,
    operations.GET_STREAM,
    operations.GET_TOPIC,
)
"""Requests after whose answer the connection is as before, whatever they say."""
_TIMES = st.integers(0, 2**64 - 1)


def kinds(there: Names) -> Iterator[Kind]:
    """Yield the kind of frame for each request, with names that exist on the target."""
    yield Kind(
        "login", TCP, _drawn(there, "login", operations.REGISTER, 0, OWN.login), (FRESH, ENTERED)
    )
    for operation, schema in OF_OPERATIONS.items():
        name = operations.OPERATIONS[operation]
        yield _kind(there, name, operation, 0, schema)
    for code, schema in OF_CODES.items():
        name = operations.CODES.get(code, f"command {code}")
        yield _kind(there, name, operations.NON_REPLICATED, code, schema)


def _kind(there: Names, name: str, operation: int, code: int, schema: Schema[Any]) -> Kind:
    calm = always if (code or operation) in _CALM else never
    drawn = _drawn(there, name, operation, code, schema)
    return Kind(name, TCP, drawn, (FRESH, ENTERED) if code else (ENTERED,), calm)


def _drawn(
    there: Names, name: str, operation: int, code: int, schema: Schema[Any]
) -> st.SearchStrategy[Frame]:
    bodies = values(outline(schema), rules_of(there, code or operation))
    headers = st.builds(
        RequestHeader,
        client=st.integers(1, 2**128 - 1),
        timestamp=_TIMES,
        request=st.just(0) if operation == operations.REGISTER else st.integers(1, 2**63),
        session=st.just(0) if operation == operations.REGISTER else st.integers(1, 2**63),
        operation=st.just(operation),
        code=st.just(code),
    )
    return st.builds(Framing(name, schema), headers, bodies)


@dataclass(frozen=True, slots=True)
class Framing:
    """Builds requests of one kind from a header and the value of a body."""

    kind: str
    schema: Schema[Any]

    def __call__(self, header: RequestHeader, value: object) -> Frame:
        """Build the request and locate its fields; `header.size` measures all of the body."""
        body = field_map.frame(self.kind, self.schema, value)
        own = replace_size(header, HEADER_SIZE + len(body.data))
        front = field_map.frame(self.kind, REQUEST_HEADER, own)
        fields = [_of_header(each, len(body.data)) for each in front.fields]
        fields += field_map.shift_fields(body.fields, HEADER_SIZE, ("header.size",))
        return Frame(self.kind, front.data + body.data, tuple(fields))


def replace_size(header: RequestHeader, size: int) -> RequestHeader:
    """Return a header with the size of its frame."""
    return msgspec.structs.replace(header, size=size)


def _of_header(field: Field, size: int) -> Field:
    path = f"header.{field.path}"
    if field.path == "size":
        covers = (HEADER_SIZE, HEADER_SIZE + size)
        return replace(field, path=path, role="length", covers=covers)
    is_choice = field.path in ("command", "operation", "code")
    return replace(field, path=path, role="enumerator" if is_choice else field.role)


def rules_of(there: Names, which: int) -> Rules:
    """Return the strategies for what the schemas do not determine."""
    scratch = which in _IN_SCRATCH
    rules: dict[str | type, Made] = {
        "stream": _identifiers(there.scratch_id, there.scratch)
        if scratch
        else _identifiers(there.stream_id, there.stream),
        "topic": st.integers(0, 3).map(numeric)
        if scratch
        else _identifiers(there.topic_id, there.topic),
        "group": st.sampled_from([numeric(0), numeric(1), make_named(GROUP)]),
        "count": st.integers(1, 20),
        "partitions_count": st.integers(0, 3),
        "options": st.just(()),
        "name": names_of_cases(),
        "CreateGroup.name": st.sampled_from([GROUP, f"{GROUP}2"]),
        "offset": st.integers(0, 3),
        "protocol_version": st.just(OWN.version),
        OptionalPartition: st.sampled_from([OptionalPartition(0, 0), OptionalPartition(1, 0)]),
        Consumer: st.builds(
            Consumer,
            st.sampled_from([CONSUMER_KIND, GROUP_KIND]),
            st.integers(0, 9).map(numeric) | st.just(make_named(GROUP)),
        ),
        SendMessages: sends(there),
    }
    return rules


def _make_send(
    stream: Identifier, topic: Identifier, how: Partitioning, batch: Batch
) -> SendMessages:
    return SendMessages(SendMetadata(stream, topic, how, len(batch.frames)), batch)


def sends(there: Names) -> st.SearchStrategy[SendMessages]:
    """Return a strategy for sends with right checksums."""
    return st.builds(
        _make_send,
        _identifiers(there.stream_id, there.stream),
        _identifiers(there.topic_id, there.topic),
        _partitionings(),
        batches(),
    )


def batches() -> st.SearchStrategy[Batch]:
    """Return a strategy for batches of up to three messages."""
    frames = st.lists(
        st.tuples(
            st.integers(1, 2**128 - 1),
            st.integers(0, 2**32 - 1),
            st.binary(min_size=1, max_size=100),
            st.lists(user_headers(), max_size=3),
        ),
        min_size=1,
        max_size=3,
    )
    return st.builds(_batch, _TIMES, frames)


def _batch(origin: int, drawn: Sequence[tuple[int, int, bytes, Sequence[UserHeader]]]) -> Batch:
    frames = [
        seal_frame(
            MessageFrame(
                id=number,
                offset_delta=delta,
                timestamp_delta=time,
                payload=payload,
                user_headers=encode(USER_HEADERS, tuple(headers)),
            )
        )
        for delta, (number, time, payload, headers) in enumerate(drawn)
    ]
    return make_batch(BatchHeader(origin_timestamp=origin), frames)


def user_headers() -> st.SearchStrategy[UserHeader]:
    """Return a strategy for user headers: a string as the key, and any kind of value."""
    keys = st.text("abcdefgh_-", min_size=1, max_size=10).map(str.encode)
    content = st.sampled_from(sorted(header_kinds.HEADER_KINDS)).flatmap(
        lambda kind: st.builds(TypedBytes, st.just(kind), _content(kind))
    )
    return st.builds(
        UserHeader, st.builds(TypedBytes, st.just(header_kinds.STRING), keys), content
    )


def _content(kind: int) -> st.SearchStrategy[bytes]:
    width = header_kinds.KIND_WIDTHS.get(kind)
    if kind == header_kinds.BOOL:
        return st.sampled_from([b"\0", b"\1"])
    if kind == header_kinds.STRING:
        return st.text(min_size=1, max_size=10).map(str.encode)
    return st.binary(min_size=width or 1, max_size=width or 20)


def _identifiers(number: int, name: str) -> st.SearchStrategy[Identifier]:
    return st.sampled_from([numeric(number), make_named(name)])


def _partitionings() -> st.SearchStrategy[Partitioning]:
    return st.one_of(
        st.just(make_balanced()),
        st.just(partition_id(0)),
        st.binary(min_size=1, max_size=20).map(messages_key),
    )
