"""Prepares a recorded Iggy exchange for another run: what its bytes name is created first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from wireproof_reports.exchange.protocol import Plan
from wireproof_spec.decoding import encode
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.command_shapes import Payload, payload_schema
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.consumer_groups import GroupRequest
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.partitioning import partition_id
from wireproof_spec.iggy.bodies.poll_messages import PollMessages
from wireproof_spec.iggy.bodies.send_messages import SendMessages, SentMessage
from wireproof_spec.iggy.bodies.streams import CreateStream
from wireproof_spec.iggy.bodies.topics import CreateTopic
from wireproof_spec.iggy.frame import request
from wireproof_spec.iggy.kinds import OFFSET

AT_ONCE = 1000


_NEIGHBOUR = (1, "wp_neighbour", 1, "wp_topic_1")
"""Numbers and names of a stream and a topic for clients that use nothing of the case."""
_Place: TypeAlias = tuple[int, str, int, str]


def make_replayable(plan: Plan) -> Plan:
    """Return a script's plan that creates the streams of a campaign, and reads whole responses.

    Campaigns know only the published generation, which needs no login. The bytes have names behind
    their lengths and numbers in binary, so a user cannot replace them.
    """
    plan = replace(
        plan,
        reader="iggy/reader.py.jinja",
        probe=request(commands.PING),
        listing=request(commands.GET_CLIENTS) if plan.is_lingering else b"",
    )
    there = plan.arranged
    if not there:
        return plan
    kept = _place(there, "stream", "topic")
    places = [kept, _place(there, "scratch", "scratch_topic")]
    watched = [_place(there, "watched", "topic"), _NEIGHBOUR] if plan.is_beside else []
    return replace(
        plan,
        create=(*_creating([*places, *watched]), _joinable(kept, int(there["group_id"]))),
        bystanders="iggy/bystanders.py.jinja" if watched else "",
        watched=tuple((_sending(place), _polling(place)) for place in watched),
    )


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
