"""Faults in what follows from lookups: when they are repeated, who is merged, moved to, left."""

# A fault reaches into the core from outside, also for what is private there.
# pyright: reportPrivateUsage=false

from collections.abc import Callable, Iterable
from itertools import count

from wireproof_reference_impl.client_faults import constant
from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.client.core import consumer, lookups
from wireproof_reference_impl.nsq.client.core.consumer import Consumer
from wireproof_reference_impl.nsq.client.core.lookups import READ, WRITE, Lookups
from wireproof_reference_impl.nsq.client.core.producer import Producer
from wireproof_reference_impl.nsq.client.core.settings import Settings
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.nsq.client.core.topology import Place, Topology
from wireproof_reference_impl.nsq.faulty.clients.finding import (
    _REMEMBER,
    _configured,
    _target,
)
from wireproof_reference_impl.nsq.faulty.clients.ways import (
    boundary,
    condition,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around

_NEVER = 1 << 30
"""The round from which a lookup server is asked again that never is."""


def _after_first(change: Callable[[str], str]) -> Callable[[str], str]:
    """Return a change of a lookup's target that leaves the first lookup of the process alone."""
    numbers = count()
    return lambda target: change(target) if next(numbers) else target


def _places(change: Callable[[tuple[Place, ...]], tuple[Place, ...]]) -> Override:
    def call(original: Original, found: Topology) -> object:
        return change(found.places)

    return around(consumer, "places_of", call)


@boundary("client.lookup-interval", around(lookups, "interval"))
def interval_long(original: Callable[..., float], *args: object) -> float:
    """Lookups are repeated at three times the interval."""
    return 3 * original(*args)


@boundary("client.lookup-interval", around(lookups, "interval"))
def interval_short(original: Callable[..., float], *args: object) -> float:
    """Lookups are repeated at a quarter of the interval."""
    return original(*args) / 4


@boundary("client.lookup-interval", around(lookups, "interval"))
def interval_tenfold(original: Callable[..., float], *args: object) -> float:
    """Lookups are repeated at ten times the interval."""
    return 10 * original(*args)


@missing("client.lookup-interval", around(lookups, "interval"))
def lookups_once(original: Original, *args: object) -> object:
    """Lookups are not repeated once a node is found."""
    return 1e6


@condition("client.lookup-access")
def metainfo_once() -> Change:
    """A producer asks for metainfo in its first lookup only."""
    return _target(_after_first(lambda target: target.replace("&metainfo=true", "")), only=WRITE)


@condition("client.lookup-access")
def access_once() -> Change:
    """A consumer looks up with access=w from its second lookup on."""
    return _target(_after_first(lambda target: target.replace("access=r", "access=w")), only=READ)


@condition("client.lookup-only", around(lookups, "merge"), also=(_REMEMBER,))
def node_fallback(original: Original, answers: Iterable[Topology]) -> object:
    """A client whose lookups name no node connects to the one in its configuration."""
    found = original(answers)
    assert isinstance(found, Topology)
    known = (lookups.split_address(_configured[0]),)
    return found if found.places else Topology(originals=known)


@missing("client.lookup-follow client.lookup-leave", around(Consumer, "_follow"))
def consumer_stays(original: Original, self: Consumer) -> None:
    """A consumer takes no notice of later lookups."""
    if not self._subscriptions:
        original(self)


@missing(
    "client.lookup-follow client.retry-refreshed client-publish.topic-not-exist "
    "client.shard-retry",
    around(Producer, "_follow"),
)
def producer_stays(original: Original, self: Producer) -> None:
    """A producer takes no notice of a leader that has moved."""


@missing("client.lookup-leave", around(Consumer, "_leave"))
def old_leader_kept(original: Original, self: Consumer, place: Place) -> None:
    """A consumer keeps the connection to an old leader."""
    if self._when_ended is not None:
        original(self, place)
    else:
        self._subscriptions.pop(place)


@boundary("client.lookup-leave", around(Consumer, "_leave"))
def old_leader_left_late(original: Original, self: Consumer, place: Place) -> None:
    """A consumer keeps the connection to an old leader for 30 s."""
    if self._when_ended is not None:
        original(self, place)
        return
    subscription = self._subscriptions.pop(place)
    self.host.after(30.0, subscription.leave)


@wrong_value("client.lookup-all", around(lookups, "merge"))
def last_answer_counts(_: Original, answers: Iterable[Topology]) -> Topology:
    """Of all lookup answers only the last one counts."""
    return next(iter([*answers][::-1]), Topology())


@wrong_value("client.lookup-all", around(lookups, "merge"))
def first_answer_counts(_: Original, answers: Iterable[Topology]) -> Topology:
    """Of all lookup answers only the first one counts."""
    return next(iter(answers), Topology())


@missing("client.lookup-retry", around(Lookups, "_note_failure"))
def no_lookup_after_failure(original: Original, self: Lookups, address: str) -> None:
    """Lookups end when one fails."""
    original(self, address)
    self.stop()


@condition("client.listlookup-failure", around(Lookups, "_note_failure"))
def dead_server_dropped(original: Original, self: Lookups, address: str) -> None:
    """A lookup server that fails is not looked up again as long as another one answers."""
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


@condition("client.lookup-retry")
def one_failure_voids_round() -> Change:
    """A round in which one lookup server fails finds nothing; all are asked in every round."""
    return (
        constant(lookups, "skip", 0),
        around(Lookups, "_note_failure", _void_after_failure),
        around(Lookups, "_done", _void_rounds),
    )


@missing("client.lookup-priority")
def dead_server_as_often() -> Change:
    """A lookup server that fails is asked as often as others."""
    return constant(lookups, "skip", 0)


@boundary("client.lookup-priority", around(lookups, "skip"))
def dead_server_patience(original: Original, failures: int, settings: Settings) -> object:
    """A lookup server that fails is asked less often after a hundred failures."""
    return max(failures - 100, 0)


@missing("client-connection.same-node client.subscribe-each client.partition-connection", _places)
def one_partition_a_node(places: tuple[Place, ...]) -> tuple[Place, ...]:
    """A consumer subscribes to one partition of each node."""
    return tuple({place.address: place for place in reversed(places)}.values())


@wrong_value(
    "client.address client.consume-all client.lookup-all client.subscribe-each "
    "client.partition-connection",
    _places,
)
def second_at_remote_address(places: tuple[Place, ...]) -> tuple[Place, ...]:
    """A consumer takes remote_address for the partitions after the first."""
    nobody = ("127.0.0.1", 2)
    return tuple(
        Place(place.partition, nobody if place.partition else place.address) for place in places
    )


@condition("client.address client.consume-all", _places)
def all_at_first_address(places: tuple[Place, ...]) -> tuple[Place, ...]:
    """A consumer takes the address of the first partition for all others."""
    return tuple(Place(place.partition, places[0].address) for place in places)


@missing(
    "client.consume-all client.lookup-all client.subscribe-each client.partition-connection",
    _places,
)
def first_node_only(places: tuple[Place, ...]) -> tuple[Place, ...]:
    """A consumer subscribes to the partitions of one node only."""
    return tuple(place for place in places if place.address == places[0].address)


@missing(
    "client.consume-all client-connection.same-node client.lookup-all "
    "client.subscribe-each client.partition-connection",
    _places,
)
def last_partition_only(places: tuple[Place, ...]) -> tuple[Place, ...]:
    """A consumer subscribes to the last partition only."""
    return places[-1:]


@condition("client.subscribe-each client.partition-connection", _places)
def third_partition_skipped(places: tuple[Place, ...]) -> tuple[Place, ...]:
    """A consumer skips the third partition."""
    return places[:2] + places[3:]


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


@wrong_value("client.partition-connection", around(Consumer, "_follow"))
def shared_connection(original: Original, self: Consumer) -> None:
    """Partitions of one node share a connection."""
    original(self)
    for place in self.lookups.topology.places:
        first = next(
            (s for p, s in self._subscriptions.items() if p.address == place.address), None
        )
        if first is not None and place != first.place and place in self._subscriptions:
            self._subscriptions[place].close()
            self._subscriptions[place] = _Guest(first, place)  # type: ignore[assignment]  # its part


FAULTS = list_faults(__name__)
