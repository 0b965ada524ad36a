"""The behaviour table: every choice of the broker, with the published text's as the default.

The core looks up its choices only here; presets, faults and variants are other values of the
table. If a choice is a function, its default is in the core, beside the code it decides for.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Protocol

from msgspec import Struct, field

from wireproof_reference_impl.json_text import compact_json
from wireproof_reference_impl.nsq.delivery import dispatch, message_parts
from wireproof_reference_impl.nsq.delivery.dispatch import Audience
from wireproof_reference_impl.nsq.delivery.in_flight import Held, requeue_all
from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.nsq.options import DEPLOYED, PUBLISHED
from wireproof_reference_impl.nsq.requests import http_deployed, http_header
from wireproof_reference_impl.nsq.requests import lookup_rules as lookup_rules
from wireproof_reference_impl.nsq.requests.http_request import Answer, HttpRefusal, Request
from wireproof_reference_impl.nsq.wire import answers, deployed, header, packed, record
from wireproof_reference_impl.nsq.wire.header import Header
from wireproof_reference_impl.nsq.wire.message import Message, NewMessage, PublishResult
from wireproof_reference_impl.settings import Settings as Settings
from wireproof_reference_impl.settings import change_settings as change_settings
from wireproof_spec.nsq import error_codes, names
from wireproof_spec.nsq.limits import MAX_JSON_HEADER_SIZE_HTTP


class OpenSubscription(Enum):
    """Choices for clients without extend_support that are subscribed when a topic is upgraded."""

    CLOSED = auto()
    KEPT_OLD = auto()
    MOVED = auto()


class ChannelStart(Enum):
    """Choices for where in the queue a new channel starts."""

    FIRST_FROM_START = auto()
    END = auto()


class BuildRecord(Protocol):
    """The interface of a function that makes the disk record of a new message."""

    def __call__(
        self, entry: NewMessage, timestamp_ns: int, *, internal_id: int, extend: bool, version: int
    ) -> bytes:
        """Return the record, its 4-byte length included."""
        ...


class PublishBehaviour(Struct, frozen=True):
    """Choices for publish commands: what they check, store and answer."""

    partition_required: bool = True
    name_checked: bool = True
    bad_partition: str = error_codes.E_INVALID
    bad_size: str = error_codes.E_BAD_MESSAGE
    batch_by_size: bool = True
    header: Callable[[bytes], Header] = header.published
    missing_topic_ends: bool = True
    ext_trace_response: Callable[[PublishResult], bytes] = answers.trace_response
    trace_response: Callable[[PublishResult], bytes] = answers.trace_response
    check_record: Callable[[Sequence[NewMessage], bool, int], None] = answers.any_record
    has_trace_room: Callable[[int], bool] = answers.has_trace_room
    ext_version: int = names.EXT_VERSION_JSON
    first_id: Callable[[int], int] = answers.from_one
    id_step: int = 1


class SubscribeBehaviour(Struct, frozen=True):
    """Choices for how the line of a subscribe command is read."""

    partition_beside_offset: bool = True


class DeliveryBehaviour(Struct, frozen=True):
    """Choices for the layout of delivered messages."""

    extend: Callable[[Message], bytes] = message_parts.short_extend_part
    position: Callable[[Message], bytes] = message_parts.own_position
    copies: int = 1


class DispatchBehaviour(Struct, frozen=True):
    """Choices for which client gets a message."""

    choose: Callable[[Message, Audience], Sequence[Subscriber]] = dispatch.by_tag
    given_back: Callable[[list[Held], Subscriber], list[Held]] = requeue_all


class OrderBehaviour(Struct, frozen=True):
    """Choices for the order of deliveries, and for what ordered subscriptions must send."""

    ready_needed: bool = False
    requeue_delay: bool = True
    channel_start: ChannelStart = ChannelStart.FIRST_FROM_START
    pick: Callable[[int], int] = answers.oldest


class DiskBehaviour(Struct, frozen=True):
    """Choices for how messages are stored in the queue on disk."""

    build: BuildRecord = record.build


class UpgradeBehaviour(Struct, frozen=True):
    """Choices for subscribed clients when their topic is upgraded."""

    open_subscription: OpenSubscription = OpenSubscription.CLOSED


class HttpBehaviour(Struct, frozen=True):
    """Choices for how publish requests over HTTP are read and answered."""

    build_header: Callable[[bytes, http_header.Fields], bytes] = http_header.make_stored
    header: Callable[[bytes], Header] = header.published
    max_header: int = 65535
    keeps_open: bool = True
    ok: bytes = names.OK
    trace_bare: bool = True
    trace_answer: Callable[[PublishResult], Mapping[str, object]] = http_header.trace_answer
    body: Callable[[Request, bytearray], bytes] = http_header.whole_body
    short_body_taken: bool = False
    unknown_paths: frozenset[str] = frozenset()


class LookupBehaviour(Struct, frozen=True):
    """Choices for the answers of lookup servers; the defaults are beside the code they decide for.

    `answer` gets the data of every answer before it is put into its envelope, and may refuse it;
    `refusal` gets every error, `sent` the answer with its envelope.
    """

    answer: Callable[[Request, object], object] = lookup_rules.as_it_is
    sent: Callable[[Request, Answer], Answer] = lookup_rules.same_answer
    refusal: Callable[[Request, HttpRefusal], HttpRefusal] = lookup_rules.same_refusal
    error: Callable[[HttpRefusal, bool], Answer] = lookup_rules.escaped_error
    channel_needed: bool = False
    upgrade_pause_ns: int = 0


class ClusterBehaviour(Struct, frozen=True):
    """Choices for the answer for a partition that a node lacks, and for a new leader's ids."""

    absent: str = error_codes.E_TOPIC_NOT_EXIST
    next_id: Callable[[int, int], int] = answers.next_id


class OutputBehaviour(Struct, frozen=True):
    """Choices for when and in which pieces bytes are sent; they never change what bytes mean."""

    delivery_delay_ns: int = 0
    redelivery_delay_ns: int = 0
    always_json: bool = False
    version: str = answers.OWN_VERSION
    identify_json: Callable[[Mapping[str, object]], bytes] = compact_json
    fatal: Callable[[bytes, str, bool], bool] = answers.as_fatal_as_it_is
    error_text: Callable[[str, str], str] = answers.own_text
    frame: Callable[[int, bytes], bytes] = packed.frame


class Pacing(Struct, frozen=True):
    """How output is written to sockets: after what delay, and in which pieces."""

    flush_delay_ms: int = 0
    pieces: Callable[[bytes], Sequence[bytes]] = answers.one_piece


class Behaviour(Struct, frozen=True):
    """All choices of the NSQ broker that dialects, variants and faults may change."""

    publish: PublishBehaviour = field(default_factory=PublishBehaviour)
    subscribe: SubscribeBehaviour = field(default_factory=SubscribeBehaviour)
    delivery: DeliveryBehaviour = field(default_factory=DeliveryBehaviour)
    dispatch: DispatchBehaviour = field(default_factory=DispatchBehaviour)
    order: OrderBehaviour = field(default_factory=OrderBehaviour)
    disk: DiskBehaviour = field(default_factory=DiskBehaviour)
    upgrade: UpgradeBehaviour = field(default_factory=UpgradeBehaviour)
    http: HttpBehaviour = field(default_factory=HttpBehaviour)
    lookup: LookupBehaviour = field(default_factory=LookupBehaviour)
    cluster: ClusterBehaviour = field(default_factory=ClusterBehaviour)
    output: OutputBehaviour = field(default_factory=OutputBehaviour)
    pacing: Pacing = field(default_factory=Pacing)
    unknown_commands: frozenset[bytes] = frozenset()


DEPLOYED_SETTINGS: Settings = {
    "publish.partition_required": False,
    "publish.name_checked": False,
    "publish.bad_partition": error_codes.E_BAD_PARTITION,
    "publish.bad_size": error_codes.E_BAD_BODY,
    "publish.batch_by_size": False,
    "publish.header": deployed.read_header,
    "publish.check_record": deployed.check_record,
    "subscribe.partition_beside_offset": False,
    "order.ready_needed": True,
    "order.requeue_delay": False,
    "http.build_header": http_deployed.build_header,
    "http.header": http_deployed.read_header,
    "http.body": http_deployed.body_by_length,
    "http.short_body_taken": True,
    "http.max_header": MAX_JSON_HEADER_SIZE_HTTP,
    "http.trace_bare": False,
    "http.unknown_paths": frozenset({"/topic/creat"}),
    "lookup.error": lookup_rules.unescaped_error,
    "lookup.channel_needed": True,
    "lookup.upgrade_pause_ns": lookup_rules.UPGRADE_PAUSE_NS,
    "output.version": deployed.VERSION,
    "unknown_commands": frozenset({names.SUB_ORDER}),
}
"""What the measured youzan nsqd does where it parts from the published text."""

_DIALECTS: Mapping[str, Settings] = {PUBLISHED: {}, DEPLOYED: DEPLOYED_SETTINGS}


def of_dialect(dialect: str) -> Behaviour:
    """Return the broker's behaviour in a dialect, without faults and variants."""
    return change_settings(Behaviour(), _DIALECTS[dialect])
