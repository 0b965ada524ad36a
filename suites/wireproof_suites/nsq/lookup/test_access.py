"""Lookups with access=r and access=w: nodes for consumers, and nodes for producers."""

import contextlib
import functools
from collections.abc import Generator
from dataclasses import replace

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.lookup.servers import TOMBSTONE_PATH, LookupClient
from wireproof_kit.nsq.observe.observations import observe_http
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation, compared, observed
from wireproof_suites.nsq.lookup.lookup_services import observe_tombstones
from wireproof_suites.nsq.steps.lookup_answers import (
    ALL,
    NONE,
    compare_leaders,
    observe_lists,
    observe_meta,
    observe_places,
)
from wireproof_suites.nsq.steps.lookup_requests import (
    STYLES,
    ask,
    eventually,
    every_server,
    look,
    tell,
    with_channel,
    writes_disabled,
)

ALL_TOPICS, ORDERED_TOPICS = "all", "ordered"

disabling = functools.partial(case, needs=("write-disable",), alone=True)
entombing = functools.partial(case, needs=("tombstone",), alone=True)


@case("nsq/lookup/readable", clause="smart.lookup.access")
def test_readable(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic
) -> Observation:
    """A lookup with access=r lists the nodes of every readable partition."""
    topic = shared_partitioned_topic

    def places() -> Observation:
        return observe_places(look(lookup, topic, access="r"), topic)

    return eventually(broker, places, due=[ALL])


@case("nsq/lookup/writable", clause="smart.lookup.access")
def test_writable(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic
) -> Observation:
    """A lookup with access=w lists the nodes of every writable partition."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)

    def places() -> Observation:
        return observe_places(look(lookup, topic, access="w"), topic)

    return eventually(broker, places, due=[ALL])


@case("nsq/lookup/same-leaders", clause="smart.lookup.access")
def test_same_leaders(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic
) -> Observation:
    """While a topic is readable and writable, access=r and access=w list the same leaders."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)

    def both() -> Observation:
        return compare_leaders([look(lookup, topic, access=access) for access in ("r", "w")])

    return eventually(broker, both, due=["same"])


@disabling("nsq/lookup/disabled-w", clause="smart.lookup.access")
def test_nobody_is_writable(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic
) -> Observation:
    """While writing is disabled no node is listed for access=w."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)
    with writes_disabled(lookup, ALL_TOPICS):
        return every_server(
            lookup, lambda server: observe_places(look(server, topic, access="w"), topic), due=NONE
        )


@disabling("nsq/lookup/disabled-r", clause="smart.lookup.access")
def test_all_stay_readable(lookup: LookupClient, shared_partitioned_topic: Topic) -> Observation:
    """While writing is disabled every node is listed for access=r."""
    topic = shared_partitioned_topic
    with writes_disabled(lookup, ALL_TOPICS):
        return every_server(
            lookup, lambda server: observe_places(look(server, topic, access="r"), topic), due=ALL
        )


@case(
    "nsq/lookup/enabled-again", clause="smart.lookup.access", needs=("write-disable",), alone=True
)
def test_writable_again(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic
) -> Observation:
    """After writing is enabled again, a lookup with access=w lists the nodes."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)
    with writes_disabled(lookup, ALL_TOPICS):
        look(lookup, topic, access="w")

    def places() -> Observation:
        return observe_places(look(lookup, topic, access="w"), topic)

    return eventually(broker, places, due=[ALL])


@case(
    "nsq/lookup/enabled-again/ordered",
    clause="smart.lookup.access",
    needs=("write-disable",),
    alone=True,
)
def test_ordered_writable_again(
    broker: Broker, lookup: LookupClient, shared_partitioned_ordered_topic: Topic
) -> Observation:
    """After writing is enabled again, access=w lists the nodes of an ordered topic."""
    topic = shared_partitioned_ordered_topic
    for place in topic.places:
        broker.subscribe(topic.at(place.partition), command="SUB_ORDER", ready=0)
    with writes_disabled(lookup, ALL_TOPICS):
        look(lookup, topic, access="w")

    def places() -> Observation:
        return observe_places(look(lookup, topic, access="w"), topic)

    return eventually(broker, places, due=[ALL])


@case(
    "nsq/lookup/disabled-no-meta",
    clause="smart.lookup.disabled",
    needs=("write-disable",),
    alone=True,
)
@pytest.mark.parametrize(
    ("kind", "access"), [(ALL_TOPICS, "w"), (ORDERED_TOPICS, "r")], ids=["all-w", "ordered-r"]
)
def test_no_meta_unasked(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic, kind: str, access: str
) -> Observation:
    """A lookup that does not ask for metainfo returns no meta, also while writing is disabled."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)
    with writes_disabled(lookup, kind):
        answer = look(lookup, topic, access=access)
    if answer.status != 200 or not isinstance(answer.data, dict):
        return observe_http(answer)
    return observed("meta" if "meta" in answer.data else "no-meta")


@case(
    "nsq/lookup/null-lists", clause="smart.lookup.disabled", needs=("write-disable",), alone=True
)
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_null_lists(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic, v1: bool
) -> Observation:
    """While writing is disabled, a lookup with access=w has null as partitions and producers."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)
    with writes_disabled(lookup, ALL_TOPICS):
        return observe_lists(look(lookup, topic, v1=v1, access="w", metainfo="true"))


@case(
    "nsq/lookup/ordered-disabled",
    clause="smart.lookup.disabled",
    needs=("write-disable",),
    alone=True,
)
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_ordered_disabled(
    broker: Broker, lookup: LookupClient, shared_partitioned_ordered_topic: Topic, v1: bool
) -> Observation:
    """While ordered writing is disabled, an ordered topic's access=w lookup has null lists."""
    topic = shared_partitioned_ordered_topic
    for place in topic.places:
        broker.subscribe(topic.at(place.partition), command="SUB_ORDER", ready=0)
    with writes_disabled(lookup, ORDERED_TOPICS):
        return observe_lists(look(lookup, topic, v1=v1, access="w"))


@case(
    "nsq/lookup/ordered-disabled-plain",
    clause="smart.lookup.disabled",
    needs=("write-disable",),
    alone=True,
)
def test_plain_beside_ordered_disabled(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic
) -> Observation:
    """While ordered writing is disabled, access=w lookups still list unordered topics' nodes."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)
    with writes_disabled(lookup, ORDERED_TOPICS):
        return eventually(
            broker, lambda: observe_places(look(lookup, topic, access="w"), topic), due=[ALL]
        )


@case(
    "nsq/lookup/ordered-disabled-meta",
    clause="smart.lookup.disabled",
    needs=("write-disable",),
    alone=True,
)
def test_meta_while_ordered_disabled(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic
) -> Observation:
    """While ordered writing is disabled, an access=w lookup returns meta without metainfo=true."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)
    partitions = len(topic.places)
    with writes_disabled(lookup, ORDERED_TOPICS):
        return observe_meta(look(lookup, topic, access="w"), partitions=partitions, replicas=1)


@case("nsq/lookup/no-access", clause="smart.lookup.no-access")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_no_access(lookup: LookupClient, shared_partitioned_topic: Topic, v1: bool) -> Observation:
    """A lookup without the access parameter is treated as access=r."""
    return observe_places(look(lookup, shared_partitioned_topic, v1=v1), shared_partitioned_topic)


@case("nsq/lookup/no-channel", clause="smart.lookup.no-channel")
def test_no_channel(lookup: LookupClient, partitioned_topic: Topic) -> Observation:
    """A topic without a channel is listed for reading; access=w may be refused."""
    topic = partitioned_topic
    for_reading, for_writing = (
        observe_places(look(lookup, topic, access=access), topic) for access in ("r", "w")
    )
    seen = compared(f"{for_reading.value}/{for_writing.value}", for_writing, for_reading)
    return replace(seen, overdue=for_reading.overdue or for_writing.overdue)


@entombing("nsq/lookup/tombstone-w", clause="smart.lookup.tombstone")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_tombstone_hides(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic, v1: bool
) -> Observation:
    """A node with a tombstone for a topic is not listed for access=w."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)
    with put_tombstone(lookup, topic):

        def places() -> Observation:
            return observe_places(look(lookup, topic, v1=v1, access="w"), topic)

        return eventually(broker, places, due=["some"])


@entombing("nsq/lookup/tombstone-stays", clause="smart.lookup.tombstone")
def test_tombstone_stays(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic, fresh_plain_topic: Topic
) -> Observation:
    """A tombstone stays though another topic is deleted."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)
    with put_tombstone(lookup, topic):

        def places() -> Observation:
            return observe_places(look(lookup, topic, access="w"), topic)

        seen = eventually(broker, places, due=["some"])
        lookup.delete(fresh_plain_topic.name)
        return places() if seen.value == "some" else seen


@entombing("nsq/lookup/tombstone-r", clause="smart.lookup.tombstone")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_tombstone_and_reading(
    lookup: LookupClient, shared_partitioned_topic: Topic, v1: bool
) -> Observation:
    """A node with a tombstone for a topic is listed for access=r."""
    topic = shared_partitioned_topic
    with put_tombstone(lookup, topic):
        return observe_places(look(lookup, topic, v1=v1, access="r"), topic)


@entombing("nsq/lookup/tombstone-restored", clause="smart.lookup.tombstone")
@pytest.mark.parametrize("v1", STYLES.values(), ids=STYLES)
def test_tombstone_restored(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic, v1: bool
) -> Observation:
    """A node whose tombstone was taken away is listed for access=w again."""
    topic = shared_partitioned_topic
    with_channel(broker, topic)
    with put_tombstone(lookup, topic):
        look(lookup, topic, v1=v1, access="w")

    def places() -> Observation:
        return observe_places(look(lookup, topic, v1=v1, access="w"), topic)

    return eventually(broker, places, due=[ALL])


@entombing("nsq/lookup/tombstone-nodes", clause="smart.lookup.tombstone")
@pytest.mark.parametrize("restored", [False, True], ids=["set", "restored"])
def test_tombstone_of_a_node(
    broker: Broker, lookup: LookupClient, shared_partitioned_topic: Topic, restored: bool
) -> Observation:
    """Only the node with a tombstone for a topic is listed with that tombstone."""
    topic = shared_partitioned_topic

    def tombstones() -> Observation:
        answer = ask(lookup, "/nodes")
        return observe_tombstones(answer, topic, due=() if restored else (_http_port(topic),))

    with put_tombstone(lookup, topic):
        if not restored:
            return eventually(broker, tombstones, due=["true"])
    return eventually(broker, tombstones, due=["true"])


@case(
    "nsq/lookup/tombstone-no-node", clause="smart.lookup.tombstone-refused", needs=("tombstone",)
)
def test_tombstone_of_nobody(lookup: LookupClient, shared_partitioned_topic: Topic) -> Observation:
    """A tombstone request that names no node is refused."""
    return observe_http(tell(lookup, TOMBSTONE_PATH, topic=shared_partitioned_topic.name))


@contextlib.contextmanager
def put_tombstone(lookup: LookupClient, topic: Topic) -> Generator[None]:
    """Hide the node that leads the topic's own partition by a tombstone during the context."""
    host, _ = topic.http_address or topic.address
    node = f"{host}:{_http_port(topic)}"
    try:
        tell(lookup, TOMBSTONE_PATH, topic=topic.name, node=node)
        yield
    finally:
        tell(lookup, TOMBSTONE_PATH, topic=topic.name, node=node, restore="true")


def _http_port(topic: Topic) -> str:
    return str((topic.http_address or topic.address)[1])
