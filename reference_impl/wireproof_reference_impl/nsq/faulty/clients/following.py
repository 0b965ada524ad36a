"""Faults in what follows from lookups: when they are repeated, who is merged, moved to, left."""

# An override reaches into the core from outside, and is called with whatever the core has there.
# pyright: reportPrivateUsage=false, reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from collections.abc import Callable, Iterable
from itertools import count

from wireproof_reference_impl.nsq.client.core import consumer, lookups
from wireproof_reference_impl.nsq.client.core.consumer import Consumer
from wireproof_reference_impl.nsq.client.core.lookups import READ, WRITE, Lookups
from wireproof_reference_impl.nsq.client.core.producer import Producer
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.nsq.client.core.topology import Place, Topology
from wireproof_reference_impl.nsq.faulty.clients.finding import (
    _MERGE,
    _REMEMBER,
    _configured,
    _target,
)
from wireproof_reference_impl.nsq.faulty.clients.rows import (
    around,
    boundary,
    condition,
    constant,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override

_PRODUCES = (
    "client.lookup-follow client.retry-refreshed client-publish.topic-not-exist client.shard-retry"
)
_NEVER = 1 << 30
"""The round from which a lookup server is asked again that never is."""


def _stop_after_failure(original: Original, self: Lookups, address: str) -> None:
    original(self, address)
    self.stop()


def _drop_after_failure(original: Original, self: Lookups, address: str) -> None:
    """Leave a server out of all further rounds, unless each server has failed."""
    original(self, address)
    self._asked_again[address] = _NEVER


def _void_after_failure(original: Original, self: Lookups, address: str) -> None:
    """Forget all answers of a round in which one server failed."""
    original(self, address)
    self._answers.clear()
    vars(self)["void"] = self._round


def _void_rounds(original: Original, self: Lookups, address: str) -> None:
    if vars(self).get("void") == self._round:
        self._answers.clear()
    original(self, address)


def _after_first(change: Callable[[str], str]) -> Callable[[str], str]:
    """Return a change of a lookup's target that leaves the first lookup of the process alone."""
    numbers = count()
    return lambda target: change(target) if next(numbers) else target


def _fall_back(original: Original, answers: Iterable[Topology]) -> object:
    """Take the node of the configuration if no lookup names one."""
    found = original(answers)
    assert isinstance(found, Topology)
    known = (lookups.split_address(_configured[0]),)
    return found if found.places else Topology(originals=known)


def _once(original: Original, self: Consumer) -> None:
    if not self._subscriptions:
        original(self)


def _never_move(original: Original, self: Producer) -> None:
    """Keep every lane where it is."""


def _keep_old(original: Original, self: Consumer, place: Place) -> None:
    if self._when_ended is not None:
        original(self, place)
    else:
        self._subscriptions.pop(place)


def _leave_later(original: Original, self: Consumer, place: Place) -> None:
    if self._when_ended is not None:
        original(self, place)
        return
    subscription = self._subscriptions.pop(place)
    self.host.after(30.0, subscription.leave)


def _last_answer(answers: Iterable[Topology]) -> Topology:
    found = list(answers)
    return found[-1] if found else Topology()


def _first_answer(answers: Iterable[Topology]) -> Topology:
    return next(iter(answers), Topology())


def _places(change: Callable[[tuple[Place, ...]], tuple[Place, ...]]) -> Override:
    def call(original: Original, found: Topology) -> object:
        return change(found.places)

    return around(consumer, "places_of", call)


def _one_each_node(places: tuple[Place, ...]) -> tuple[Place, ...]:
    return tuple({each.address: each for each in reversed(places)}.values())


def _of_first_node(places: tuple[Place, ...]) -> tuple[Place, ...]:
    return tuple(each for each in places if each.address == places[0].address)


def _last_only(places: tuple[Place, ...]) -> tuple[Place, ...]:
    return places[-1:]


def _skip_third(places: tuple[Place, ...]) -> tuple[Place, ...]:
    return places[:2] + places[3:]


def _second_elsewhere(places: tuple[Place, ...]) -> tuple[Place, ...]:
    nobody = ("127.0.0.1", 2)
    return tuple(
        Place(each.partition, nobody if each.partition else each.address) for each in places
    )


def _all_at_first(places: tuple[Place, ...]) -> tuple[Place, ...]:
    return tuple(Place(each.partition, places[0].address) for each in places)


def _shared_connection(original: Original, self: Consumer) -> None:
    """Send the SUB of a node's second partition on the connection of its first."""
    original(self)
    for place in self.lookups.topology.places:
        first = next(
            (s for p, s in self._subscriptions.items() if p.address == place.address), None
        )
        if first is not None and place != first.place and place in self._subscriptions:
            self._subscriptions[place].close()
            self._subscriptions[place] = _Guest(first, place)  # type: ignore[assignment]  # its part


class _Guest:
    """A partition on the connection of another."""

    def __init__(self, first: Subscription, place: Place) -> None:
        self.place = place
        link = first._link
        handle = link._user.handle_event

        def handle_then_subscribe(event: object) -> None:
            handle(event)  # type: ignore[arg-type]  # an event
            if not vars(link).get("has_guest"):
                vars(link)["has_guest"] = True
                wants = first.wants
                line = f"SUB {wants.topic} {wants.channel} {place.partition}\n"
                link.send(line.encode())

        vars(first)["handle_event"] = handle_then_subscribe  # for this one

    def leave(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


_OF_PARTITIONS = (
    "client.order-each client-connection.undisturbed client-connection.same-node "
    "client.lookup-follow client.configuration client-order.place"
)
_SUBSCRIBES = "client.subscribe-each client.partition-connection"


FAULTS = (
    boundary(
        "interval-long",
        "Lookups are repeated at three times the interval.",
        "client.lookup-interval",
        around(lookups, "interval", lambda original, *args: 3 * original(*args)),
        may="client.lookup-follow client.lookup-leave client.lookup-priority client.shard-refresh",
    ),
    boundary(
        "interval-short",
        "Lookups are repeated at a quarter of the interval.",
        "client.lookup-interval",
        around(lookups, "interval", lambda original, *args: original(*args) / 4),
        may="client.lookup-priority",
    ),
    boundary(
        "interval-tenfold",
        "Lookups are repeated at ten times the interval.",
        "client.lookup-interval",
        around(lookups, "interval", lambda original, *args: 10 * original(*args)),
        may="client.lookup-follow client.lookup-leave client.lookup-priority client.shard-refresh",
    ),
    missing(
        "lookups-once",
        "Lookups are not repeated once a node is found.",
        "client.lookup-interval",
        around(lookups, "interval", lambda original, *args: 1e6),
        may="client.lookup-follow client.lookup-leave client.lookup-priority client.shard-refresh",
    ),
    condition(
        "metainfo-once",
        "A producer asks for metainfo in its first lookup only.",
        "client.lookup-access",
        _target(_after_first(lambda target: target.replace("&metainfo=true", "")), only=WRITE),
        may="client.shard client.shard-unavailable client.complete client.shard-refresh "
        "client-publish.shards",
    ),
    condition(
        "access-once",
        "A consumer looks up with access=w from its second lookup on.",
        "client.lookup-access",
        _target(_after_first(lambda target: target.replace("access=r", "access=w")), only=READ),
    ),
    condition(
        "node-fallback",
        "A client whose lookups name no node connects to the one in its configuration.",
        "client.lookup-only",
        _REMEMBER,
        around(lookups, "merge", _fall_back),
        may="client-lookup.told client.handshake client.end",
    ),
    missing(
        "consumer-stays",
        "A consumer takes no notice of later lookups.",
        "client.lookup-follow client.lookup-leave",
        around(Consumer, "_follow", _once),
        may=f"{_MERGE} client.consume-all",
    ),
    missing(
        "producer-stays",
        "A producer takes no notice of a leader that has moved.",
        _PRODUCES,
        around(Producer, "_follow", _never_move),
        may="client.shard client.shard-unavailable",
    ),
    missing(
        "old-leader-kept",
        "A consumer keeps the connection to an old leader.",
        "client.lookup-leave",
        around(Consumer, "_leave", _keep_old),
    ),
    boundary(
        "old-leader-left-late",
        "A consumer keeps the connection to an old leader for 30 s.",
        "client.lookup-leave",
        around(Consumer, "_leave", _leave_later),
    ),
    wrong_value(
        "last-answer-counts",
        "Of all lookup answers only the last one counts.",
        _MERGE,
        around(lookups, "merge", lambda _, answers: _last_answer(answers)),
        may="client.lookup-retry client.listlookup-failure",
    ),
    wrong_value(
        "first-answer-counts",
        "Of all lookup answers only the first one counts.",
        _MERGE,
        around(lookups, "merge", lambda _, answers: _first_answer(answers)),
        may="client.lookup-retry",
    ),
    missing(
        "no-lookup-after-failure",
        "Lookups end when one fails.",
        "client.lookup-retry",
        around(Lookups, "_note_failure", _stop_after_failure),
        may="client.lookup-priority client-robust.lookup "
        "client-lookup.nobody client.listlookup-failure",
    ),
    condition(
        "dead-server-dropped",
        "A lookup server that fails is not looked up again as long as another one answers.",
        "client.listlookup-failure",
        around(Lookups, "_note_failure", _drop_after_failure),
        may="client.lookup-retry client.lookup-all client.lookup-priority "
        "client-lookup.listed client-lookup.nobody client-robust.lookup",
    ),
    condition(
        "one-failure-voids-round",
        "A round in which one lookup server fails finds nothing; all are asked in every round.",
        "client.lookup-retry",
        constant(lookups, "skip", 0),
        around(Lookups, "_note_failure", _void_after_failure),
        around(Lookups, "_done", _void_rounds),
        # A /listlookup that is closed or not answered is a failure of its server, too.
        may="client.lookup-priority client.listlookup-failure",
    ),
    missing(
        "dead-server-as-often",
        "A lookup server that fails is asked as often as others.",
        "client.lookup-priority",
        constant(lookups, "skip", 0),
    ),
    boundary(
        "dead-server-patience",
        "A lookup server that fails is asked less often after a hundred failures.",
        "client.lookup-priority",
        around(lookups, "skip", lambda original, failures, settings: max(failures - 100, 0)),
    ),
    missing(
        "one-partition-a-node",
        "A consumer subscribes to one partition of each node.",
        f"client-connection.same-node {_SUBSCRIBES}",
        _places(_one_each_node),
    ),
    wrong_value(
        "second-at-remote-address",
        "A consumer takes remote_address for the partitions after the first.",
        f"client.address client.consume-all {_MERGE} {_SUBSCRIBES}",
        _places(_second_elsewhere),
        may=_OF_PARTITIONS,
    ),
    condition(
        "all-at-first-address",
        "A consumer takes the address of the first partition for all others.",
        "client.address client.consume-all",
        _places(_all_at_first),
        may=f"{_OF_PARTITIONS} {_SUBSCRIBES} {_MERGE}",
    ),
    missing(
        "first-node-only",
        "A consumer subscribes to the partitions of one node only.",
        f"client.consume-all {_MERGE} {_SUBSCRIBES}",
        _places(_of_first_node),
        may="client.order-each client-connection.undisturbed client.lookup-follow "
        "client.configuration",
    ),
    missing(
        "last-partition-only",
        "A consumer subscribes to the last partition only.",
        f"client.consume-all client-connection.same-node {_MERGE} {_SUBSCRIBES}",
        _places(_last_only),
        may="client.order-each client-connection.undisturbed client.lookup-follow",
    ),
    condition(
        "third-partition-skipped",
        "A consumer skips the third partition.",
        _SUBSCRIBES,
        _places(_skip_third),
    ),
    wrong_value(
        "shared-connection",
        "Partitions of one node share a connection.",
        "client.partition-connection",
        around(Consumer, "_follow", _shared_connection),
        may="client.subscribe-each client-connection.same-node client.end",
    ),
)
