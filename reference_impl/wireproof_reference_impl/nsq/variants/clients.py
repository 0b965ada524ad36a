"""Legal variants of the example client: each takes another way that the texts permit."""

# An override reaches into the core from outside, and is called with whatever the core has there.
# pyright: reportPrivateUsage=false

from datetime import UTC, datetime

from msgspec.structs import replace

from wireproof_reference_impl.client_faults import client_variant
from wireproof_reference_impl.nsq.client.core import (
    commands,
    consumer,
    link,
    lookups,
    partitioning,
    ready,
    retry,
)
from wireproof_reference_impl.nsq.client.core import message as messages
from wireproof_reference_impl.nsq.client.core import subscription as subscriptions
from wireproof_reference_impl.nsq.client.core.commands import Identity
from wireproof_reference_impl.nsq.client.core.connection import Refused
from wireproof_reference_impl.nsq.client.core.consumer import Consumer
from wireproof_reference_impl.nsq.client.core.effects import Address
from wireproof_reference_impl.nsq.client.core.host import Host
from wireproof_reference_impl.nsq.client.core.link import Link
from wireproof_reference_impl.nsq.client.core.lookups import READ
from wireproof_reference_impl.nsq.client.core.message import Message
from wireproof_reference_impl.nsq.client.core.order import OrderCheck
from wireproof_reference_impl.nsq.client.core.producer import Job, Lane
from wireproof_reference_impl.nsq.client.core.settings import Settings, Subscribing
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.nsq.client.core.topology import Place, Topology
from wireproof_reference_impl.nsq.variants.client_pool import POOL
from wireproof_reference_impl.overrides import Original, around
from wireproof_reference_impl.preset import alternative
from wireproof_spec.nsq import names
from wireproof_spec.nsq.names import DESIRED_TAG, EXTEND_SUPPORT


def _slow_repeat(original: Original, settings: Settings, attempts: int) -> float:
    return 0.4


def _quick_repeat(original: Original, settings: Settings, attempts: int) -> float:
    return 0.005


def _two_attempts(original: Original, settings: Settings, attempts: int) -> bool:
    return attempts < 2


def _ten_attempts(original: Original, settings: Settings, attempts: int) -> bool:
    return attempts < 10


def _by_chance(original: Original, topology: Topology, turn: int) -> Place:
    # A multiplicative hash of the turn: no order that a case could rely on, the same in each run.
    return topology.places[turn * 2654435761 % 2**32 % 97 % len(topology.places)]


def _four_in_a_row(original: Original, topology: Topology, turn: int) -> object:
    return original(topology, turn // 4)


def _backwards(original: Original, topology: Topology) -> object:
    return tuple(reversed(topology.places))


def _always_one(original: Original, *_: object) -> int:
    return 1


def _later_round(original: Original, settings: Settings, host: Host) -> float:
    return settings.lookup_interval_s * 1.3


def _sooner_round(original: Original, settings: Settings, host: Host) -> float:
    return settings.lookup_interval_s * 0.7


def _configured_first(
    original: Original, listed: tuple[str, ...], configured: tuple[str, ...]
) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*configured, *listed]))


def _half_second(original: Original, *_: object) -> float:
    return 0.5


_WORDY: dict[str, object] = {
    "heartbeat_interval": 90_000,
    "output_buffer_size": 2**20,
    "output_buffer_timeout": 5000,
    "sample_rate": 0,
    "deflate": False,
    "deflate_level": 9,
    "snappy": False,
    "tls_v1": False,
    "library": {"name": "wireproof", "numbers": [1, None]},
}
"""Fields of IDENTIFY in their ranges, some of them greater than real nodes allow, and one more."""


def _wordy(original: Original, identity: Identity) -> object:
    return {**original(identity), **_WORDY}


def _brief(original: Original, identity: Identity) -> object:
    """Leave out the fields of the original that no user has set; keep what document 000 adds."""
    fields: dict[str, object] = original(identity)
    kept = (EXTEND_SUPPORT, DESIRED_TAG, "msg_timeout")
    return {name: fields[name] for name in kept if name in fields}


def _trace_in_order(original: Original, self: Subscription) -> None:
    self.wants = replace(self.wants, ordered=self.wants.ordered or self.wants.trace)
    original(self)


def _published_name(original: Original, *args: object, ordered: bool) -> bytes:
    line: bytes = original(*args, ordered=ordered)
    return line.replace(names.SUB_ORDERED, names.SUB_ORDER, 1) if ordered else line


def _no_ready_in_order(original: Original, self: Subscription, count: int) -> None:
    if not self.wants.ordered:
        original(self, count)


def _zero_first(original: Original, self: Subscription, count: int) -> None:
    original(self, 0)
    original(self, count)


def _each_second(original: Original, identity: Identity) -> object:
    return original(replace(identity, heartbeat_interval_ms=1000))


def _impatient(original: Original, self: Link, seconds: float) -> None:
    original(self, min(seconds, 2.5))


def _close_refused(original: Original, self: Lane, job: Job, event: object) -> None:
    original(self, job, event)
    if isinstance(event, Refused):
        self._reopen()


def _close_answered(original: Original, self: Lane, job: Job, event: object) -> None:
    original(self, job, event)
    self._link.close()


def _open_anew(original: Original, self: Lane) -> None:
    if self._link._closed and self._jobs and not (self._is_held or self._is_retired):
        self._link = self._open()
    original(self)


def _length_always(original: Original, **named: object) -> object:
    return original(**named, length_always=True)


def _unreported(
    original: Original, subscription: Subscription, order: OrderCheck, message: Message
) -> None:
    original(subscription, OrderCheck(), message)


def _is_early(subscription: Subscription, message: Message) -> bool:
    order = vars(subscription).setdefault("seen", OrderCheck())
    assert isinstance(order, OrderCheck)
    return subscription.wants.ordered and bool(order.find_fault(message))


def _give_early_back(
    original: Original, self: Consumer, subscription: Subscription, message: Message
) -> None:
    if _is_early(subscription, message):
        subscription.requeue(message.id, 1.0)
    else:
        original(self, subscription, message)


def _leave_early(
    original: Original, self: Consumer, subscription: Subscription, message: Message
) -> None:
    if not _is_early(subscription, message):
        original(self, subscription, message)


def _discard_sixth(original: Original, wants: Subscribing, message: Message) -> bool:
    return message.attempts > 5 and not wants.ordered


def _log_each_tenth(
    original: Original, subscription: Subscription, order: OrderCheck, message: Message
) -> None:
    """Log a message at each tenth attempt from the hundredth on."""
    is_logged = message.attempts >= 100 and not message.attempts % 10
    original(subscription, order, replace(message, attempts=message.attempts if is_logged else 1))


def _without_metainfo(original: Original, topic: str, access: str) -> str:
    target: str = original(topic, access)
    return target.replace("&metainfo=true", "") if access == READ else target


def _any_form(original: Original, self: Host, *args: object, **named: object) -> None:
    original(self, *args, **{**named, "accept": "*/*"})


def _by_sum(original: Original, key: bytes, partition_num: int) -> int:
    return sum(key) % partition_num


def _as_listed(original: Original, *args: object, **named: object) -> str:
    """Leave out the trace id, which the text does not list for consumers."""
    words = str(original(*args, **named)).split(" ")
    return " ".join(word for word in words if not word.startswith("trace_id="))


def _other_forms(
    original: Original, topic: str, message: Message, *, local: str, node: Address
) -> str:
    """Log numbers in hex digits, and the timestamp as a date."""
    day = datetime.fromtimestamp(message.timestamp_ns // 10**9, UTC).isoformat()
    numbers = (message.disk_queue_offset, message.disk_queue_data_size)
    place = " ".join(f"{number:#x}" for number in numbers if number is not None)
    return f"{topic} {message.id.hex()} {day} {local} {node[0]}:{node[1]} {place}"


VARIANTS = (
    client_variant(
        "repeats-slowly",
        "A publish is repeated after 0.4 s.",
        around(retry, "repeat_delay", _slow_repeat),
    ),
    client_variant(
        "repeats-quickly",
        "A publish is repeated after 5 ms.",
        around(retry, "repeat_delay", _quick_repeat),
    ),
    client_variant(
        "two-attempts",
        "A publish is attempted twice.",
        around(retry, "may_repeat", _two_attempts),
    ),
    client_variant(
        "ten-attempts",
        "A publish is attempted ten times.",
        around(retry, "may_repeat", _ten_attempts),
    ),
    client_variant(
        "partition-by-chance",
        "A publish without a sharding id goes to any partition.",
        around(partitioning, "place_in_turn", _by_chance),
    ),
    client_variant(
        "partition-in-blocks",
        "Four publishes in succession go to one partition.",
        around(partitioning, "place_in_turn", _four_in_a_row),
    ),
    client_variant(
        "key-by-sum",
        "The partition of a sharding id is the sum of its bytes.",
        around(partitioning, "shard", _by_sum),
    ),
    client_variant(
        "last-partition-first",
        "A consumer subscribes to the partitions in the opposite order.",
        around(consumer, "places_of", _backwards),
    ),
    client_variant(
        "ready-stays-one",
        "RDY is 1 for ever.",
        around(ready, "first_or_share", _always_one),
    ),
    client_variant(
        "interval-longer",
        "Lookups are repeated after 1.3 times the interval.",
        around(lookups, "interval", _later_round),
    ),
    client_variant(
        "interval-shorter",
        "Lookups are repeated after 0.7 times the interval.",
        around(lookups, "interval", _sooner_round),
    ),
    client_variant(
        "configured-first",
        "The configured lookup servers are asked before the listed ones.",
        around(lookups, "known_servers", _configured_first),
    ),
    client_variant(
        "reconnects-evenly",
        "A lost connection is opened again after half a second, each time.",
        around(link, "reconnect_delay", _half_second),
    ),
    client_variant(
        "identifies-briefly",
        "IDENTIFY has no field that the original names but a time-out that the user sets.",
        around(commands, "identify_fields", _brief),
    ),
    client_variant(
        "identifies-at-length",
        "IDENTIFY has all fields that the original names, and one that it does not name.",
        around(commands, "identify_fields", _wordy),
    ),
    client_variant(
        "traces-in-order",
        "A consumer that traces subscribes in order, to learn offset and size.",
        around(Subscription, "handle_ready", _trace_in_order),
    ),
    client_variant(
        "sub-order-published",
        "A consumer in order sends SUB_ORDER, as published.",
        around(commands, "subscribe", _published_name),
    ),
    client_variant(
        "no-ready-in-order",
        "A consumer in order sends no RDY: it is fixed as 1.",
        around(Subscription, "send_ready", _no_ready_in_order),
    ),
    client_variant(
        "rdy-0-first", "RDY 0 precedes each RDY.", around(Subscription, "send_ready", _zero_first)
    ),
    client_variant(
        "heartbeat-each-second",
        "IDENTIFY asks for a heartbeat each second; a node that is silent for 2.5 s is left.",
        around(commands, "identify_fields", _each_second),
        around(Link, "_watch_for", _impatient),
    ),
    client_variant(
        "pool-of-two",
        "A producer has two connections to each node, which its partitions share.",
        *POOL,
    ),
    client_variant(
        "refused-closed",
        "A producer closes the connection on which a publish was refused.",
        around(Lane, "_judge", _close_refused),
    ),
    client_variant(
        "any-form",
        "Lookups do not ask for the v1 form.",
        around(Host, "fetch", _any_form),
    ),
    client_variant(
        "header-length-always",
        "The ext part of a message without a header is read as version and length 0.",
        around(messages, "message_schema", _length_always),
    ),
    client_variant(
        "early-given-back",
        "A message out of order is given back with REQ, and nobody is told.",
        around(subscriptions, "check_order", _unreported),
        around(Consumer, "hand", _give_early_back),
    ),
    client_variant(
        "early-left",
        "A message out of order is left to its time-out, and nobody is told.",
        around(subscriptions, "check_order", _unreported),
        around(Consumer, "hand", _leave_early),
    ),
    client_variant(
        "attempts-logged-by-tens",
        "A message in order is logged at each tenth attempt, from the hundredth on.",
        around(subscriptions, "check_order", _log_each_tenth),
    ),
    client_variant(
        "logs-other-forms",
        "A consumer that traces logs ids, offset and size in hex digits, and a date.",
        around(subscriptions, "tell_consumed", _other_forms),
    ),
    alternative(
        "client-discards-sixth-attempt",
        "A message without order is finished unseen at its sixth attempt.",
        overrides=(around(consumer, "is_given_up", _discard_sixth),),
    ),
    alternative(
        "client-no-metainfo-consumer",
        "A consumer looks up without metainfo, and learns of no header from the answer.",
        overrides=(around(lookups, "lookup_target", _without_metainfo),),
        lacks="client-ext-consumer",
    ),
    alternative(
        "client-connection-for-each-publish",
        "A producer opens a connection for each publish, and closes it after the answer.",
        overrides=(around(Lane, "_judge", _close_answered), around(Lane, "_pump", _open_anew)),
    ),
    alternative(
        "client-logs-as-listed",
        "A consumer that traces logs what the text lists, and no trace id.",
        overrides=(around(subscriptions, "tell_consumed", _as_listed),),
    ),
)
