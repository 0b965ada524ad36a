"""Alternatives where no text says what happens: odd requests, and what follows a refusal."""

from collections.abc import Callable, Sequence

from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.core.commands import (
    identify,
    publish,
    publish_ext,
    sized,
)
from wireproof_reference_impl.nsq.core.commands import subscribe as subscribe_command
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.topic import Partition
from wireproof_reference_impl.nsq.delivery import message_parts, subscribe_rules
from wireproof_reference_impl.nsq.delivery.dispatch import (
    Audience,
    by_tag,
    first_ready,
    list_untagged,
)
from wireproof_reference_impl.nsq.delivery.subscribe_rules import SubscribeRequest
from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.nsq.requests import http_header
from wireproof_reference_impl.nsq.requests.http_header import Fields
from wireproof_reference_impl.nsq.wire import header
from wireproof_reference_impl.nsq.wire.frame_reading import Split
from wireproof_reference_impl.nsq.wire.header import Header
from wireproof_reference_impl.nsq.wire.message import Message, NewMessage
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_reference_impl.preset import Preset, alternative
from wireproof_spec.nsq import names
from wireproof_spec.nsq.error_codes import E_BAD_MESSAGE, E_INVALID
from wireproof_spec.strict_json import JsonValue

_OWN_TRACE_ID = 1 << 63
_HEADERLESS = frozenset({names.PUB, names.MPUB, names.PUB_TRACE, names.MPUB_TRACE})
_RANGES = ("_heartbeat", "_buffer_size", "_buffer_timeout", "_sample_rate", "_message_timeout")


def _try_tag(message: Message, audience: Audience) -> Sequence[Subscriber]:
    """Prefer nobody: whom a tag is meant for gets it, or a client without a tag.

    Where nobody is without a tag, a client of another tag may get the message.
    """
    untagged = list_untagged(audience)
    if message.tag is None or not untagged:
        return by_tag(message, audience) or first_ready(audience.subscribers)
    taking = (None, message.tag)
    return first_ready(
        subscriber for subscriber in audience.subscribers if subscriber.desired_tag in taking
    )


def _offset_first(
    original: Original, message: Message, attempts: int, *, extend: bytes, position: bytes
) -> object:
    return original(message, attempts, extend=position, position=extend)


def _with_own_trace_id(
    original: Original, connection: Connection, partition: Partition, entries: list[NewMessage]
) -> object:
    if connection.command in (names.PUB, names.MPUB):
        entries = [entry._replace(trace_id=_OWN_TRACE_ID) for entry in entries]
    return original(connection, partition, entries)


def _only_with_header(
    original: Original, connection: Connection, partition: Partition, entries: list[NewMessage]
) -> object:
    if partition.topic.extend and connection.command in _HEADERLESS:
        raise Refusal(E_BAD_MESSAGE, "a header is needed", fatal=False)
    return original(connection, partition, entries)


def _identify_once(original: Original, connection: Connection, words: Sequence[bytes]) -> None:
    if words[0] == names.IDENTIFY and connection.identified:
        raise Refusal(E_INVALID, "IDENTIFY was sent before")
    original(connection, words)


def _in_range(name: str) -> Override:
    def read(original: Callable[..., int | None], value: int) -> int | None:
        try:
            return original(value)
        except Refusal:
            return original(0)

    return around(identify, name, read)


def _unsigned(original: Callable[..., sized.Number], *, otherwise: sized.Refuse) -> sized.Number:
    number = yield from original(otherwise=otherwise)
    return number & 0xFFFFFFFF


def _await_all(
    original: Original, size: int, *, limit: int, invalid: sized.Refuse, too_big: sized.Refuse
) -> None:
    original(min(size, limit), limit=limit, invalid=invalid, too_big=too_big)


def _with_partition(original: Original, connection: Connection, words: Sequence[bytes]) -> None:
    original(connection, words)
    if len(words) < 4 or words[3] == b"-1":
        raise Refusal(E_INVALID, "a partition is needed")


def _only_where_ordered(
    original: Callable[..., Refusal | None], wish: SubscribeRequest
) -> Refusal | None:
    if wish.command in (names.SUB_ORDER, names.SUB_ORDERED) and not wish.ordered:
        return Refusal(E_INVALID, "this topic is not ordered")
    return original(wish)


def _any_header(data: bytes) -> header.Fields:
    """Return the fields of a header; none of data that is no JSON object."""
    try:
        return header.checked_object(data)
    except Refusal:
        return {}


def _http_ext(ext: bytes, extra: Fields) -> bytes:
    """Build the header of /pub_ext, where an ext that is missing, empty or null has no names."""
    return http_header.make_stored(b"{}" if ext in (b"", b"null") else ext, extra)


def _no_header_needed(
    original: Callable[..., Header], connection: Connection, partition: Partition, data: bytes
) -> Header:
    if data or not partition.topic.extend:
        return original(connection, partition, data)
    return Header()


def _without_header(
    original: Callable[..., NewMessage], partition: Partition, read: Header, split: Split
) -> NewMessage:
    if not split.header:
        return NewMessage(split.body)
    return original(partition, read, split)


def _number_or_none(value: JsonValue) -> int | None:
    """Return the trace id in a header value; None, no trace id, for anything but a number."""
    try:
        return header.trace_number(value, empty=True)
    except Refusal:
        return None


def _stay(channel: Channel) -> None:
    """Leave the clients of a channel where they are."""


ALTERNATIVES: tuple[Preset, ...] = (
    alternative(
        "tags-only-tried",
        "a tagged message goes to a client of its tag or to one without, whichever is next",
        {"dispatch.choose": _try_tag},
    ),
    alternative(
        "order-offset-first",
        "on an ordered ext topic offset and size stand before the ext part",
        overrides=(around(message_parts, "message_data", _offset_first),),
    ),
    alternative(
        "untraced-with-own-id",
        "a message that is published without a trace id gets one from the broker",
        overrides=(around(publish, "store", _with_own_trace_id),),
    ),
    alternative(
        "ext-topics-need-headers",
        "PUB, PUB_TRACE and MPUB are refused on an ext topic",
        overrides=(around(publish, "store", _only_with_header),),
        not_with="untraced-with-own-id body-limit",
    ),
    alternative(
        "identify-once",
        "a second IDENTIFY is refused",
        overrides=(around(Connection, "run_command", _identify_once),),
    ),
    alternative(
        "identify-takes-any-value",
        "a value of IDENTIFY outside its range counts as not given",
        overrides=tuple(_in_range(name) for name in _RANGES),
        not_with="time-out-two-seconds",
    ),
    alternative(
        "sizes-unsigned",
        "sizes have no sign, and the broker waits for as many bytes",
        overrides=(
            around(sized, "number", _unsigned),
            around(sized, "check_size", _await_all),
        ),
        not_with="huge-size-awaited",
    ),
    alternative(
        "sub-needs-partition",
        "SUB without a partition is refused",
        overrides=(around(subscribe_command, "_check_words", _with_partition),),
    ),
    alternative(
        "order-needs-ordered-topic",
        "an ordered subscription to a topic that is not ordered is refused",
        overrides=(around(subscribe_rules, "order_rule", _only_where_ordered),),
    ),
    alternative(
        "header-any-data",
        "PUB_EXT takes any bytes as a header, and finds no names in what is no JSON object",
        {"publish.header": header.reader(parse=_any_header)},
    ),
    alternative(
        "http-ext-optional",
        "an ext that is missing, empty or null counts as an empty object",
        {"http.build_header": _http_ext},
    ),
    alternative(
        "ext-header-may-be-empty",
        "PUB_EXT with a header length of 0 publishes a message without a header",
        overrides=(
            around(publish_ext, "read_header", _no_header_needed),
            around(publish_ext, "entry", _without_header),
        ),
    ),
    alternative(
        "trace-id-only-where-number",
        "a trace id that is no number below 2^64 counts as none",
        {
            "publish.header": header.reader(trace=_number_or_none),
            "http.header": header.reader(trace=_number_or_none),
        },
    ),
    alternative(
        "moved-clients-stay",
        "a node that no longer leads a partition keeps the connections of its clients",
        overrides=(replace_function(Channel, "send_away", _stay),),
    ),
)
