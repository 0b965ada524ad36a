"""What a connection to a node has come to, as both sides' bytes show it; of a fixed size."""

import json
from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from wireproof_kit.clients.events import Event
from wireproof_kit.nsq.clients.events import ORDERED, PUBLISHES, SUBSCRIPTIONS, Commanded, Sent
from wireproof_spec.nsq import limits, names
from wireproof_spec.nsq.error_codes import E_SUB_ORDER_IS_MUST, OUT_OF_TURN
from wireproof_spec.nsq.frame import (
    FRAME_TYPE_ERROR,
    FRAME_TYPE_MESSAGE,
    FRAME_TYPE_RESPONSE,
    error_code,
)
from wireproof_spec.nsq.trace_response import TraceResponse
from wireproof_spec.strict_json import JsonValue

K = TypeVar("K")
V = TypeVar("V")

ANSWERED = frozenset({"IDENTIFY", "AUTH", "CLS", "DPUB"}) | SUBSCRIPTIONS | PUBLISHES
"""The commands that a node answers; to other commands it sends nothing, or an error."""
MOST_POSITIONS = 10_000
MOST_DELIVERED = 100_000
MOST_TOPICS = 10_000
MOST_ASKED = 10_000
MOST_ASKED_BYTES = 1 << 20
"""Of all commands that wait for their answers: publishes may follow each other without waiting."""
_LENGTH_SIZE, _TRACE_ID_SIZE = 2, 8
ID = slice(10, 26)
"""The bytes of a message frame's data that are the message id."""


class Recent(OrderedDict[K, V], Generic[K, V]):
    """A dictionary that drops its oldest entries; ``has_dropped`` says whether it did."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.has_dropped = False

    def keep(self, key: K, value: V) -> None:
        """Set an entry and make it the latest one."""
        self[key] = value
        self.move_to_end(key)
        if len(self) > self.most:
            self.popitem(last=False)
            self.has_dropped = True


Place = tuple[str, int | None, int]
"""Topic, partition and internal id of a message."""


class Known:
    """What all connections of one proxy have shown, and what its user says; of a bounded size."""

    def __init__(self, ordered: Iterable[str] = ()) -> None:
        self.positions: Recent[Place, TraceResponse] = Recent(MOST_POSITIONS)
        """The latest responses to traced publishes."""
        self.delivered: Recent[bytes, None] = Recent(MOST_DELIVERED)
        """The ids of the latest messages, whichever connection they came on."""
        self.ordered = set(ordered)
        """Topics that are ordered: the user says so, or a node has refused SUB for that reason."""

    def note_refusal(self, command: Commanded, data: bytes) -> None:
        """Note what a node's refusal of a command shows of its topic."""
        is_ordered = command.name == names.SUB.decode() and error_code(data) == E_SUB_ORDER_IS_MUST
        if is_ordered and command.words and len(self.ordered) < MOST_TOPICS:
            self.ordered.add(command.words[0])


@dataclass(slots=True)
class NodeState:
    """The state of a connection to a node: identity, subscription, commands without an answer."""

    known: Known
    identity: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    granted: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    subscription: Commanded | None = None
    """The subscription that the node has accepted."""
    answered: Commanded | None = None
    """The command to which the latest event is the answer."""
    names_partition: bool = False
    """True once a publish or a subscription has named a partition."""
    can_match: bool = True
    """False once it is uncertain to which command an answer belongs."""
    _asked: deque[Commanded] = field(default_factory=deque[Commanded])
    _asked_bytes: int = 0
    _has_silent: bool = False
    """True if a command that gets no answer, or an error, came since none waited for its own."""

    def see(self, event: Event) -> None:
        """Update the state by an event; call this before checks use the state."""
        self.answered = None
        if isinstance(event, Commanded) and event.name in ANSWERED:
            self.names_partition = self.names_partition or event.partition is not None
            self._asked.append(_without_message(event))
            self._asked_bytes += len(self._asked[-1].body)
            is_little = len(self._asked) <= MOST_ASKED and self._asked_bytes <= MOST_ASKED_BYTES
            self.can_match = self.can_match and is_little
        elif isinstance(event, Commanded):
            self._has_silent = True
        elif isinstance(event, Sent) and event.frame_type != FRAME_TYPE_MESSAGE:
            self._match(event)
        if not self.can_match:
            self._asked.clear()

    def _match(self, event: Sent) -> None:
        """Find the command that a response or an error answers."""
        is_error = event.frame_type == FRAME_TYPE_ERROR
        if event.data == names.HEARTBEAT or (is_error and error_code(event.data) in OUT_OF_TURN):
            return
        if is_error and (len(self._asked) > 1 or (self._asked and self._has_silent)):
            # It may be an error of a command that is not answered otherwise, such as RDY.
            self.can_match = False
            return
        if self._asked and self.can_match:
            self.answered = self._asked.popleft()
            self._asked_bytes -= len(self.answered.body)
            self._has_silent = self._has_silent and bool(self._asked)
            if event.frame_type == FRAME_TYPE_RESPONSE:
                self._accept(self.answered, event.data)
            elif is_error:
                self.known.note_refusal(self.answered, event.data)

    def _accept(self, command: Commanded, data: bytes) -> None:
        if command.name == names.IDENTIFY.decode():
            self.identity, self.granted = json_members(command.body), json_members(data)
        elif command.name in SUBSCRIPTIONS and data == names.OK:
            self.subscription = command

    @property
    def is_ordered(self) -> bool:
        """True if the client has subscribed in order."""
        return self.subscription is not None and self.subscription.name in ORDERED

    @property
    def is_bound(self) -> bool:
        """True if a text says in which form, and how many at once, messages are delivered.

        None says it of SUB_ORDER on a topic that was not made ordered, nor of SUB_ADVANCED.
        """
        subscribed = self.subscription
        if subscribed is None:
            return False
        return subscribed.name == names.SUB.decode() or self.is_ordered_topic(subscribed)

    def is_ordered_topic(self, command: Commanded) -> bool:
        """Return True if a command subscribes in order to a topic that is known as ordered."""
        topic = command.words[0] if command.words else ""
        return command.name in ORDERED and topic in self.known.ordered

    @property
    def is_extended(self) -> bool:
        """True if messages have an ext part."""
        return self.identity.get(names.EXTEND_SUPPORT) is True

    @property
    def heartbeat_s(self) -> float:
        """Seconds between the heartbeats that the client has asked for, or the usual ones."""
        asked = self.identity.get("heartbeat_interval")
        if isinstance(asked, int) and not isinstance(asked, bool) and asked > 0:
            return asked / 1000
        return limits.HEARTBEAT_INTERVAL_MS / 1000

    def find_number(self, name: str) -> int | None:
        """Return a number in the node's response to IDENTIFY, or None."""
        number = self.granted.get(name)
        return number if isinstance(number, int) and not isinstance(number, bool) else None


def _without_message(command: Commanded) -> Commanded:
    """Return a command with as much of its body as identifies the client or has the trace id."""
    if command.name == names.IDENTIFY.decode():
        return command
    kept = _TRACE_ID_SIZE
    if command.name == names.PUB_EXT.decode():
        kept = _LENGTH_SIZE + int.from_bytes(command.body[:_LENGTH_SIZE], "big")
    return replace(command, body=command.body[:kept])


def json_members(data: bytes) -> dict[str, JsonValue]:
    """Return the members of a JSON object; none of anything else."""
    return read_object(data) or {}


def read_object(data: bytes) -> dict[str, JsonValue] | None:
    """Return a JSON object; None if the data is anything else."""
    try:
        value: JsonValue = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
