"""Cases repeated elsewhere: in another partition of a topic, and on an upgraded topic.

There each channel has had other clients before the case uses it, so that the case's own client is
the second one of its channel or a later one.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from types import ModuleType

from wireproof_kit.nsq.broker import ORDERED, Broker
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.repeated_cases import (
    Experiment,
    elsewhere,
    keep_values,
    list_must_cases,
    name_repeated,
)

EXT = "ext_topic"
SHARED = {EXT: "wide_ext_topic", "plain_topic": "wide_topic"}
FRESH = {
    "fresh_plain_topic": "fresh_wide_topic",
    "fresh_ordered_topic": "fresh_wide_ordered_topic",
    "fresh_ordered_ext_topic": "fresh_wide_ordered_ext_topic",
}
WIDE = SHARED | FRESH
THIRD = 2
IN_THIRD, UPGRADED = "third-partition", "upgraded-topic"
# A broker may keep what a departed client was sent until it times out.
SOON = {"msg_timeout": 1000}


@dataclass(frozen=True, slots=True)
class VisitedTopic(Topic):
    """A topic on whose channels other clients were before a case uses them."""

    visit: Callable[[str], object] = str.strip

    def channel(self) -> str:
        """Return the name of a new channel that other clients have used and left."""
        name = Topic.channel(self)
        self.visit(name)
        return name


def repeat_elsewhere(*modules: ModuleType) -> Mapping[str, Experiment]:
    """Return the must cases of some modules that use one topic, repeated on other topics.

    Each is repeated in the third partition of a topic (or in the last one, where a target allows
    no three), and one of a shared ext topic also on a
    topic that was upgraded to ext. Of a case with a topic of its own, only the first parameters
    are repeated: clusters take long to make topics.
    """
    return {
        name: repeated
        for module in modules
        for function in list_must_cases("nsq", module)
        for name, repeated in _repeat(function)
    }


def _repeat(function: Experiment) -> Iterator[tuple[str, Experiment]]:
    own = WIDE.keys() & inspect.signature(function).parameters
    if len(own) != 1:
        return
    name = name_repeated(function)
    repeated = elsewhere(
        function,
        place=IN_THIRD,
        needs=("partition",),
        arguments={each: WIDE[each] for each in own},
        adapt=lambda given: _place(given, THIRD, _come_and_stay),
    )
    if own <= FRESH.keys():
        keep_values(repeated, 0, None)
    yield f"{name}_in_third_partition", repeated
    if EXT in own:
        yield (
            f"{name}_on_upgraded_topic",
            elsewhere(
                function,
                place=UPGRADED,
                needs=("partition", "upgrade"),
                arguments={EXT: "wide_upgraded_topic"},
                adapt=lambda given: _place(given, 0, _stay),
            ),
        )


def _place(
    given: Mapping[str, object], partition: int, visit: Callable[[Broker, Topic, str], None]
) -> Mapping[str, object]:
    """Return arguments whose topics are at a partition, where others visit each channel first."""
    broker = given["broker"]
    assert isinstance(broker, Broker)
    return {
        name: _visited(value.at_rank(partition), broker, visit)
        if isinstance(value, Topic)
        else value
        for name, value in given.items()
    }


def _visited(
    topic: Topic, broker: Broker, visit: Callable[[Broker, Topic, str], None]
) -> VisitedTopic:
    own = {field.name: getattr(topic, field.name) for field in fields(topic)}
    return VisitedTopic(**own, visit=lambda channel: visit(broker, topic, channel))


def _come(broker: Broker, topic: Topic, channel: str) -> None:
    """Subscribe to a channel and leave it."""
    command = ORDERED[1] if topic.ordered else "SUB"
    broker.subscribe(topic, channel=channel, ready=0, identify=SOON, command=command).close()


def _stay(broker: Broker, topic: Topic, channel: str) -> None:
    """Subscribe to a channel, and be ready for no message."""
    broker.subscribe(topic, channel=channel, ready=0)


def _come_and_stay(broker: Broker, topic: Topic, channel: str) -> None:
    """Let two clients come first; one of them stays, unless an ordered client is always ready."""
    _come(broker, topic, channel)
    (_come if topic.ordered else _stay)(broker, topic, channel)
