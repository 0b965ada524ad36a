"""The peers of one case: they act by the script, and otherwise as the published texts say."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from wireproof_kit.clients.effects import Ask, Effect, HangUp, Later, Listen, Mark, Send
from wireproof_kit.clients.events import Answered, Connected, Disconnected, Event, Greeted
from wireproof_kit.clients.pieces import Pieces
from wireproof_kit.nsq.clients import lookup_server, node
from wireproof_kit.nsq.clients.decoder import LOOKUPD
from wireproof_kit.nsq.clients.driver_requests import PRODUCE, Asking, driver_settings
from wireproof_kit.nsq.clients.events import (
    MADE_BY_CASE,
    PUBLISHES,
    SUBSCRIPTIONS,
    Commanded,
    Requested,
)
from wireproof_kit.nsq.clients.script import (
    INSTEAD,
    LOOKUP_1,
    LOOKUP_2,
    NODE_1,
    NODE_2,
    Act,
    After,
    Beat,
    Bytes,
    Close,
    Delay,
    Delivery,
    Down,
    Expire,
    Lead,
    Note,
    Push,
    Refuse,
    Reply,
    Request,
    Respond,
    Rule,
    Script,
    Silence,
    Up,
)
from wireproof_spec.nsq import error_codes, names
from wireproof_spec.nsq.frame import error_frame, response_frame

NAMES = (LOOKUP_1, LOOKUP_2, NODE_1, NODE_2)
PUBLISH, SUBSCRIBE, ANSWERED, START = "PUBLISH", "SUBSCRIBE", "ANSWERED", "start"
MOST_DEFERRED_MS = 500
"""The greatest delay of REQ; nodes have a configured one. Clients ask for more: go-nsq for 90 s. A
case that waits for the message to come again lasts a few seconds."""
_PATHS = {"/lookup": "lookup", "/listlookup": "listlookup"}


@dataclass(frozen=True, slots=True)
class _Due:
    """The work of a timer: acts of the script, or the usual answer to an event."""

    event: Event
    acts: tuple[Act, ...]
    usual: bool = False


@dataclass(frozen=True, slots=True)
class _Pulse:
    """The timer of a node's own heartbeats on a connection, at the interval of IDENTIFY."""

    conn: str


@dataclass(frozen=True, slots=True)
class _Deferred:
    """The timer of a message that a client gave back with a delay: then it waits again."""

    delivery: Delivery


class NsqPeers:
    """The two lookup servers and two nodes that the kit plays for a client; they do no I/O."""

    def __init__(self, script: Script, asking: Asking) -> None:
        self._script = script
        self._asking = asking
        self._addresses: Mapping[str, str] = {}
        self._leaders = dict(script.leaders)
        self._counts: Counter[int] = Counter()
        self._partitions = {number: node.Partition(number) for number in script.leaders}
        self._connections: dict[str, node.Connection] = {}
        for delivery in script.deliveries:
            self._queue(delivery)

    def names(self) -> Sequence[str]:
        """Return the names of the servers."""
        return NAMES

    def has_http(self, peer: str) -> bool:
        """Return True if the server is a lookup server, which speaks HTTP."""
        return peer.startswith(LOOKUPD)

    @property
    def connections(self) -> Mapping[str, node.Connection]:
        """The state of each open connection to a node, by connection name."""
        return self._connections

    @property
    def partitions(self) -> Mapping[int, node.Partition]:
        """The partitions of the topic, by number."""
        return self._partitions

    def pieces(self, peer: str) -> Pieces | None:
        """Return in which pieces the script lets a server write."""
        return self._script.http_pieces if self.has_http(peer) else self._script.pieces

    def begin(self, addresses: Mapping[str, str], values: Mapping[str, str]) -> Iterator[Effect]:
        """Yield what the script lets the servers do before the client starts."""
        self._addresses = addresses
        self._asking.settings = driver_settings(values)
        start = Connected(0.0, "")
        for rule in self._script.rules:
            if rule.event == START:
                yield from self._act(rule.acts, start)

    def react(self, event: Event) -> Iterator[Effect]:
        """Yield what the servers do because of an event, such as to answer a command."""
        words = list(_words(event))
        if not words:
            return
        if isinstance(event, Connected) and not event.peer.startswith(LOOKUPD):
            self._connections[event.conn] = node.Connection(event.conn)
        if isinstance(event, Disconnected):
            yield from self._requeue_lost(event)
        acts = [act for rule in self._list_fitting(event, words) for act in rule.acts]
        instead = [act for act in acts if isinstance(act, INSTEAD)]
        if not instead:
            yield from self._usual_in_time(event)
        yield from self._act(acts, event)

    def react_to_timer(self, token: object) -> Iterator[Effect]:
        """Yield what the servers do because a timer has expired."""
        if isinstance(token, _Due):
            if token.usual:
                yield from self._usual(token.event)
            yield from self._act(token.acts, token.event)
        elif isinstance(token, _Deferred):
            yield from self._end_deferral(token.delivery)
        elif isinstance(token, _Pulse) and token.conn in self._connections:
            yield Send(token.conn, response_frame(names.HEARTBEAT))
            yield from self._beat_later(self._connections[token.conn])

    def _list_fitting(self, event: Event, words: Sequence[str]) -> Iterator[Rule]:
        partition = self._partition_of(event)
        for number, rule in enumerate(self._script.rules):
            if rule.event not in words or rule.peer not in (None, event.peer):
                continue
            if rule.partition not in (None, partition):
                continue
            self._counts[number] += 1
            if rule.first <= self._counts[number] <= rule.last:
                yield rule

    def _partition_of(self, event: Event) -> int | None:
        if isinstance(event, Commanded):
            if event.partition is not None:
                return event.partition
            connection = self._connections.get(event.conn)
            return connection.partition if connection else None
        return None

    def _usual_in_time(self, event: Event) -> Iterable[Effect]:
        """Return the usual answer; what a driver is asked next has its pace."""
        if isinstance(event, Answered) and event.op == PRODUCE:
            return [Later(self._script.every, _Due(event, (), usual=True))]
        return self._usual(event)

    def _usual(self, event: Event) -> Iterable[Effect]:
        if isinstance(event, Requested):
            return self._look_up(event, Respond())
        if isinstance(event, Commanded):
            return self._command(event)
        if isinstance(event, Greeted | Answered):
            return self._asking.next(event)
        return ()

    def _look_up(self, event: Requested, respond: Respond) -> Iterator[Effect]:
        data = lookup_server.answer(
            event,
            respond,
            script=self._script,
            leaders=self._script.known.get(event.peer, self._leaders),
            addresses=self._addresses,
        )
        yield Send(event.conn, data)
        if event.closes:
            yield HangUp(event.conn)

    def _command(self, event: Commanded) -> Iterator[Effect]:
        connection = self._connections.get(event.conn)
        if connection is None:
            return  # it came together with the command at which the script closed the connection
        if event.name == names.IDENTIFY.decode():
            yield Send(event.conn, node.identify(connection, event))
            yield from self._beat_later(connection)
        elif event.name in SUBSCRIPTIONS:
            yield from self._subscribe(connection, event)
        elif event.name in PUBLISHES:
            yield Send(event.conn, self._publish(event))
        elif event.name == names.CLS.decode():
            connection.closing = True
            yield Send(event.conn, response_frame(names.CLOSE_WAIT))
        else:
            yield from self._acknowledge(connection, event)
        yield from self._deliver(connection)

    def _beat_later(self, connection: node.Connection) -> Iterator[Effect]:
        if connection.heartbeat_s is not None:
            yield Later(connection.heartbeat_s, _Pulse(connection.name))

    def _subscribe(self, connection: node.Connection, event: Commanded) -> Iterator[Effect]:
        partition = self._named_partition(event)
        if self._leaders.get(partition) != event.peer:
            yield Send(event.conn, error_frame(error_codes.E_TOPIC_NOT_EXIST))
            return
        connection.subscription, connection.partition = event.name, partition
        yield Send(event.conn, response_frame(names.OK))

    def _publish(self, event: Commanded) -> bytes:
        partition = self._named_partition(event)
        if self._leaders.get(partition) != event.peer:
            return error_frame(error_codes.E_FAILED_ON_NOT_LEADER)
        return node.publish(event, self._partitions[partition])

    def _named_partition(self, event: Commanded) -> int:
        """Return the partition that a command names, or the one that its node leads."""
        if event.partition is not None:
            return event.partition
        led = [number for number, name in self._leaders.items() if name == event.peer]
        return led[0] if led else -1

    def _acknowledge(self, connection: node.Connection, event: Commanded) -> Iterator[Effect]:
        if event.name == names.RDY.decode():
            connection.ready = int(event.words[0]) if event.words else 1
        elif event.name == names.FIN.decode():
            connection.in_flight.pop(event.message_id, None)
        elif event.name == names.REQ.decode():
            delivery = connection.in_flight.pop(event.message_id, None)
            if delivery is not None:
                yield from self._requeue(node.again(delivery), event.timeout_ms)

    def _requeue(self, delivery: Delivery, timeout_ms: int) -> Iterator[Effect]:
        """Queue a message that was given back, after the delay that the client asks for."""
        if timeout_ms == 0:
            self._queue(delivery, first=True)
            return
        self._partitions[delivery.partition].deferred += 1
        yield Later(min(timeout_ms, MOST_DEFERRED_MS) / 1000, _Deferred(delivery))

    def _end_deferral(self, delivery: Delivery) -> Iterator[Effect]:
        self._partitions[delivery.partition].deferred -= 1
        self._queue(delivery, first=True)
        yield from self._deliver_all(delivery.partition)

    def _deliver(self, connection: node.Connection) -> Iterator[Effect]:
        if connection.partition is None:
            return
        partition = self._partitions[connection.partition]
        for frame in node.deliver(connection, partition):
            yield Send(connection.name, frame)

    def _queue(self, delivery: Delivery, *, first: bool = False) -> None:
        waiting = self._partitions[delivery.partition].waiting
        waiting.appendleft(delivery) if first else waiting.append(delivery)

    def _requeue_lost(self, event: Disconnected) -> Iterator[Effect]:
        """Queue again what a closed connection had in flight."""
        connection = self._connections.pop(event.conn, None)
        if connection is None:
            return
        self._take_back(connection)
        yield from self._deliver_all(connection.partition)

    def _deliver_all(self, partition: int | None) -> Iterator[Effect]:
        """Deliver on every connection that is subscribed to a partition."""
        for connection in self._connections.values():
            if connection.partition == partition:
                yield from self._deliver(connection)

    def _take_back(self, connection: node.Connection) -> None:
        """Queue again what a connection has in flight."""
        for delivery in reversed(connection.in_flight.values()):
            self._queue(node.again(delivery), first=True)
        connection.in_flight.clear()

    def _act(self, acts: Iterable[Act], event: Event) -> Iterator[Effect]:
        for act in acts:
            yield from self._do(act, event)

    def _do(self, act: Act, event: Event) -> Iterator[Effect]:
        if isinstance(act, Respond):
            if isinstance(event, Requested):
                yield from self._look_up(event, act)
        elif isinstance(act, Lead):
            leaders = {**self._leaders, **act.leaders}
            self._leaders = {each: name for each, name in leaders.items() if name is not None}
        elif isinstance(act, Push | Expire):
            yield from self.push(act)
        elif isinstance(act, After):
            yield Later(act.seconds, _Due(event, act.acts))
        elif isinstance(act, Delay):
            yield Later(act.seconds, _Due(event, (), usual=True))
        elif not isinstance(act, Silence):
            yield _effect(act, event.conn)

    def push(self, act: Push | Expire) -> Iterator[Effect]:
        """Queue the messages of a script step; yield the frames that can be delivered now."""
        if isinstance(act, Push):
            for delivery in act.deliveries:
                self._queue(delivery)
        connections = tuple(self._connections.values())
        if isinstance(act, Expire):
            for connection in connections:
                self._take_back(connection)
        for connection in connections:
            yield from self._deliver(connection)


_Stateless: TypeAlias = Refuse | Reply | Close | Beat | Bytes | Down | Up | Request | Note


def _effect(act: _Stateless, conn: str) -> Effect:
    """Return the effect of an act that needs no state."""
    if isinstance(act, Refuse):
        return Send(conn, error_frame(act.code, act.text))
    if isinstance(act, Reply):
        return Send(conn, response_frame(act.data))
    if isinstance(act, Close):
        return HangUp(conn, reset=act.reset)
    if isinstance(act, Beat):
        return Send(conn, response_frame(names.HEARTBEAT))
    if isinstance(act, Bytes):
        return Send(conn, act.data, note=MADE_BY_CASE)
    if isinstance(act, Note):
        return Mark(act.name)
    if isinstance(act, Request):
        return Ask(act.op, act.fields)
    return Listen(act.peer, up=isinstance(act, Up))


def _words(event: Event) -> Iterator[str]:
    """Yield the names of an event in rules."""
    if isinstance(event, Connected):
        yield "connect"
    elif isinstance(event, Disconnected):
        yield "disconnect"
    elif isinstance(event, Requested):
        yield _PATHS.get(event.path, event.path)
    elif isinstance(event, Greeted | Answered):
        yield ANSWERED
    elif isinstance(event, Commanded):
        yield event.name
        if event.name in PUBLISHES:
            yield PUBLISH
        if event.name in SUBSCRIPTIONS:
            yield SUBSCRIBE
