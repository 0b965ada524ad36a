"""Strategies for valid requests of every command, derived from their schemas."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from wireproof_kit.fuzz.case import Frame, Role
from wireproof_kit.fuzz.generate import field_map
from wireproof_kit.fuzz.generate.grammar import Kind, always, never
from wireproof_kit.fuzz.generate.values import Made, Rules, values
from wireproof_kit.iggy.fuzz.names import Names
from wireproof_kit.iggy.fuzz.states import ALL, JOINED
from wireproof_spec.decoding import Schema
from wireproof_spec.iggy import commands, header_kinds
from wireproof_spec.iggy.bodies.command_shapes import payload_schema
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.identifier import Identifier, make_named, numeric
from wireproof_spec.iggy.bodies.partitioning import (
    Partitioning,
    make_balanced,
    messages_key,
    partition_id,
)
from wireproof_spec.iggy.commands import COMMANDS
from wireproof_spec.iggy.frame import REQUEST, Request
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.kinds import CONSUMER_KIND
from wireproof_spec.outline import outline

TCP = "tcp"
_ROLES: Mapping[str, Role] = {"code": "enumerator"}
_ABSENT = (commands.KILL, commands.LOGIN_USER)
"""Commands that are not fuzzed: one ends a server that allows it, the other is unpublished."""

_CALM = (
    commands.SEND_MESSAGES,
    commands.POLL_MESSAGES,
    commands.GET_CONSUMER_OFFSET,
    commands.STORE_CONSUMER_OFFSET,
    commands.GET_STREAM,
    commands.GET_TOPIC,
    commands.GET_TOPICS,
    commands.GET_CONSUMER_GROUPS,
)
"""Commands with bytes of any content, after whose answer the connection is as before."""
IN_SCRATCH = (
    commands.DELETE_STREAM,
    commands.DELETE_TOPIC,
    commands.CREATE_TOPIC,
    commands.CREATE_PARTITIONS,
    commands.DELETE_PARTITIONS,
)
"""Commands that change a stream; they use the scratch stream, not the kept one."""


def kinds(there: Names) -> Iterator[Kind]:
    """Yield the kind of frame for each command, with names that exist on the target."""
    for code, name in COMMANDS.items():
        if code in _ABSENT:
            continue
        schema = payload_schema(code)
        drawn = values(outline(schema), _rules(there, code))
        states = (JOINED,) if code == commands.LEAVE_CONSUMER_GROUP else ALL
        calm = always if code in _CALM else never
        yield Kind(name, TCP, drawn.map(_Framing(name, code, schema)), states, calm)


@dataclass(frozen=True, slots=True)
class _Framing:
    """Builds requests of one command from payload values."""

    kind: str
    code: int
    schema: Schema[Any]

    def __call__(self, value: object) -> Frame:
        """Build the request and locate its fields, including those of the payload."""
        payload = field_map.frame(self.kind, self.schema, value)
        outer = field_map.frame(self.kind, REQUEST, Request(self.code, payload.data), _ROLES)
        return field_map.nest_frame(self.kind, outer, "payload", payload)


def names_of_cases() -> st.SearchStrategy[str]:
    """Return a strategy for names that a case may use for its stream or topic."""
    return st.text("abcdxyz019.-_ ", max_size=12).map(lambda text: f"wp_{text}z")


def _rules(there: Names, code: int) -> Rules:
    scratch = code in IN_SCRATCH
    rules: dict[str | type, Made] = {
        "stream": _draw_identifier(there.scratch_id, there.scratch)
        if scratch
        else _draw_identifier(there.stream_id, there.stream),
        "topic": st.integers(1, 3).map(numeric)
        if scratch
        else _draw_identifier(there.topic_id, there.topic),
        "partition_id": st.integers(1, there.partitions),
        "group_id": st.integers(1, 3),
        "client_id": st.integers(1, 2**32 - 1),
        "count": st.integers(1, 3 if scratch else 20),
        "partitions_count": st.integers(0, 3),
        "stream_id": st.just(there.scratch_id),
        "topic_id": st.integers(1, 3),
        "name": names_of_cases(),
        "payload": st.binary(min_size=1, max_size=100),
        "CreateStream.name": st.just(there.scratch),
        "StoreConsumerOffset.offset": st.integers(0, 3),
        Consumer: st.builds(Consumer, st.just(CONSUMER_KIND), st.integers(0, 9)),
        Partitioning: _partitionings(there),
        Header: make_headers(),
    }
    if code in (commands.JOIN_CONSUMER_GROUP, commands.LEAVE_CONSUMER_GROUP):
        rules["group_id"] = st.just(there.group_id)
    if code == commands.SEND_MESSAGES:
        rules["SentMessage.headers"] = st.lists(
            make_headers(), max_size=3, unique_by=lambda header: header.key
        ).map(tuple)
    return rules


def _draw_identifier(number: int, name: str) -> st.SearchStrategy[Identifier]:
    return st.sampled_from([numeric(number), make_named(name)])


def _partitionings(there: Names) -> st.SearchStrategy[Partitioning]:
    return st.one_of(
        st.just(make_balanced()),
        st.integers(1, there.partitions).map(partition_id),
        st.binary(min_size=1, max_size=20).map(messages_key),
    )


def make_headers() -> st.SearchStrategy[Header]:
    """Draw one header of a message."""
    keys = st.text("abcdefgh_-", min_size=1, max_size=10)
    return st.sampled_from(sorted(header_kinds.HEADER_KINDS)).flatmap(
        lambda kind: st.builds(Header, keys, st.just(kind), _content(kind))
    )


def _content(kind: int) -> st.SearchStrategy[bytes]:
    if kind == header_kinds.BOOL:
        return st.sampled_from([b"\0", b"\1"])
    if kind == header_kinds.STRING:
        return st.text(min_size=1, max_size=10).map(str.encode)
    width = header_kinds.KIND_WIDTHS.get(kind)
    return st.binary(min_size=width or 1, max_size=width or 20)
