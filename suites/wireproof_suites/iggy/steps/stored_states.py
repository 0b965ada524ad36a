"""Changes of the state of stored messages through the control API."""

from collections.abc import Sequence

from wireproof_kit.iggy.observe.polled import Polled
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.http import JsonPolled, is_success
from wireproof_spec.iggy.states import AVAILABLE, STATES

NOT_SET = "not-set"
NOT_CHANGED = "not-changed"
WITHHELD = "withheld"
EVERY_STATE = {name: code for code, name in STATES.items()}
UNKNOWN_STATES = {"0": 0, "2": 2, "11": 11, "255": 255}


def set_states(
    server: Server, topic: Topic, states: dict[int, int], offsets: Sequence[int] = ()
) -> bool:
    """Set the states of stored messages, by position in the partition; return True if all are set.

    Unless their ``offsets`` are given, they are polled: no text says where offsets begin.
    """
    control, most = server.control, max(states)
    offsets = offsets or list_offsets(server, topic, 1 + most)
    return len(offsets) > most and all(
        control.is_set(topic, offsets[place], state) for place, state in states.items()
    )


def flip_payload(
    server: Server, topic: Topic, place: int, bit: int, offsets: Sequence[int] = ()
) -> bool:
    """Flip a bit of a stored payload, by the message's position; return True if it was done."""
    offsets = offsets or list_offsets(server, topic, 1 + place)
    return len(offsets) > place and is_success(server.control.flip(topic, offsets[place], bit))


def list_offsets(server: Server, topic: Topic, count: int) -> list[int]:
    """Return the offsets of the first messages of a topic, as many as can be polled."""
    return [message.offset for message in server.poll_until(topic, count).messages]


def is_withheld(state: int, polled: Polled | JsonPolled, due: int) -> bool:
    """Return True if a poll lacks messages, and a message in this state may be the reason.

    A server may withhold messages that are not available.
    """
    count = len(polled.seen) if isinstance(polled, Polled) else len(polled.objects)
    return state != AVAILABLE and polled.is_readable and count < due
