"""Creating topics over a lookup server, and observing the created topics."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from wireproof_kit.errors import ArrangementFailed, TargetUnreachable
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.lookup.answer import TopicInfo
from wireproof_kit.nsq.lookup.servers import CREATE_PATHS, LookupClient, best_refusal
from wireproof_kit.nsq.observe.observations import observe_http
from wireproof_kit.nsq.topics.topic import LedPartition, Topic
from wireproof_kit.nsq.wire.http import HttpAnswer, HttpClient
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_kit.wire.transcript import Transcript
from wireproof_kit.wire.waiting import until
from wireproof_suites.nsq.steps.deliveries import deliver
from wireproof_suites.nsq.steps.lookup_requests import POLL_SECONDS, eventually, look

# Measured: a topic may need ten times as long to appear as a message to come again, and a minute
# more until its nodes take messages; a case must come to its end before it is ended.
APPEARING = 10
APPEAR_SECONDS = 30.0
REGISTER_SECONDS = 80.0
ONE: Mapping[str, str] = {"partition_num": "1", "replicator": "1"}

PUBLISHED = frozenset({"topic", "partition_num", "replicator", "extend"})

Parameters = Mapping[str, str]


def create(lookup: LookupClient, name: str, method: str = "POST", **parameters: str) -> HttpAnswer:
    """Request the creation of a topic, by the path and at the server that the target has."""
    answers = [create_at(server, name, method, **parameters) for server in lookup.servers]
    granted = [answer for answer in answers if answer.status == 200]
    return granted[0] if granted else best_refusal(answers)


def create_at(
    server: HttpClient, name: str, method: str = "POST", **parameters: str
) -> HttpAnswer:
    """Request the creation of a topic from one server; an empty name leaves the parameter out."""
    query = {"topic": name, **parameters} if name else dict(parameters)
    answer = server.request(method, CREATE_PATHS[0], query=query, v1=True)
    if answer.status != 404:
        return answer
    return server.request(method, CREATE_PATHS[1], query=query, v1=True)


def create_and_wait(
    broker: Broker,
    lookup: LookupClient,
    name: str,
    parameters: Parameters,
    *,
    partitions: int = 1,
) -> Topic | Observation:
    """Create a topic and return it once it is usable; else return the refusal, or ``not-led``."""
    wanted = {**ONE, "partition_num": str(partitions), **parameters}
    answer = create(lookup, name, **wanted)
    if answer.status != 200:
        _refuse_private(parameters, answer)
        return observe_http(answer)
    info = wait_until_led(broker, lookup, name, partitions=partitions)
    if info is None:
        return observed("not-led", overdue=True)
    quiet = lookup.record_to(Transcript())
    if not quiet.wait_until_registered(name, partitions=partitions, seconds=REGISTER_SECONDS):
        raise ArrangementFailed(f"no node registered {name} within {REGISTER_SECONDS:g} s")
    return _topic(broker, name, info, parameters)


def create_and_look_up(
    broker: Broker,
    lookup: LookupClient,
    name: str,
    parameters: Parameters,
    observe: Callable[[HttpAnswer], Observation],
    *,
    due: str,
) -> Observation:
    """Create a topic and observe its lookups until ``due`` is seen; leaders may come later."""
    answer = create(lookup, name, **{**ONE, **parameters})
    if answer.status != 200:
        _refuse_private(parameters, answer)
        return observe_http(answer)

    def look_up() -> Observation:
        return observe(look(lookup, name, access="r", metainfo="true"))

    return eventually(broker, look_up, due=[due])


def _refuse_private(parameters: Parameters, answer: HttpAnswer) -> None:
    """Raise an error if a creation was refused that has a parameter of no published text.

    Raises:
        ArrangementFailed: that may be why.
    """
    private = sorted(set(parameters) - PUBLISHED)
    if private:
        seen = observe_http(answer).describe()
        raise ArrangementFailed(f"a creation with {', '.join(private)} was answered {seen}")


def wait_until_led(
    broker: Broker, lookup: LookupClient, name: str, *, partitions: int
) -> TopicInfo | None:
    """Wait until this number of partitions has leaders; return None if patience runs out."""

    def look() -> TopicInfo | None:
        info = lookup.lookup(name)
        return info if info and len(info.leaders) >= partitions else None

    patience = broker.patience
    seconds = min(APPEARING * patience.seconds(REDELIVERY), APPEAR_SECONDS)
    seconds = max(seconds, patience.settling_seconds())
    return until(look, seconds=seconds, every=POLL_SECONDS)


def observe_kind(broker: Broker, topic: Topic) -> Observation:
    """Return the kind of every partition of a topic: ``ext``, ``plain``, ``mixed`` or ``neither``.

    An ext topic delivers a message that was published with a header. A plain topic refuses the
    header and delivers a message without one.
    """
    kinds = {_kind(broker, topic.at(place.partition)) for place in topic.places}
    return observed(kinds.pop() if len(kinds) == 1 else "mixed")


def observe_count(topic: Topic, lookup: LookupClient, *, due: int) -> Observation:
    """Compare the number of partitions of a topic, by leaders and in meta, with the number due."""
    info = lookup.lookup(topic.name)
    if info is None:
        return observed("not-led", overdue=True)
    for field, found in (
        ("partitions", len(info.leaders)),
        ("partition_num", info.meta.get("partition_num")),
    ):
        if found != due:
            word = field.replace("_", "-")
            return observed(
                f"{word}-wrong", difference=Difference(field, None, str(due), str(found))
            )
    return observed("as-asked")


def _kind(broker: Broker, topic: Topic) -> str:
    try:
        with_header = deliver(
            broker, replace(topic, extend=True), broker.unique_body(), header={"k": "v"}
        )
    except ArrangementFailed:
        with_header = observed("refused")  # such a client may not subscribe
    except TargetUnreachable:
        return "unreachable"
    if with_header.value == "delivered:as-sent":
        return "ext"
    try:
        plain = deliver(broker, replace(topic, extend=False), broker.unique_body())
    except ArrangementFailed:
        return "neither"
    return "plain" if plain.value == "delivered:as-sent" else "neither"


def _topic(broker: Broker, name: str, info: TopicInfo, parameters: Parameters) -> Topic:
    places = tuple(
        LedPartition(led.partition, led.address, led.http_address) for led in info.leaders
    )
    return Topic(
        name=name,
        partition=places[0].partition,
        extend=parameters.get("extend") == "true",
        ordered=parameters.get("orderedmulti") == "true",
        shared=False,
        address=places[0].address,
        http_address=places[0].http_address,
        way="lookupd",
        places=places,
    )


def observe_word(answer: HttpAnswer) -> Observation:
    """Return ``done`` for a successful POST, else the error word of the refusal."""
    return observed("done") if answer.status == 200 else observe_http(answer)
