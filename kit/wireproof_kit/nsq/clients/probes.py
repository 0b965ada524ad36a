"""Probes of a client's capabilities: short runs against peers that act correctly."""

from collections.abc import Callable, Mapping

from wireproof_kit.clients.events import Greeted
from wireproof_kit.clients.observe import results
from wireproof_kit.clients.part import Experiment, Stories
from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.driver_requests import CONSUME
from wireproof_kit.nsq.clients.events import (
    ORDERED,
    PUBLISHES,
    SUBSCRIPTIONS,
    Commanded,
    Requested,
)
from wireproof_kit.nsq.clients.identity import list_identities
from wireproof_kit.nsq.clients.logged import is_number_logged
from wireproof_kit.nsq.clients.script import NODE_1, NODE_2, Delivery, Script
from wireproof_kit.observation import Observation, observed
from wireproof_spec.nsq import names

ORDER_COMMAND = "order-command"
TRACE_ID = "1"
TRACED_ID = 70_000_031
TRACED = Delivery(internal_id=TRACED_ID, trace_id=2**62 + 70_000_032)
"""A message with ids that nothing else in a log is likely to contain."""
TWO_PARTITIONS = {0: NODE_1, 1: NODE_2}
KEYS = tuple(f"key-{number}" for number in range(8))
UNAVAILABLE = "unavailable"
LASTING = 20
"""The publishes in its first run of a program without a driver: about a second of them."""


def commands(story: Story, names: frozenset[str]) -> list[Commanded]:
    """Return the client's commands with one of these names, in order."""
    return story.of(Commanded, lambda event: event.name in names)


def lookups(story: Story) -> list[Requested]:
    """Return the client's requests for /lookup, in order."""
    return story.of(Requested, lambda event: event.path == "/lookup")


def _has_published(story: Story) -> bool:
    return len(commands(story, PUBLISHES)) >= 2


def _goes_on_publishing(story: Story) -> bool:
    """Return True once a client publishes as long as it is let, as cases need it.

    A driver publishes what it is asked to. Another program may have a few messages and end.
    """
    least = 2 if story.first(Greeted) else LASTING
    return len(commands(story, PUBLISHES)) >= least


def _has_finished(story: Story) -> bool:
    return bool(commands(story, frozenset({"FIN"}))) and bool(commands(story, SUBSCRIPTIONS))


def _has_subscribed(story: Story) -> bool:
    return bool(commands(story, SUBSCRIPTIONS))


def _has_repeated(story: Story) -> bool:
    """Return True if the client has asked a lookup server again since its first message or SUB.

    Before, each thread of a client may ask for itself.
    """
    began = next((event.at for event in commands(story, PUBLISHES | SUBSCRIPTIONS)), None)
    asked = lookups(story)
    first = {event.peer for event in asked if began is not None and event.at <= began}
    return any(began is not None and e.at > began and e.peer in first for e in asked)


def _has_finished_two(story: Story) -> bool:
    return len(commands(story, frozenset({"FIN"}))) >= 2


FIRST: Mapping[str, Experiment[Script]] = {
    "producer": Experiment("producer", Script("producer", publishes=2), _goes_on_publishing),
    "consumer": Experiment(
        "consumer", Script("consumer", deliveries=(Delivery(), Delivery())), _has_finished
    ),
}
"""Short runs that show whether a client can be tested at all, by role."""

FURTHER: Mapping[str, Experiment[Script]] = {
    "order": Experiment("consumer", Script("consumer", ordered=True), _has_subscribed),
    "ext-consumer": Experiment("consumer", Script("consumer", extend=True), _has_subscribed),
    "ext-producer": Experiment(
        "producer",
        Script(
            "producer",
            extend=True,
            publishes=2,
            message={"ext": {"k": "v"}},
        ),
        _has_published,
    ),
    "trace": Experiment(
        "producer",
        Script(
            "producer",
            publishes=2,
            message={"trace_id": TRACE_ID},
            settings={"trace": "1"},
        ),
        _has_published,
    ),
    "trace-consumer": Experiment(
        "consumer",
        Script(
            "consumer",
            deliveries=(TRACED, Delivery(internal_id=TRACED_ID + 1)),
            settings={"trace": "1"},
            consume={"trace": True},
        ),
        _has_finished_two,
    ),
    "key": Experiment(
        "producer",
        Script("producer", ordered=True, publishes=2, keys=("a", "b"), leaders=TWO_PARTITIONS),
        _has_published,
    ),
    "spread": Experiment(
        "producer",
        Script("producer", ordered=True, publishes=len(KEYS), keys=KEYS, leaders=TWO_PARTITIONS),
        lambda story: len(commands(story, PUBLISHES)) >= len(KEYS),
    ),
    "refresh-producer": Experiment("producer", Script("producer", publishes=1), _has_repeated),
    "refresh-consumer": Experiment("consumer", Script("consumer"), _has_repeated),
}
"""Short runs that show one capability of a client each, by name."""


def observe_capability(stories: Stories, name: str) -> Observation:
    """Return what the short runs show of the capability with this name."""
    ask = _QUESTIONS.get(name)
    if ask is None:
        return observed(UNAVAILABLE, note=f"no run of a client shows {name}")
    return observed("ok" if ask(stories) else "not-shown")


def _any(stories: Stories, *runs: str) -> list[Story]:
    return [stories[run] for run in runs if run in stories]


def _producer(stories: Stories) -> bool:
    return any(commands(story, PUBLISHES) for story in _any(stories, "producer"))


def _consumer(stories: Stories) -> bool:
    return any(map(_has_subscribed, _any(stories, "consumer")))


def _driver(stories: Stories) -> bool:
    return any(story.first(Greeted) for story in stories.values())


def _lookup(stories: Stories) -> bool:
    return any(lookups(story) for story in stories.values())


def _lookup_producer(stories: Stories) -> bool:
    """Return True if the producer looks up; producers of the original are told a node."""
    return any(map(lookups, _any(stories, "producer")))


def _partition(stories: Stories) -> bool:
    return any(
        event.partition is not None
        for story in stories.values()
        for event in commands(story, PUBLISHES | SUBSCRIPTIONS)
    )


def _order(stories: Stories) -> bool:
    return any(commands(story, ORDERED) for story in _any(stories, "order"))


def _ext_consumer(stories: Stories) -> bool:
    return any(
        fields.get(names.EXTEND_SUPPORT) is True
        for story in _any(stories, "ext-consumer")
        for fields in list_identities(story)
    )


def _ext_producer(stories: Stories) -> bool:
    return any(commands(story, _PUB_EXT) for story in _any(stories, "ext-producer"))


def _trace(stories: Stories) -> bool:
    return any(commands(story, _PUB_TRACE) for story in _any(stories, "trace"))


def _trace_consumer(stories: Stories) -> bool:
    """Return True if a driver took the request to trace, or else the client shows that it traces.

    It shows so by ids in its log, or by a command of its own, which no text knows.
    """
    for story in _any(stories, "trace-consumer"):
        if story.first(Greeted):
            return bool(results(story, CONSUME))
        return bool(commands(story, _SUB_ADVANCED)) or any(
            is_number_logged(story, number) for number in (TRACED_ID, TRACED.trace_id)
        )
    return False


def _key(stories: Stories) -> bool:
    """Return True if a driver took a sharding key; without a driver nobody can give one."""
    return any(map(_has_published, (s for s in _any(stories, "key") if s.first(Greeted))))


def _spread(stories: Stories) -> bool:
    """Return True if eight keys lead to both partitions; no text says which key leads where."""
    return any(
        len({event.partition for event in commands(story, PUBLISHES)}) > 1
        for story in _any(stories, "spread")
        if story.first(Greeted)
    )


def _refresh(stories: Stories) -> bool:
    """Return True if the client looks up again in the role of cases that leave the role open.

    It is the producer's, if the client plays that role and looks up in it.
    """
    if "refresh-producer" in stories and _lookup_producer(stories):
        return _refresh_producer(stories)
    return _refresh_consumer(stories)


def _refresh_producer(stories: Stories) -> bool:
    return any(map(_has_repeated, _any(stories, "refresh-producer")))


def _refresh_consumer(stories: Stories) -> bool:
    return any(map(_has_repeated, _any(stories, "refresh-consumer")))


_PUB_EXT = frozenset({names.PUB_EXT.decode()})
_PUB_TRACE = frozenset({names.PUB_TRACE.decode()})
_SUB_ADVANCED = frozenset({names.SUB_ADVANCED.decode()})
_QUESTIONS: Mapping[str, Callable[[Stories], bool]] = {
    "client-producer": _producer,
    "client-consumer": _consumer,
    "client-driver": _driver,
    "client-lookup": _lookup,
    "client-lookup-producer": _lookup_producer,
    "client-partition": _partition,
    "client-order": _order,
    "client-ext-consumer": _ext_consumer,
    "client-ext-producer": _ext_producer,
    "client-trace": _trace,
    "client-trace-consumer": _trace_consumer,
    "client-key": _key,
    "client-spread": _spread,
    "client-refresh": _refresh,
    "client-refresh-producer": _refresh_producer,
    "client-refresh-consumer": _refresh_consumer,
}


def observe_reading(stories: Stories, name: str) -> Observation:
    """Return which command the client uses to subscribe in order."""
    for story in _any(stories, "order") if name == ORDER_COMMAND else ():
        for event in commands(story, ORDERED):
            return observed(f"{event.name},sent")
    return observed(UNAVAILABLE)
