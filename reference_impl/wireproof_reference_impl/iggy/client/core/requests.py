"""The payloads of requests, for both transports."""

from typing import TypeAlias

from wireproof_reference_impl.iggy.client.core.calls import Call, Poll, Send, StoreOffset
from wireproof_reference_impl.iggy.client.core.settings import Settings
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.consumer_offsets import StoreConsumerOffset
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.poll_messages import PollMessages
from wireproof_spec.iggy.bodies.send_messages import SendMessages
from wireproof_spec.iggy.bodies.users import LoginUser
from wireproof_spec.iggy.kinds import CONSUMER_KIND

Payload: TypeAlias = PollMessages | SendMessages | StoreConsumerOffset | LoginUser


def payload_of(call: Call, settings: Settings) -> tuple[int, Payload]:
    """Return a call as the code of a TCP command and its payload."""
    if isinstance(call, Poll):
        return commands.POLL_MESSAGES, poll_payload(call, settings)
    if isinstance(call, Send):
        return commands.SEND_MESSAGES, send_payload(call, settings)
    if isinstance(call, StoreOffset):
        return commands.STORE_CONSUMER_OFFSET, offset_payload(call, settings)
    return commands.LOGIN_USER, LoginUser(settings.user, settings.password, "", "")


def poll_payload(call: Poll, settings: Settings) -> PollMessages:
    """Return the payload of a poll over TCP."""
    return PollMessages(
        consumer=_consumer(settings),
        stream=settings.stream,
        topic=settings.topic,
        partition_id=settings.partition,
        strategy=call.strategy,
        value=call.value,
        count=call.count,
        auto_commit=int(call.auto_commit),
    )


def send_payload(call: Send, settings: Settings) -> SendMessages:
    """Return the payload of a TCP request that sends messages.

    The server adds state, checksum and offset.
    """
    return SendMessages(settings.stream, settings.topic, call.partitioning, call.messages)


def offset_payload(call: StoreOffset, settings: Settings) -> StoreConsumerOffset:
    """Return the payload of a TCP request that stores an offset."""
    consumer, place = _consumer(settings), (settings.stream, settings.topic)
    return StoreConsumerOffset(consumer, *place, settings.partition, call.offset)


def _consumer(settings: Settings) -> Consumer:
    tagged = settings.generation == "tagged"
    return Consumer(CONSUMER_KIND, numeric(settings.consumer) if tagged else settings.consumer)
