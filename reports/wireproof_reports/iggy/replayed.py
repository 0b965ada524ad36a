"""Prepares a recorded Iggy exchange for another run: what its bytes name is created first."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from wireproof_reports.exchange.protocol import Plan
from wireproof_spec.decoding import encode
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.command_shapes import Payload, payload_schema
from wireproof_spec.iggy.bodies.consumer_groups import GroupRequest
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.streams import CreateStream
from wireproof_spec.iggy.bodies.topics import CreateTopic
from wireproof_spec.iggy.frame import request


def make_replayable(plan: Plan) -> Plan:
    """Return a script's plan that creates the streams of a campaign, and reads whole responses.

    Campaigns know only the published generation, which needs no login. The bytes have names behind
    their lengths and numbers in binary, so a user cannot replace them.
    """
    return replace(
        plan,
        create=tuple(_creating(plan.arranged)) if plan.arranged else (),
        reader="iggy/reader.py.jinja",
        probe=request(commands.PING),
    )


def _creating(there: Mapping[str, str]) -> Iterator[bytes]:
    """Yield the requests that create both streams, a topic in each, and a consumer group."""
    for stream, topic in (("stream", "topic"), ("scratch", "scratch_topic")):
        number, inner = int(there[f"{stream}_id"]), int(there[f"{topic}_id"])
        yield _request(commands.CREATE_STREAM, CreateStream(number, there[stream]))
        yield _request(commands.CREATE_TOPIC, _one_partition(number, inner, there[topic]))
    kept, group = numeric(int(there["stream_id"])), int(there["group_id"])
    yield _request(
        commands.CREATE_CONSUMER_GROUP, GroupRequest(kept, numeric(int(there["topic_id"])), group)
    )


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
