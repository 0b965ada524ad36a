"""Consuming one topic: a subscription for each partition, and what is done with messages."""

import itertools
from collections.abc import Callable
from enum import Enum

from wireproof_reference_impl.nsq.client.core import retry
from wireproof_reference_impl.nsq.client.core.connection import Refused
from wireproof_reference_impl.nsq.client.core.effects import Failure, Hand, Report
from wireproof_reference_impl.nsq.client.core.host import Host
from wireproof_reference_impl.nsq.client.core.lookups import READ, Lookups
from wireproof_reference_impl.nsq.client.core.message import Message
from wireproof_reference_impl.nsq.client.core.ready import Ready
from wireproof_reference_impl.nsq.client.core.settings import Settings, Subscribing
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.nsq.client.core.topology import Place, Topology

_BARRED_MOST_S = 15.0


class Outcome(Enum):
    """What a message handler reports: processed, or to be delivered again."""

    FINISHED = "processed"
    FAILED = "to be delivered again"


class Consumer:
    """The client's consumer of one topic and channel: its lookups, subscriptions and handler."""

    def __init__(self, host: Host, settings: Settings, wants: Subscribing, number: int) -> None:
        self.host = host
        self.settings = settings
        self.wants = wants
        self.number = number
        self.ready = Ready(host, wants)
        self.lookups = Lookups(host, settings, wants.topic, READ, self._follow)
        self._subscriptions: dict[Place, Subscription] = {}
        self._handed: dict[int, tuple[Subscription, Message]] = {}
        self._tickets = itertools.count(1)
        self._barred: dict[Place, float] = {}
        self._refusals: dict[Place, int] = {}
        self._leaving: set[Subscription] = set()
        self._when_ended: Callable[[], None] | None = None

    def start(self) -> None:
        """Begin with the first lookup."""
        self.lookups.start()

    def stop(self, then: Callable[[], None]) -> None:
        """Stop lookups, end every subscription, and call `then` when all have ended."""
        self._when_ended = then
        self.lookups.stop()
        self.ready.stop()
        for place in tuple(self._subscriptions):
            self._leave(place)
        self._call_if_ended()

    def settle(self, ticket: int, outcome: Outcome) -> None:
        """Process what the handler reports on the message that it was given with this ticket."""
        subscription, message = self._handed.pop(ticket)
        if outcome is Outcome.FINISHED:
            self._finish(subscription, message)
        else:
            self.give_back(subscription, message.id, attempts=message.attempts)

    def touch(self, ticket: int) -> None:
        """Ask the node for more time for the message that the handler has under this ticket."""
        subscription, message = self._handed[ticket]
        subscription.touch(message.id)

    def hand(self, subscription: Subscription, message: Message) -> None:
        """Give a message to the handler, unless the message has had too many attempts."""
        if is_given_up(self.wants, message):
            self.host.log(f"message {message.id.hex()} is given up: {message.attempts} attempts")
            self._finish(subscription, message)
            return
        ticket = next(self._tickets)
        self._handed[ticket] = (subscription, message)
        self.host.do(Hand(self.number, ticket, message))

    def give_back(self, subscription: Subscription, id: bytes, *, attempts: int) -> None:
        """Requeue a message; delivery stops first, or the message might come back at once."""
        self.ready.fail()
        subscription.requeue(id, requeue_delay(self.wants, attempts))

    def handle_refusal(self, subscription: Subscription, event: Refused) -> None:
        """Close a connection whose SUB was refused, tell the user, and look up the topic again."""
        place = subscription.place
        self._refusals[place] = self._refusals.get(place, 0) + 1
        delay = barred_for(self.settings, self._refusals[place])
        self._barred[place] = self.host.now + delay
        self.host.after(delay, self._follow)
        self._subscriptions.pop(place, None)
        close_refused(subscription)
        tell_refused(self, event)
        if retry.judge(event.code) is retry.Verdict.REFRESH:
            self.look_up()

    def look_up(self) -> None:
        """Look up the topic again, as a node that is lost may no longer be the leader."""
        self.lookups.refresh(self._follow)

    def report(self, failure: Failure) -> None:
        """Report an error to the user of the consumer."""
        self.host.do(Report(self.number, failure))

    def drop(self, subscription: Subscription) -> None:
        """Remove a subscription that has ended."""
        self._leaving.discard(subscription)
        self._call_if_ended()

    def _finish(self, subscription: Subscription, message: Message) -> None:
        subscription.finish(message.id)
        self.ready.succeed()

    def _follow(self) -> None:
        """Subscribe to what the lookups name, and leave what they no longer name."""
        if self._when_ended is not None:
            return
        wanted = places_of(self.lookups.topology)
        if not wanted:
            return  # nobody knows the topic now; what is subscribed to still works
        for place in tuple(self._subscriptions):
            if place not in wanted:
                self._leave(place)
        for place in wanted:
            if place not in self._subscriptions and self._barred.get(place, 0) <= self.host.now:
                self._subscriptions[place] = Subscription(self, place)

    def _leave(self, place: Place) -> None:
        subscription = self._subscriptions.pop(place)
        self._leaving.add(subscription)
        subscription.leave()

    def _call_if_ended(self) -> None:
        if self._when_ended is not None and not self._leaving and not self._subscriptions:
            then, self._when_ended = self._when_ended, _nothing
            then()


def places_of(topology: Topology) -> tuple[Place, ...]:
    """Return the partitions and nodes to subscribe to: all that lookups name."""
    return topology.places


def is_given_up(wants: Subscribing, message: Message) -> bool:
    """Return True if a message had too many attempts and is finished without its handler.

    An ordered consumer gives no message up: that would skip one.
    """
    return 0 < wants.max_attempts < message.attempts and not wants.ordered


def requeue_delay(wants: Subscribing, attempts: int) -> float:
    """Return the seconds after which a message of so many attempts is to be delivered again."""
    return min(wants.requeue_s * attempts, wants.requeue_most_s)


def close_refused(subscription: Subscription) -> None:
    """Close the connection of a subscription that was refused."""
    subscription.close()


def tell_refused(consumer: Consumer, event: Refused) -> None:
    """Report to the user that a subscription was refused."""
    consumer.report(Failure(event.text, event.code))


def barred_for(settings: Settings, refusals: int) -> float:
    """Return for how many seconds a node is not tried again after so many refusals."""
    return min(settings.reconnect_s * 2.0 ** min(refusals, 16), _BARRED_MOST_S)


def _nothing() -> None:
    """Do nothing."""
