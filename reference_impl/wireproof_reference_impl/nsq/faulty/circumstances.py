"""In what circumstances a function of the core is called: whose client, which partition.

The core passes to a function what it needs. What it does not pass stands in the context, and in
notes about clients and messages; `NOTES` keeps both.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar
from weakref import WeakKeyDictionary

from wireproof_reference_impl.context import Context
from wireproof_reference_impl.nsq.cluster import coordinator
from wireproof_reference_impl.nsq.core import channel as channels
from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.core.commands import publish
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.core.topic import Partition, Topic
from wireproof_reference_impl.nsq.delivery.in_flight import Held
from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.nsq.faulty.harm import HARMS
from wireproof_reference_impl.nsq.http import publish as http_publish
from wireproof_reference_impl.nsq.http.connection import HttpConnection, Site
from wireproof_reference_impl.nsq.requests.http_request import Request
from wireproof_reference_impl.nsq.wire.header import Header
from wireproof_reference_impl.nsq.wire.message import Message, NewMessage, PublishResult
from wireproof_reference_impl.overrides import Original, Override, around

Notes = dict[int, str]

_WORDS = WeakKeyDictionary[Connection, Sequence[bytes]]()
_PARTITIONS = WeakKeyDictionary[Channel, Partition]()
_CHANNELS = WeakKeyDictionary[Connection, Channel]()
_ORDINALS = WeakKeyDictionary[Connection, int]()
_JOINED = WeakKeyDictionary[Channel, int]()
_PATHS = WeakKeyDictionary[Partition, Notes]()
_RETURNS = WeakKeyDictionary[Channel, Notes]()
_BEFORE = WeakKeyDictionary[Partition, int]()
"""How many messages a partition had before the last publish."""


class Circumstances(Context):
    """What the broker is busy with; each property is None where nothing is known."""

    kinds: ClassVar = {
        Channel: "own_channel",
        Connection: "connection",
        Header: "header",
        Held: "held",
        HttpConnection: "http",
        Message: "own_message",
        NewMessage: "new",
        Partition: "own_partition",
        PublishResult: "stored",
        Request: "request",
        Subscriber: "subscriber",
        Topic: "own_topic",
    }
    looked_into = (list, tuple)
    own_channel: Channel | None = None
    connection: Connection | None = None
    header: Header | None = None
    held: Held | None = None
    http: HttpConnection[Site] | None = None
    own_message: Message | None = None
    new: NewMessage | None = None
    own_partition: Partition | None = None
    stored: PublishResult | None = None
    request: Request | None = None
    subscriber: Subscriber | None = None
    own_topic: Topic | None = None

    @property
    def partition(self) -> Partition | None:
        """Return the partition that the call is about."""
        if self.own_partition is not None:
            return self.own_partition
        channel = self.channel
        if channel is not None:
            return _PARTITIONS.get(channel)
        return self._asked_for()

    @property
    def topic(self) -> Topic | None:
        """Return the topic that the call is about."""
        if self.own_topic is not None:
            return self.own_topic
        partition = self.partition
        return None if partition is None else partition.topic

    @property
    def channel(self) -> Channel | None:
        """Return the channel that the call is about."""
        if self.own_channel is not None:
            return self.own_channel
        connection = self._connection()
        return None if connection is None else _CHANNELS.get(connection)

    @property
    def path(self) -> str | None:
        """Return over which transport the message or the request came: tcp or http."""
        message, partition = self.message, self.partition
        if message is not None and partition is not None:
            return _PATHS.get(partition, {}).get(message.internal_id, "tcp")
        if self.request is not None:
            return "http"
        return None if self.connection is None else "tcp"

    @property
    def message(self) -> Message | None:
        """Return the message that is being delivered."""
        if self.own_message is not None or self.held is None:
            return self.own_message
        return self.held.message

    @property
    def entry(self) -> NewMessage | None:
        """Return the message as it was published, or as the HTTP request would publish it."""
        published = self._published()
        if published is not None or self.request is None:
            return published
        return NewMessage(self.request.body, header=self.request.query.get("ext"))

    @property
    def trace_id(self) -> int | None:
        """Return the trace id of the message, 0 for none."""
        published = self._published()
        if published is not None:
            return published.trace_id
        if self.header is not None:
            return self.header.trace_id or 0
        return None if self.stored is None else self.stored.trace_id

    @property
    def client(self) -> int | None:
        """Return the number of the client on its channel, from 1 in the order of joining."""
        if self.subscriber is not None and isinstance(self.subscriber.outlet, Connection):
            return _ORDINALS.get(self.subscriber.outlet)
        connection = self._connection()
        if connection is not None and connection in _ORDINALS:
            return _ORDINALS[connection]
        return self._find_coming()[0]

    @property
    def delivery(self) -> str | None:
        """Return ``first`` for a first delivery, else why the message is delivered again."""
        message, channel = self.message, self.channel
        if message is None or channel is None:
            return None
        return _RETURNS.get(channel, {}).get(message.internal_id, "first")

    @property
    def number(self) -> int | None:
        """Return how many messages of the partition precede the message."""
        message = self.message
        if message is not None:
            return message.number
        partition = self.partition
        if partition is None:
            return None
        return partition.log.count if self.stored is None else _BEFORE.get(partition)

    @property
    def clients(self) -> int | None:
        """Return how many clients the channel has."""
        channel = self.channel
        return None if channel is None else len(channel.subscribers)

    @property
    def is_again(self) -> bool | None:
        """Return True if earlier clients of the channel have left it."""
        channel = self.channel or self._find_coming()[1]
        return None if channel is None else _JOINED.get(channel, 0) > len(channel.subscribers)

    def _published(self) -> NewMessage | None:
        message = self.message
        if message is not None:
            return NewMessage(message.body, message.trace_id, message.header, message.tag)
        return self.new

    def _connection(self) -> Connection | None:
        if self.subscriber is not None and isinstance(self.subscriber.outlet, Connection):
            return self.subscriber.outlet
        return self.connection

    def _asked_for(self) -> Partition | None:
        """Return the partition that the command or request names."""
        request, connection = self.request, self.connection
        site = None if self.http is None else self.http.site
        if request is not None and isinstance(site, Node):
            return _find_partition(
                site, request.text("topic"), request.query.get("partition", b"")
            )
        words = () if connection is None else _WORDS.get(connection, ())
        if connection is None or len(words) < 2:
            return None
        at = 3 if words[0].startswith(b"SUB") else 2
        number = words[at] if len(words) > at else b""
        return _find_partition(connection.node, words[1].decode("latin-1"), number)

    def _find_coming(self) -> tuple[int | None, Channel | None]:
        """Return the ordinal of a client that is about to join a channel, and the channel."""
        connection, partition = self.connection, self._asked_for()
        words = () if connection is None else _WORDS.get(connection, ())
        if partition is None or len(words) < 3 or not words[0].startswith(b"SUB"):
            return None, None
        channel = partition.channels.get(words[2].decode("latin-1"))
        return 1 if channel is None else _JOINED.get(channel, 0) + 1, channel


def _find_partition(node: Node, topic: str, number: bytes) -> Partition | None:
    found = node.topics.get(topic)
    if found is None:
        return None
    return found.partition(int(number) if number.isdigit() else None)


CONTEXT = Circumstances()


def _noting_words(original: Original, connection: Connection, words: Sequence[bytes]) -> object:
    _WORDS[connection] = words
    return original(connection, words)


def _noting_channel(
    original: Callable[..., Channel], partition: Partition, name: str, offset: int, number: int
) -> Channel:
    channel = original(partition, name, offset, number)
    _PARTITIONS[channel] = partition
    return channel


def _noting_client(original: Original, channel: Channel, subscriber: Subscriber) -> object:
    _JOINED[channel] = _JOINED.get(channel, 0) + 1
    if isinstance(subscriber.outlet, Connection):
        _CHANNELS[subscriber.outlet] = channel
        _ORDINALS[subscriber.outlet] = _JOINED[channel]
    return original(channel, subscriber)


def _noting_path(
    original: Callable[..., PublishResult],
    partition: Partition,
    entries: Sequence[NewMessage],
    now_ns: int,
) -> PublishResult:
    _BEFORE[partition] = partition.log.count
    if CONTEXT.path == "http":
        ids = partition.next_ids(len(entries))
        _PATHS.setdefault(partition, {}).update(dict.fromkeys(ids, "http"))
    return original(partition, entries, now_ns)


def _noting_return(why: str) -> Callable[..., object]:
    def come_back(
        original: Original, channel: Channel, held: Held, now_ns: int, **delay: int
    ) -> object:
        _RETURNS.setdefault(channel, {})[held.message.internal_id] = why
        return original(channel, held, now_ns, **delay)

    return come_back


def _noting_leave(
    original: Original, channel: Channel, held: Sequence[Held], now_ns: int
) -> object:
    for each in held:
        _RETURNS.setdefault(channel, {})[each.message.internal_id] = "next-client"
    return original(channel, held, now_ns)


NOTES: tuple[Override, ...] = (
    around(Connection, "run_command", _noting_words),
    around(Partition, "open_channel", _noting_channel),
    around(Channel, "join", _noting_client),
    around(Partition, "publish", _noting_path),
    around(Channel, "put_back", _noting_return("requeued")),
    around(Channel, "time_out", _noting_return("timed-out")),
    around(Channel, "give_back", _noting_leave),
    *(
        CONTEXT.entering(owner, name)
        for owner, name in (
            (Connection, "read"),
            (HttpConnection, "_handle"),
            (publish, "store"),
            (http_publish, "_store"),
            (http_publish, "pub_ext"),
            (Partition, "publish"),
            (Channel, "serve"),
            (Channel, "send"),
            (Channel, "choose"),
            (Channel, "data"),
            (Channel, "leave"),
        )
    ),
)
"""The overrides that keep the context and these notes."""

_NOTES = {
    (Partition, "open_channel"),
    (channels, "Held"),
    (coordinator, "spread"),
    *((each.owner, each.name) for each in HARMS),
}


def is_note(override: Override) -> bool:
    """Return True if an override notes circumstances or enables a fault; no corner limits it."""
    return (override.owner, override.name) in _NOTES - {(publish, "store")}
