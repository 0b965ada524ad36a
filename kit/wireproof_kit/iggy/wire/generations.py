"""Differences between the generations of Iggy in request and response payloads."""

from wireproof_kit.iggy.forms import SHORT, StoredOffsetForm
from wireproof_spec.decoding import Schema, decode
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.consumer_offsets import CONSUMER_OFFSET, CONSUMER_OFFSET_TAGGED
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.streams import (
    STREAM_DETAILS,
    STREAM_DETAILS_TAGGED,
    STREAMS,
    STREAMS_TAGGED,
    StreamDetails,
    Streams,
)
from wireproof_spec.iggy.bodies.system import (
    CLIENT_DETAILS,
    CLIENT_DETAILS_TAGGED,
    CLIENTS,
    CLIENTS_TAGGED,
    ClientDetails,
    Clients,
)
from wireproof_spec.iggy.bodies.topics import (
    TOPIC_DETAILS,
    TOPIC_DETAILS_TAGGED,
    TOPICS,
    TOPICS_TAGGED,
    CreateTopic,
    TopicDetails,
    Topics,
)
from wireproof_spec.iggy.generation import CreateForm, Generation
from wireproof_spec.iggy.kinds import CONSUMER_KIND

NO_COMPRESSION = 1
NEVER_EXPIRES = (1 << 64) - 1
SERVERS_DEFAULT = 0
ONE_REPLICA = 1


def consumer(number: int, generation: Generation, *, kind: int = CONSUMER_KIND) -> Consumer:
    """Return the identifier of a consumer, or of a consumer group, with this number."""
    return Consumer(kind, number if generation == "published" else numeric(number))


def topic_to_create(wanted: CreateTopic, create: CreateForm) -> CreateTopic:
    """Return the create_topic request, with the extra fields of the form of tagged servers."""
    if create != "tagged":
        return wanted
    return CreateTopic(
        stream=wanted.stream,
        topic_id=wanted.topic_id,
        partitions_count=wanted.partitions_count,
        compression=NO_COMPRESSION,
        message_expiry=NEVER_EXPIRES,
        max_topic_size=SERVERS_DEFAULT,
        replication_factor=ONE_REPLICA,
        name=wanted.name,
    )


def stored_offset(body: bytes, form: StoredOffsetForm) -> int:
    """Return the stored offset from the body of a get_consumer_offset response.

    Raises:
        WireError: the body has another layout.
    """
    if form == SHORT:
        return decode(CONSUMER_OFFSET, body).offset
    return decode(CONSUMER_OFFSET_TAGGED, body).stored_offset


def streams_schema(generation: Generation) -> Schema[Streams]:
    """Return the schema of the list of streams."""
    return STREAMS if generation == "published" else STREAMS_TAGGED


def stream_schema(generation: Generation) -> Schema[StreamDetails]:
    """Return the schema of one stream's details."""
    return STREAM_DETAILS if generation == "published" else STREAM_DETAILS_TAGGED


def topics_schema(generation: Generation) -> Schema[Topics]:
    """Return the schema of the list of topics."""
    return TOPICS if generation == "published" else TOPICS_TAGGED


def topic_schema(generation: Generation) -> Schema[TopicDetails]:
    """Return the schema of one topic's details."""
    return TOPIC_DETAILS if generation == "published" else TOPIC_DETAILS_TAGGED


def client_schema(generation: Generation) -> Schema[ClientDetails]:
    """Return the schema of one client's details."""
    return CLIENT_DETAILS if generation == "published" else CLIENT_DETAILS_TAGGED


def clients_schema(generation: Generation) -> Schema[Clients]:
    """Return the schema of the list of clients."""
    return CLIENTS if generation == "published" else CLIENTS_TAGGED
