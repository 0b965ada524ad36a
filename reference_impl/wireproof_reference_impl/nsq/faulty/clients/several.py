"""Faults that show on later connections alone: of another partition, or after a loss."""

# A fault reaches into the core from outside, also for what is private there.
# pyright: reportPrivateUsage=false

from msgspec.structs import replace

from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.nsq.client.core import commands, lookups, partitioning
from wireproof_reference_impl.nsq.client.core import subscription as subscriptions
from wireproof_reference_impl.nsq.client.core.commands import Identity, Publish
from wireproof_reference_impl.nsq.client.core.connection import NodeConnection
from wireproof_reference_impl.nsq.client.core.consumer import Consumer
from wireproof_reference_impl.nsq.client.core.link import Link
from wireproof_reference_impl.nsq.client.core.lookups import Lookups
from wireproof_reference_impl.nsq.client.core.message import Message
from wireproof_reference_impl.nsq.client.core.order import OrderCheck
from wireproof_reference_impl.nsq.client.core.producer import Job, Lane, Producer
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.nsq.client.core.topology import Place, Topology
from wireproof_reference_impl.nsq.faulty.clients.ways import condition
from wireproof_reference_impl.overrides import Original, around

_MANY_BEATS = 5


def _count(owner: object, name: str) -> int:
    """Return how often this was called with an object and a name, from 1."""
    number = int(vars(owner).get(name, 0)) + 1
    vars(owner)[name] = number
    return number


@condition("client.heartbeat client-connection.held-heartbeat", around(NodeConnection, "receive"))
def heartbeats_answered_five_times(
    original: Original, self: NodeConnection, data: bytes
) -> object:
    """The first five heartbeats of a connection are answered."""
    events, reply = original(self, data)
    if reply and _count(self, "beats") > _MANY_BEATS:
        reply = b""
    return events, reply


@condition("client-connection.held-heartbeat", around(Link, "received"))
def heartbeats_wait_for_handlers(original: Original, self: Link, data: bytes) -> None:
    """While handlers hold two messages, nothing is read."""
    held = getattr(self._user, "_in_flight", ())
    if len(held) < 2:
        original(self, data)
    else:
        self._host.after(0.1, lambda: self.received(data))


@condition("client.end", around(Consumer, "_leave"))
def second_connection_stays(original: Original, self: Consumer, place: Place) -> None:
    """A consumer that ends leaves the connections of other partitions than the first open."""
    if self._when_ended is not None and place.partition:
        self._subscriptions.pop(place)
    else:
        original(self, place)


@condition("client.end", around(Producer, "stop"))
def second_lane_stays(original: Original, self: Producer) -> None:
    """A producer that ends leaves the connections of other partitions than the first open."""
    self._lanes = {name: lane for name, lane in self._lanes.items() if not lane.place.partition}
    original(self)


@condition("client-connection.graceful-end", around(Subscription, "leave"))
def second_closed_without_cls(original: Original, self: Subscription) -> None:
    """The connections of other partitions than the first are closed without CLS."""
    if not self.place.partition:
        original(self)
    else:
        self._is_leaving = True
        self._consumer.ready.leave(self)
        self._end()


@condition("client.lookup-follow", around(lookups, "merge"))
def second_leader_kept(original: Original, *args: object) -> object:
    """The leader of the second partition stays what the first lookup said."""
    found = original(*args)
    assert isinstance(found, Topology)
    if 1 in found.leaders:
        first = _FIRST.setdefault(1, found.leaders[1])
        return replace(found, leaders={**found.leaders, 1: first})
    return found


_FIRST: dict[int, tuple[str, int]] = {}


@condition("ext.client.identify", around(subscriptions, "identity_of"))
def extend_support_said_once(original: Original, consumer: Consumer, *, extend: bool) -> object:
    """Only the first connection of a consumer says extend_support."""
    return original(consumer, extend=extend and _count(consumer, "said") == 1)


@condition("ext.client-header.desired-tag", around(subscriptions, "identity_of"))
def tag_said_once(original: Original, consumer: Consumer, *, extend: bool) -> object:
    """Only the first connection of a consumer says the desired tag."""
    found = original(consumer, extend=extend)
    assert isinstance(found, Identity)
    return found if _count(consumer, "said") == 1 else replace(found, desired_tag="")


@condition("client.order-each", around(Subscription, "handle_ready"))
def subscribes_without_order_again(original: Original, self: Subscription) -> None:
    """A consumer that has lost an ordered connection subscribes with SUB."""
    if _count(self, "subscribed") == 1:
        original(self)
        return
    wants = self.wants
    self.wants = replace(wants, ordered=False)
    original(self)
    self.wants = wants


@condition("client.shard", around(Lane, "_again"))
def repeated_elsewhere(original: Original, self: Lane, job: Job) -> None:
    """A message with a sharding id that was refused is repeated in another partition."""
    job.message = replace(job.message, key=None)
    original(self, job)


@condition("client.shard", around(Producer, "_choose"))
def traced_to_first_partition(original: Original, self: Producer, job: Job) -> object:
    """Every traced message goes to the first partition."""
    places = self.lookups.topology.places
    if job.message.trace_id is not None and places:
        return places[0]
    return original(self, job)


@condition("client.shard", around(Producer, "_choose"))
def headers_in_turn(original: Original, self: Producer, job: Job) -> object:
    """Messages with a header go to the partitions in turn, whatever their sharding ids."""
    topology = self.lookups.topology
    if job.message.has_header and topology.places:
        return partitioning.place_in_turn(topology, _count(self, "headers") // 3)
    return original(self, job)


@condition("client-consume.no-late-finish", around(Subscription, "finish"))
def finished_elsewhere(original: Original, self: Subscription, id: bytes) -> None:
    """FIN is sent on the connection of another partition, if there is one."""
    others = [
        subscription
        for subscription in self._consumer._subscriptions.values()
        if subscription is not self
    ]
    if others and self._is_held(id):
        others[0]._link.send(commands.finish(id))
        self._release(id)
    else:
        original(self, id)


@condition("client.lookup-access", around(Lookups, "refresh"))
def refreshed_with_other_access(original: Original, self: Lookups, *args: object) -> None:
    """A lookup after an error has the access of the other role."""
    access, self._access = self._access, "r" if self._access == "w" else "w"
    original(self, *args)
    self._host.after(1.0, lambda: setattr(self, "_access", access))


@condition("client.order-validate", around(subscriptions, "check_order"))
def order_checked_across_partitions(
    original: Original, self: Subscription, order: OrderCheck, message: Message
) -> None:
    """Ids and offsets of all partitions are compared with each other."""
    original(self, vars(self._consumer).setdefault("order", order), message)


@condition("client.order-validate", around(subscriptions, "check_order"))
def order_of_second_unchecked(
    original: Original, self: Subscription, order: OrderCheck, message: Message
) -> None:
    """Ids and offsets are compared in the first partition alone."""
    if not self.place.partition:
        original(self, order, message)


@condition("client-send.publish", around(NodeConnection, "publish"))
def partition_left_out_later(
    original: Original, self: NodeConnection, topic: str, partition: int | None, message: Publish
) -> object:
    """From the third publish of a connection on, no partition is named."""
    return original(self, topic, None if _count(self, "published") > 2 else partition, message)


FAULTS = list_faults(__name__)
