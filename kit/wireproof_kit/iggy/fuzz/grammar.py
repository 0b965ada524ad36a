"""The grammar from which fuzz cases for Iggy are generated."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from wireproof_kit.fuzz.generate.grammar import Grammar, Kind
from wireproof_kit.fuzz.generate.mutations import IN_QUERY
from wireproof_kit.fuzz.generate.traps.json_members import Members, special_members
from wireproof_kit.fuzz.generate.traps.text_traps import Traps, instead, make_append_trap
from wireproof_kit.iggy.fuzz import frames, http, states
from wireproof_kit.iggy.fuzz.names import CASES_PREFIX, Names
from wireproof_kit.iggy.wire import requests
from wireproof_spec.decoding import decode, extent
from wireproof_spec.iggy import commands, limits
from wireproof_spec.iggy.bodies.command_shapes import Payload, payload_schema
from wireproof_spec.iggy.bodies.identifier import Identifier
from wireproof_spec.iggy.bodies.streams import CreateStream, StreamRequest
from wireproof_spec.iggy.bodies.topics import CreateTopic, PartitionsRequest, TopicRequest
from wireproof_spec.iggy.frame import REQUEST
from wireproof_spec.wire_error import WireError

REQUEST_HEAD_SIZE = 8
MOST_PARTITIONS = 1000
"""Partitions that a request may create; more are a load on the server, not a parser's fault."""
_MANY_PARTITIONS = re.compile(rb"partitions_count[^0-9]{1,5}[0-9]{4}")
_DELETING = frozenset((commands.DELETE_STREAM, commands.DELETE_TOPIC, commands.DELETE_PARTITIONS))
_WATCHED = _DELETING | {
    commands.CREATE_STREAM,
    commands.CREATE_TOPIC,
    commands.CREATE_PARTITIONS,
}


def is_delimited(kind: str, data: bytes) -> bool:
    """Return True if the bytes are exactly one complete request of this kind."""
    if kind.partition(" ")[2]:
        return False  # HTTP: a connection each
    return _extent(data[:4]) == len(data)


@lru_cache(maxsize=4096)
def _extent(head: bytes) -> int | None:
    """Return the size that the first bytes of a request declare; None if they declare none."""
    try:
        return extent(REQUEST, head)
    except WireError:
        return None


class Hazards:
    """Recognises requests that may modify streams or topics that the kit did not create."""

    def __init__(self, there: Names) -> None:
        self._scratch = (there.scratch_id, there.scratch)
        self._deletable = tuple(
            f"DELETE /streams/{name}/".encode() for name in map(str, self._scratch)
        )

    def is_hazardous(self, kind: str, data: bytes) -> bool:
        """Return True if a request may stop the server or change anything but the scratch stream.

        Of an HTTP request, only the first bytes and the counts in the body are checked.
        """
        if kind.partition(" ")[2]:
            elsewhere = data.startswith(b"DELETE") and not data.startswith(self._deletable)
            return elsewhere or _MANY_PARTITIONS.search(data) is not None
        code = int.from_bytes(data[4:REQUEST_HEAD_SIZE], "little")
        if code == commands.KILL:
            return True
        if code not in _WATCHED:
            return False
        try:
            value = decode(payload_schema(code), data[REQUEST_HEAD_SIZE:])
        except WireError as error:
            # What stands behind a request that is otherwise right, some servers never look at.
            return error.field == "end" and code in _DELETING
        return self._is_beyond(code, value)

    def _is_beyond(self, code: int, value: Payload) -> bool:
        match value:
            case CreateStream(_, name):
                return not name.startswith(CASES_PREFIX)
            case CreateTopic(stream=stream, partitions_count=count):
                return count > MOST_PARTITIONS or not self._is_scratch(stream)
            case PartitionsRequest(stream=stream, count=count):
                return count > MOST_PARTITIONS or not self._is_scratch(stream)
            case StreamRequest(stream=stream) | TopicRequest(stream=stream):
                return code in _DELETING and not self._is_scratch(stream)
            case _:
                return False

    def _is_scratch(self, stream: Identifier) -> bool:
        return stream.number == self._scratch[0] or stream.name == self._scratch[1]


TRAPS: Traps = {
    "body": {"like a command": instead(requests.ping().data)},
    IN_QUERY: {"more parameters": make_append_trap(b"&id=&id=x&count=-1")},
}


_DOCUMENTS = {
    "POST /streams": "create-stream",
    "POST /streams/{s}/topics": "create-topic",
    "POST /streams/{s}/topics/{t}/partitions": "partitions-request",
    "POST /streams/{s}/topics/{t}/messages": "send-messages",
    "PUT /streams/{s}/topics/{t}/consumer-offsets": "store-consumer-offset",
    "POST /streams/{s}/topics/{t}/consumer-groups": "create-consumer-group",
}
MEMBERS: Mapping[str, Members] = {
    kind: special_members(f"iggy/{name}") for kind, name in _DOCUMENTS.items()
}
"""Special values for the members of JSON documents, by frame kind."""

LIMITS = {
    "messages[].length": (limits.MAX_PAYLOADS_SIZE, limits.MAX_PAYLOADS_SIZE + 1),
    "messages[].headers.length": (limits.MAX_HEADER_VALUES_SIZE,),
    "messages[].headers[].key_length": (limits.MAX_KEY_SIZE, limits.MAX_KEY_SIZE + 1),
    "messages[].headers[].value_length": (limits.MAX_VALUE_SIZE, limits.MAX_VALUE_SIZE + 1),
    "partitions_count": (limits.MAX_PARTITIONS + 1,),
    "count": (limits.MAX_PARTITIONS + 1,),
}


def grammar(there: Names, *, scapy: bool = False) -> Grammar:
    """Return the requests that can be sent to a server with these streams and topics.

    With `scapy`, include frames by its `fuzz()`; they need the optional dependency ``pcap``.
    """
    return Grammar(
        kinds=(*frames.kinds(there), *http.kinds(there), *(_by_scapy(there) if scapy else ())),
        states={frames.TCP: states.ALL, states.HTTP: (states.HTTP,)},
        entry=states.entry(there),
        talking=frames.TCP,
        is_delimited=is_delimited,
        is_hazardous=Hazards(there).is_hazardous,
        moves=states.moves,
        limits=LIMITS,
        traps=TRAPS,
        members=MEMBERS,
    )


def _by_scapy(there: Names) -> Iterator[Kind]:
    from wireproof_kit.iggy.pcap.fuzzed import kinds

    return kinds(there)
