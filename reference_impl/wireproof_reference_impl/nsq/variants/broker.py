"""Legal variants of a broker, where the texts leave a choice. None may turn a verdict red."""

import random
from collections.abc import Mapping, Sequence

from wireproof_reference_impl.json_text import compact_json
from wireproof_reference_impl.nsq.behaviour import (
    DEPLOYED_SETTINGS,
    ChannelStart,
    OpenSubscription,
    Settings,
)
from wireproof_reference_impl.nsq.delivery import message_parts
from wireproof_reference_impl.nsq.delivery.dispatch import (
    Audience,
    by_tag,
    first_ready,
    list_untagged,
)
from wireproof_reference_impl.nsq.delivery.in_flight import Held
from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.nsq.requests import http_header
from wireproof_reference_impl.nsq.requests.http_header import Fields, collect_added
from wireproof_reference_impl.nsq.wire import header, packed, record
from wireproof_reference_impl.nsq.wire.go_text import marshal
from wireproof_reference_impl.nsq.wire.header import (
    check_values,
    checked_object,
    reader,
    trace_number,
)
from wireproof_reference_impl.nsq.wire.message import Message, NewMessage, PublishResult
from wireproof_reference_impl.preset import Preset, variant
from wireproof_spec.nsq.names import HEARTBEAT, PUB_EXT

_MILLISECOND = 1_000_000
_CHANCE = random.Random(1)
_FAR = (1 << 40) + 1_234_567
_EMPTY_REFUSED = reader(trace=lambda value: trace_number(value, empty=False))
_HEARTBEAT = packed.frame(packed.RESPONSE, HEARTBEAT)


def _byte_by_byte(data: bytes) -> Sequence[bytes]:
    """Return the first bytes one by one, the rest in pieces: all one by one would take seconds."""
    singly = [data[at : at + 1] for at in range(min(len(data), 64))]
    return singly + [data[at : at + 1000] for at in range(64, len(data), 1000)]


def _behind_heartbeat(frame_type: int, data: bytes) -> bytes:
    return _HEARTBEAT + packed.frame(frame_type, data)


def _backwards(fields: Mapping[str, object]) -> bytes:
    return compact_json(dict(reversed([*fields.items(), ("build", "variant")])))


def _fields_backwards(stored: PublishResult) -> dict[str, object]:
    return dict(reversed(http_header.trace_answer(stored).items()))


def _far_trace_response(stored: PublishResult) -> bytes:
    return packed.trace_response(
        stored.internal_id, stored.trace_id, offset=stored.offset + _FAR, size=stored.size
    )


def _far_position(message: Message) -> bytes:
    return packed.position(message.offset + _FAR, message.size)


def _far_answer(stored: PublishResult) -> dict[str, object]:
    return http_header.trace_answer(stored._replace(offset=stored.offset + _FAR))


def _in_other_words(code: str, text: str) -> str:
    return "we are sorry: no"


def _without_a_word(code: str, text: str) -> str:
    return ""


def _far_up(partition: int) -> int:
    return 1 << 56  # alone it is also the number 1 in the other byte order


def _above_the_partition(partition: int) -> int:
    return (partition << 50) + 2


def _oldest_or_second(waiting: int) -> int:
    """Choose at random: if it were always the second, the oldest might wait for ever."""
    return _CHANCE.randrange(min(2, waiting))


def _sorted_and_escaped(ext: bytes, extra: Fields) -> bytes:
    fields = checked_object(ext)
    check_values(fields)
    return marshal({**fields, **collect_added(extra)}).encode()


def _fallback_when_not_ready(message: Message, audience: Audience) -> Sequence[Subscriber]:
    return by_tag(message, audience) or first_ready(list_untagged(audience))


def _idle_takes_untagged(message: Message, audience: Audience) -> Sequence[Subscriber]:
    if message.tag is not None or list_untagged(audience):
        return by_tag(message, audience)
    return first_ready(audience.subscribers)


def _counted_when_left(held: list[Held], subscriber: Subscriber) -> list[Held]:
    """Return a client's messages in flight to the channel, with its deliveries counted."""
    for each in held:
        each.attempts += 1
    return held


def _indicated_by_message(
    entry: NewMessage, timestamp_ns: int, *, internal_id: int, extend: bool, version: int
) -> bytes:
    """Build a record that has the indicator and an ext part only if it has a header."""
    with_header = extend and entry.header is not None
    return record.build(
        entry, timestamp_ns, internal_id=internal_id, extend=with_header, version=version
    )


def _scalars(fields: header.Fields) -> None:
    for value in fields.values():
        if isinstance(value, dict | list):
            raise header.refuse_header("nested value")


def _publish_refusals_end(command: bytes, code: str, fatal: bool) -> bool:
    return fatal or command == PUB_EXT


def _room_for_the_id(size: int) -> bool:
    return size >= 8


def _take_deployed(*names: str) -> Settings:
    """Return some settings of the deployed dialect."""
    return {name: DEPLOYED_SETTINGS[name] for name in names}


VARIANTS: tuple[Preset, ...] = (
    variant(
        "byte-by-byte",
        "answers are written byte by byte",
        {"pacing.pieces": _byte_by_byte},
    ),
    variant(
        "written-late",
        "all answers and messages are written up to 20 ms late",
        {"pacing.flush_delay_ms": 20},
    ),
    variant(
        "many-heartbeats",
        "a heartbeat is sent before every frame",
        {"output.frame": _behind_heartbeat},
    ),
    variant(
        "other-error-texts",
        "error frames have other texts after the same codes",
        {"output.error_text": _in_other_words},
    ),
    variant(
        "no-error-texts",
        "error frames have codes without texts",
        {"output.error_text": _without_a_word},
    ),
    variant(
        "json-backwards",
        "JSON answers have their fields in reverse order and one additional field",
        {"output.identify_json": _backwards, "http.trace_answer": _fields_backwards},
    ),
    variant(
        "identify-always-json",
        "IDENTIFY is answered with JSON even without feature negotiation",
        {"output.always_json": True},
    ),
    variant("id-gaps", "internal ids leave gaps", {"publish.id_step": 7}),
    variant(
        "ids-high",
        "internal ids start at a high number",
        {"publish.first_id": _far_up},
    ),
    variant(
        "ids-by-partition",
        "internal ids contain the partition number in their high bits",
        {"publish.first_id": _above_the_partition},
    ),
    variant(
        "offsets-high",
        "queue offsets start at a high number",
        {
            "publish.trace_response": _far_trace_response,
            "publish.ext_trace_response": _far_trace_response,
            "delivery.position": _far_position,
            "http.trace_answer": _far_answer,
        },
    ),
    variant(
        "slow-redelivery",
        "messages are redelivered 1.5 s late",
        {"output.redelivery_delay_ns": 1500 * _MILLISECOND},
    ),
    variant(
        "slow-delivery",
        "messages are delivered 300 ms late",
        {"output.delivery_delay_ns": 300 * _MILLISECOND},
    ),
    variant(
        "duplicates",
        "every message is delivered again immediately, with attempts 2",
        {"delivery.copies": 2},
    ),
    variant(
        "refused-publish-ends",
        "a refused PUB_EXT closes the connection",
        {"output.fatal": _publish_refusals_end},
    ),
    variant(
        "missing-topic-stays",
        "a publish to a missing topic leaves the connection open",
        {"publish.missing_topic_ends": False},
    ),
    variant(
        "http-header-sorted",
        "headers published over HTTP are serialized again, with names sorted and markup escaped",
        {"http.build_header": _sorted_and_escaped},
    ),
    variant(
        "http-ends-connections",
        "HTTP connections are closed after each answer",
        {"http.keeps_open": False},
    ),
    variant(
        "http-ok-quoted",
        "successful HTTP requests are answered with OK in quotes",
        {"http.ok": b'"OK"'},
    ),
    variant(
        "http-trace-envelope",
        "the HTTP answer to a traced message has an envelope unless v1 is requested",
        {"http.trace_bare": False},
    ),
    variant(
        "fallback-when-not-ready",
        "a tagged message goes to a client without a tag if no client with the tag is ready",
        {"dispatch.choose": _fallback_when_not_ready},
    ),
    variant(
        "idle-takes-untagged",
        "a client with a tag receives untagged messages if no client without a tag is subscribed",
        {"dispatch.choose": _idle_takes_untagged},
    ),
    variant(
        "attempts-counted-when-left",
        "attempts also count deliveries to a client that disconnected",
        {"dispatch.given_back": _counted_when_left},
    ),
    variant(
        "ext-version-1",
        "delivered messages with a header have ext version 1",
        {"publish.ext_version": 1},
    ),
    variant(
        "ext-length-always",
        "every message is delivered with ext version and ext length",
        {"delivery.extend": message_parts.full_extend_part},
    ),
    variant(
        "indicator-by-message",
        "only records with a header have the indicator bits and an ext part on disk",
        {"disk.build": _indicated_by_message},
    ),
    variant(
        "order-shuffled",
        "an unordered channel may deliver the later of two waiting messages first",
        {"order.pick": _oldest_or_second},
    ),
    variant(
        "channels-start-at-the-end",
        "a new channel receives only messages published after its creation",
        {"order.channel_start": ChannelStart.END},
    ),
    variant(
        "upgrade-keeps-clients",
        "clients subscribed before a topic's upgrade to ext keep receiving the old layout",
        {"upgrade.open_subscription": OpenSubscription.KEPT_OLD},
    ),
    variant(
        "upgrade-moves-clients",
        "clients subscribed before a topic's upgrade to ext receive the new layout afterwards",
        {"upgrade.open_subscription": OpenSubscription.MOVED},
    ),
    variant(
        "trace-empty-refused",
        "an empty trace id is refused, as by the measured broker",
        {"publish.header": _EMPTY_REFUSED, "http.header": _EMPTY_REFUSED},
    ),
    variant(
        "trace-without-body",
        "PUB_TRACE with nothing after the trace id publishes an empty message",
        {"publish.has_trace_room": _room_for_the_id},
    ),
    variant(
        "values-scalar",
        "header values may also be numbers, booleans and null",
        {"publish.header": reader(values=_scalars)},
    ),
    variant(
        "partition-optional",
        "publish commands need no partition, as with the measured broker",
        _take_deployed("publish.partition_required"),
    ),
    variant(
        "deployed-codes",
        "invalid topics, sizes and partitions are refused with the codes of the measured broker",
        _take_deployed("publish.name_checked", "publish.bad_size", "publish.bad_partition"),
    ),
    variant(
        "ordered-needs-ready",
        "ordered delivery waits for RDY, and REQ cannot delay a message",
        _take_deployed("order.ready_needed", "order.requeue_delay"),
    ),
)
