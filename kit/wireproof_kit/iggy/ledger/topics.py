"""Which topic a request means: topics by number or name, and their lives."""

from dataclasses import dataclass, field
from typing import Final

from wireproof_spec.iggy.bodies.identifier import Identifier
from wireproof_spec.iggy.bodies.streams import CreateStream
from wireproof_spec.iggy.bodies.topics import CreateTopic
from wireproof_spec.iggy.names import stored_name

Numbers = tuple[int, int]
"""A stream and a topic by their numbers."""
_CHOSEN: Final = 0
"""The number by which a request leaves the choice to the server."""


@dataclass(frozen=True, slots=True)
class TopicLife:
    """A topic from one moment at which it may have been created to the next."""

    stream: int
    topic: int
    number: int


@dataclass(slots=True)
class Topics:
    """The topics of a run; a topic is deleted and created again under the same number at times."""

    _streams: dict[str, int] = field(default_factory=dict[str, int])
    _names: dict[tuple[int, str], int] = field(default_factory=dict[tuple[int, str], int])
    _lives: dict[Numbers, int] = field(default_factory=dict[Numbers, int])
    _is_new: set[Numbers] = field(default_factory=set[Numbers])
    """The topics that were certainly empty at the beginning of their present life."""
    _have_one_partition: set[Numbers] = field(default_factory=set[Numbers])
    """Those of them that were created with one partition."""

    def find(self, stream: Identifier, topic: Identifier) -> TopicLife | None:
        """Return the topic that a request means; None if its number is not known."""
        numbers = self._numbers(stream, topic)
        return None if numbers is None else TopicLife(*numbers, self._lives.get(numbers, 0))

    def is_new(self, topic: TopicLife) -> bool:
        """Return True if the topic was created, once, in what was read."""
        return (topic.stream, topic.topic) in self._is_new

    def has_one_partition(self, topic: TopicLife) -> bool:
        """Return True if the topic certainly has one partition: any poll of it is of that one."""
        return self.is_new(topic) and (topic.stream, topic.topic) in self._have_one_partition

    def create_stream(self, request: CreateStream) -> None:
        """Follow that a stream was created."""
        self._streams[stored_name(request.name)] = request.stream_id

    def create(self, request: CreateTopic) -> None:
        """Follow that a topic was created; what exists already is not empty."""
        stream = self._stream(request.stream)
        if stream is None or request.topic_id == _CHOSEN:
            return
        numbers = stream, request.topic_id
        self._names[stream, stored_name(request.name)] = request.topic_id
        if numbers in self._lives:
            self._is_new.discard(numbers)
        else:
            self._lives[numbers] = 0
            self._is_new.add(numbers)
            if request.partitions_count == 1:
                self._have_one_partition.add(numbers)

    def delete(self, stream: Identifier, topic: Identifier | None = None) -> None:
        """Follow that a topic, or all topics of a stream, or partitions may be deleted."""
        number = self._stream(stream)
        one = None if topic is None else self._numbers(stream, topic)
        for numbers in [*self._lives]:
            if number is None or (numbers[0] == number and one in (None, numbers)):
                self._lives[numbers] += 1
                self._is_new.discard(numbers)

    def forget(self) -> None:
        """Follow that any topic may have been deleted."""
        for numbers in self._lives:
            self._lives[numbers] += 1
        self._is_new.clear()

    def _stream(self, stream: Identifier) -> int | None:
        if stream.name is None:
            return stream.number
        return self._streams.get(stored_name(stream.name))

    def _numbers(self, stream: Identifier, topic: Identifier) -> Numbers | None:
        number = self._stream(stream)
        if number is None:
            return None
        found = topic.number
        if topic.name is not None:
            found = self._names.get((number, stored_name(topic.name)))
        return None if found is None else (number, found)
