"""Prepares a recorded Iggy exchange for another run: what its bytes name is created first."""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeAlias, cast

from wireproof_reports.exchange.protocol import Act, Plan
from wireproof_spec.decoding import decode, encode
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.apache.frames import encode_request, make_request
from wireproof_spec.iggy.apache.header import (
    COMMAND_AT,
    HEADER_SIZE,
    REQUEST_COMMAND,
    SIZE_AT,
    RequestHeader,
)
from wireproof_spec.iggy.bodies.command_shapes import Payload, payload_schema
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.consumer_groups import GroupRequest
from wireproof_spec.iggy.bodies.identifier import Identifier, numeric
from wireproof_spec.iggy.bodies.partitioning import partition_id
from wireproof_spec.iggy.bodies.poll_messages import PollMessages
from wireproof_spec.iggy.bodies.send_messages import SendMessages, SentMessage
from wireproof_spec.iggy.bodies.streams import (
    CREATE_STREAM,
    CREATE_STREAM_TAGGED,
    CreateStream,
)
from wireproof_spec.iggy.bodies.topics import CreateTopic
from wireproof_spec.iggy.frame import Request, RequestReader, request
from wireproof_spec.iggy.generation import Generation
from wireproof_spec.iggy.kinds import OFFSET
from wireproof_spec.wire_error import WireError

AT_ONCE = 1000
LOWEST, HIGHEST = 1 << 20, 1 << 30
"""The numbers that a run gives to its streams; those of topics are lower."""
_FRAME_LIMIT = 64 * 1024 * 1024
_PATH = re.compile(rb"/streams/(\d{7,10})\b")
_CREATED_HTTP = re.compile(rb'"stream_id": *(\d{7,10})\b')
_SPARE = tuple(b"wp_%012d_%d" % (count, count) for count in range(1, 5))
"""Names for streams whose names the exchange does not hold."""
_NAME = re.compile(rb"wp_(?!topic_)[0-9a-z]+_\d+")

_NEIGHBOUR = (1, "wp_neighbour", 1, "wp_topic_1")
"""Numbers and names of a stream and a topic for clients that use nothing of the case."""
_Place: TypeAlias = tuple[int, str, int, str]


class _OfStream(Protocol):
    stream: Identifier


def make_replayable(plan: Plan) -> Plan:
    """Return a script's plan that creates the streams of an exchange, and reads whole responses.

    Campaigns of the published generation need no login. Each run of a script has streams with new
    numbers. In the bytes, a name follows its length, and a number is binary, so a user cannot
    replace either by hand. A server of generation apache gives the numbers itself, so nothing is
    created; its campaigns name no topic in the scratch stream.
    """
    enters = any(act.kind == "secret" for act in plan.acts)
    is_named = bool(plan.arranged) and "scratch_topic_id" not in plan.arranged
    if is_named or any(_begins_apache(data) for data in _join_sent(plan.acts)):
        return replace(
            plan,
            reader="iggy/apache_reader.py.jinja",
            secured=frozenset({"secret"}) if enters else frozenset[str](),
            login="iggy/apache_login.py.jinja" if enters else "",
            probe=encode_request(make_request(RequestHeader(client=1, operation=2, code=1))),
        )
    plan = replace(
        plan,
        reader="iggy/reader.py.jinja",
        modules=("json", "zlib"),
        secured=frozenset({"secret"}) if enters else frozenset[str](),
        login="iggy/login.py.jinja" if enters else "",
        probe=request(commands.PING),
        listing=request(commands.GET_CLIENTS) if plan.is_lingering else b"",
    )
    there = plan.arranged
    if not there:
        return _with_streams(plan)
    kept = _place(there, "stream", "topic")
    places = [kept, _place(there, "scratch", "scratch_topic")]
    watched = [_place(there, "watched", "topic"), _NEIGHBOUR] if plan.is_beside else []
    own = [*places, *watched[:1]]
    return replace(
        plan,
        names=tuple(name.encode() for _, name, _, _ in own),
        numbers=tuple(number for number, _, _, _ in own),
        create=(*_creating([*places, *watched]), _joinable(kept, int(there["group_id"]))),
        bystanders="iggy/bystanders.py.jinja" if watched else "",
        watched=tuple((_sending(place), _polling(place)) for place in watched),
    )


def _begins_apache(data: bytes) -> bool:
    """Return True if bytes begin with the header of a request of generation apache."""
    size = int.from_bytes(data[SIZE_AT : SIZE_AT + 4], "little")
    is_whole = len(data) >= HEADER_SIZE and size >= HEADER_SIZE
    return is_whole and data[COMMAND_AT] == REQUEST_COMMAND and not any(data[:32])


def _with_streams(plan: Plan) -> Plan:
    """Return a plan that first creates the streams that its bytes use without creating them."""
    sent = list(_join_sent(plan.acts))
    values = [value for data in sent for value in _payloads(data)]
    made = {value.stream_id for value in values if isinstance(value, CreateStream)}
    made |= {int(number) for number in _find(_CREATED_HTTP, sent)}
    used = {value.stream.number or 0 for value in values if not isinstance(value, CreateStream)}
    used |= {int(number) for number in _find(_PATH, sent)}
    own = {number for number in used | made if LOWEST <= number < HIGHEST}
    found = dict.fromkeys(name[0] for data in sent for name in _NAME.finditer(data))
    names = (*found, *_SPARE) if own else ()
    create = [
        line
        for number, name in zip(sorted(own - made), names, strict=False)
        for line in _stream(number, name.decode())
    ]
    return replace(plan, numbers=tuple(sorted(own)), names=names, create=tuple(create))


def _join_sent(acts: Sequence[Act]) -> Iterable[bytes]:
    """Return all that was sent, by connection: a request may have been sent in pieces."""
    sent: dict[str, bytes] = {}
    for act in acts:
        if act.kind == "send" and isinstance(act.data, bytes):
            sent[act.connection] = sent.get(act.connection, b"") + act.data
    return sent.values()


def _payloads(data: bytes) -> Iterator[_OfStream | CreateStream]:
    """Yield what the requests among sent bytes carry that create or name a stream."""
    reader = RequestReader(_FRAME_LIMIT)
    reader.feed(data)
    with contextlib.suppress(WireError):
        while isinstance(found := reader.next_request(), Request):
            value = next(_readings(found), None)
            if isinstance(value, CreateStream) or hasattr(value, "stream"):
                yield cast("_OfStream | CreateStream", value)


def _readings(found: Request) -> Iterator[Payload]:
    """Yield a payload as each generation reads it, if it does."""
    generations: tuple[Generation, ...] = ("published", "tagged")
    for generation in generations:
        with contextlib.suppress(LookupError, WireError):
            yield decode(payload_schema(found.code, generation), found.payload)


def _find(pattern: re.Pattern[bytes], sent: Sequence[bytes]) -> Iterator[bytes]:
    return (match[1] for data in sent for match in pattern.finditer(data))


def _stream(number: int, name: str) -> tuple[bytes, ...]:
    """Return requests that create a stream, in each form; a server refuses the other one."""
    forms = (CREATE_STREAM, CREATE_STREAM_TAGGED)
    made = CreateStream(number, name)
    return tuple(request(commands.CREATE_STREAM, encode(form, made)) for form in forms)


def _place(there: Mapping[str, str], stream: str, topic: str) -> _Place:
    return int(there[f"{stream}_id"]), there[stream], int(there[f"{topic}_id"]), there[topic]


def _creating(places: Sequence[_Place]) -> Iterator[bytes]:
    """Yield the requests that create streams with a topic each."""
    for number, name, inner, topic in places:
        yield _request(commands.CREATE_STREAM, CreateStream(number, name))
        yield _request(commands.CREATE_TOPIC, _one_partition(number, inner, topic))


def _joinable(place: _Place, group: int) -> bytes:
    """Return the request that creates a consumer group."""
    joined = GroupRequest(numeric(place[0]), numeric(place[2]), group)
    return _request(commands.CREATE_CONSUMER_GROUP, joined)


def _sending(place: _Place) -> bytes:
    """Return a request to send a message without its last fields, `length` and `payload`."""
    one = SentMessage(0, (), b"x")
    sent = SendMessages(numeric(place[0]), numeric(place[2]), partition_id(1), (one,))
    return _request(commands.SEND_MESSAGES, sent)[:-5]


def _polling(place: _Place) -> bytes:
    """Return a poll from an offset, which is 13 bytes before the end."""
    stream, topic = numeric(place[0]), numeric(place[2])
    poll = PollMessages(Consumer(1, 77), stream, topic, 1, OFFSET, 0, AT_ONCE, 0)
    return _request(commands.POLL_MESSAGES, poll)


def _one_partition(stream: int, number: int, name: str) -> CreateTopic:
    return CreateTopic(
        stream=numeric(stream),
        topic_id=number,
        partitions_count=1,
        compression=None,
        message_expiry=None,
        max_topic_size=None,
        replication_factor=None,
        name=name,
    )


def _request(code: int, payload: Payload) -> bytes:
    return request(code, encode(payload_schema(code), payload))
