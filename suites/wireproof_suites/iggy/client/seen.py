"""What a story of an Iggy client shows, in the words that the cases share."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar, cast

from wireproof_kit.clients.events import Greeted, Malformed
from wireproof_kit.clients.observe import answers, shown, unless
from wireproof_kit.clients.part import Until
from wireproof_kit.clients.pieces import Pieces
from wireproof_kit.clients.story import Story
from wireproof_kit.iggy.clients.client import Client
from wireproof_kit.iggy.clients.driver_requests import POLL, ask_poll
from wireproof_kit.iggy.clients.log import LOG
from wireproof_kit.iggy.clients.resources import NAME
from wireproof_kit.iggy.clients.script import STREAM, TOPIC, Reply, Script, Transport
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_spec.driver.lines import Fields, Result, in_base64
from wireproof_spec.iggy.bodies.consumer_offsets import StoreConsumerOffset
from wireproof_spec.iggy.bodies.identifier import Identifier
from wireproof_spec.iggy.bodies.poll_messages import PollMessages
from wireproof_spec.iggy.bodies.send_messages import SendMessages
from wireproof_spec.iggy.header_kinds import HEADER_KINDS
from wireproof_spec.iggy.message import Message
from wireproof_spec.iggy.states import state_name

T = TypeVar("T")
InTopic: TypeAlias = PollMessages | SendMessages | StoreConsumerOffset
_STREAM, _TOPIC = (str(STREAM), NAME), (str(TOPIC), NAME)
"""What a client may call them: a server tells the name of a stream or topic with its number."""
Told: TypeAlias = Sequence[Fields] | None
"""The messages that the user is given; None instead of an error, or of no answer at all."""
MEMBERS: Mapping[str, Callable[[Message], object]] = {
    "offset": lambda message: str(message.offset),
    "state": lambda message: state_name(message.state or 0),
    "timestamp": lambda message: str(message.timestamp),
    "id": lambda message: str(message.id),
    "checksum": lambda message: message.checksum,
    "headers": lambda message: {
        header.key: {"kind": HEADER_KINDS[header.kind], "value": in_base64(header.value)}
        for header in message.headers
    },
    "payload": lambda message: in_base64(message.payload),
}
"""The members that a driver may tell of a message, and what they are."""
LATER = 10
"""Where a later poll begins, whose answer is as usual."""


def answered(count: int, op: str = POLL) -> Until:
    """Return the condition that the client's driver has answered an operation `count` times."""
    return lambda story: len(answers(story, op)) >= count


def play_poll(
    client: Client, transport: Transport, *replies: Reply, pieces: Pieces | None = None
) -> Story:
    """Let a client poll once, answer with `replies`, and return what the client did."""
    asks = (ask_poll(count=30),)
    script = Script("consumer", transport, polls=replies, asks=asks, pieces=pieces)
    return client.play(script, answered(1))


def told(story: Story, number: int = 0) -> Told:
    """Return the messages in the driver's answer to poll `number`, counted from 0."""
    for event in answers(story, POLL)[number : number + 1]:
        if isinstance(event.answer, Result):
            return cast(Sequence[Fields], event.answer.fields.get("messages", []))
    return None


def is_given_later(story: Story, number: int = 1) -> bool:
    """Return True if poll `number` of the driver, of ordinary messages, returned these."""
    messages = told(story, number)
    usual = [in_base64(each.payload) for each in LOG[LATER:][:3]]
    return messages is not None and [each.get("payload") for each in messages] == usual


def observe_given(
    story: Story, sent: Sequence[Message], members: Sequence[str] = tuple(MEMBERS)
) -> Observation:
    """Compare the messages that a client gave its user with those sent; return the observation.

    Messages are compared member by member; a member that the driver tells of no message is not
    compared.
    """
    return observe_members(story, sent, MEMBERS, members)


def observe_members(
    story: Story,
    sent: Sequence[T],
    read: Mapping[str, Callable[[T], object]],
    members: Sequence[str],
) -> Observation:
    """Compare some members of the messages that a user was given with those of ``sent``.

    ``read`` are the functions that return them, as a driver tells them.
    """
    messages = told(story)
    if messages is None:
        return refused(story)
    if len(messages) != len(sent):
        more = len(messages) > len(sent)
        return unless(story, "messages:more" if more else "messages:fewer")
    for number, (message, fields) in enumerate(zip(sent, messages, strict=True)):
        for member in members:
            due, found = read[member](message), fields.get(member)
            if member == "headers" and not found:
                found = {}
            is_same = due in (found, str(found))  # a driver may tell a small number as one
            if not is_same and any(member in each for each in messages):
                difference = Difference(f"message {number} {member}", None, str(due), str(found))
                return observed("other", difference=difference)
    return unless(story, "as-sent")


def refused(story: Story) -> Observation:
    """Return the observation of a poll whose messages the client did not give to its user."""
    return shown(story, "refused", seen=answered(1)(story))


def is_told(story: Story, member: str) -> bool:
    """Return True if the driver told a member, such as a header, of any message."""
    return any(member in each for each in told(story) or ())


def not_told(member: str) -> Observation:
    """Return the observation of a driver that never tells its user a member of messages."""
    return observed("unsupported", note=f"the driver tells nothing of the {member}")


def observe_place(story: Story, requests: Sequence[InTopic]) -> Observation:
    """Return whether requests are about the stream and the topic that the client was given.

    A program without a driver may have names of its own, and ignore those that it is given.
    """
    found = [(_as_text(request.stream), _as_text(request.topic)) for request in requests]
    wrong = [place for place in found if place[0] not in _STREAM or place[1] not in _TOPIC]
    if wrong:
        note = f"stream {wrong[0][0]}, topic {wrong[0][1]}; given were {STREAM} and {TOPIC}"
        has_own = not story.of(Greeted) and len(wrong) == len(found)
        return unless(story, "unsupported" if has_own else "other", note=note)
    return shown(story, "as-given", seen=bool(found))


def _as_text(identifier: Identifier) -> str:
    return identifier.name or str(identifier.number)


def is_malformed(story: Story) -> bool:
    """Return True once the client has sent what the protocol does not allow."""
    return story.first(Malformed) is not None
