"""The exercises of the kit's own NSQ clients, by name."""

import time
from dataclasses import dataclass

from wireproof_kit.fuzz.case import GRANTED, RETURNED
from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.nsq.fuzz.exercises.crowd import PUBLISHERS, SECONDS, publish_at_once
from wireproof_kit.nsq.fuzz.exercises.granted import try_granted
from wireproof_kit.nsq.fuzz.exercises.returns import (
    OrderedRound,
    RedeliveryRound,
    make_bodies,
    publish_all,
    return_all,
)
from wireproof_kit.nsq.fuzz.opening import ClientOpener, close_all
from wireproof_kit.runner.patience import machine_load
from wireproof_spec.nsq.limits import MIN_MSG_TIMEOUT_MS


@dataclass(slots=True)
class Exercises:
    """Lets clients do an exercise; `times_out`: the target granted the shortest time-out."""

    clients: ClientOpener
    times_out: bool = True

    def do(self, what: str, token: str, until: float) -> Trouble | None:
        """Do an exercise on channels of a token until a moment; return what went wrong.

        Raises:
            Disturbed: a client could not connect or subscribe.
        """
        if what == RETURNED:
            return self._return_messages(token, until)
        if what == GRANTED:
            return try_granted(self.clients, token, until)
        return self._publish_at_once(until)

    def _return_messages(self, token: str, until: float) -> Trouble | None:
        """Let subscribers of new channels get again all messages that are published meanwhile."""
        clients, places, load = self.clients, self.clients.places, machine_load()
        topic, push_s = places.neighbour, clients.push_s
        bodies, patience_s = make_bodies(token.encode()), places.redelivery_s * load
        returning: list[RedeliveryRound] = []
        for late in (False, True)[: 1 + self.times_out]:
            asked = {"msg_timeout": MIN_MSG_TIMEOUT_MS} if late else {}
            client = clients.subscribe(topic, channel=f"{token}_{late:d}", asked=asked)
            returning.append(RedeliveryRound(client, bodies, patience_s, load, late))
        returning[0].timed = returning[-1]
        ordered = clients.subscribe_in_order(f"{token}_in_order")
        in_order = [OrderedRound(ordered, bodies, push_s)] if ordered else []
        publisher = clients.greet(topic.address)
        publisher.send(publish_all(bodies, topic, traced=places.can_trace))
        trouble = return_all([*returning, *in_order], publisher, until)
        self.times_out = self.times_out and returning[-1].came_again
        close_all(publisher, ordered, *(each.client for each in returning))
        return trouble

    def _publish_at_once(self, until: float) -> Trouble | None:
        """Let many connections publish traced messages at once."""
        topic = self.clients.places.neighbour
        count = range(PUBLISHERS * self.clients.places.can_trace)
        publishers = [self.clients.greet(topic.address) for _ in count]
        until = min(until, time.monotonic() + SECONDS)
        return publish_at_once(publishers, topic, until, self.clients.answer_s)
