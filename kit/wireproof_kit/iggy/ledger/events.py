"""What happens in the partitions of a server, in the order of the transcript."""

from dataclasses import dataclass

from wireproof_kit.iggy.ledger.topics import TopicLife
from wireproof_kit.iggy.observe.polled import Polled
from wireproof_kit.iggy.wire.http import JsonPolled
from wireproof_kit.ledger.entries import Place
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.poll_messages import PollMessages


@dataclass(frozen=True, slots=True)
class TopicEvent:
    """An event in a topic; ``order`` counts the steps of all cases.

    ``partition`` is None where the server chooses one.
    """

    topic: TopicLife
    partition: int | None
    at: Place
    order: int


@dataclass(frozen=True, slots=True)
class PollAnswered(TopicEvent):
    """The server answered a poll with success.

    ``is_closed``: all that was ever sent to the topic was read before.
    """

    poll: PollMessages
    result: Polled | JsonPolled
    is_closed: bool


@dataclass(frozen=True, slots=True)
class Changed(TopicEvent):
    """The control API may have changed a message: its state, or with None its payload.

    ``is_certain`` is False if the request was not answered with success.
    """

    offset: int
    state: int | None
    is_certain: bool


@dataclass(frozen=True, slots=True)
class OffsetStored(TopicEvent):
    """A consumer may have stored an offset; ``offset`` is None if it is not known which.

    ``by_poll``: a poll asked to commit it, of which no text says what is committed.
    """

    consumer: Consumer | None
    offset: int | None
    by_poll: bool = False


@dataclass(frozen=True, slots=True)
class OffsetTold(TopicEvent):
    """The server told the offset that a consumer stored."""

    consumer: Consumer
    offset: int
