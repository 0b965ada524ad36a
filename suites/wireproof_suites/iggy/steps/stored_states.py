"""Changes of the state of stored messages through the control API."""

from wireproof_kit.iggy.observe.polled import Polled
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.http import JsonPolled, is_success
from wireproof_kit.wire.http import TransferResult
from wireproof_spec.iggy.states import AVAILABLE, STATES

NOT_SET = "not-set"
NOT_CHANGED = "not-changed"
WITHHELD = "withheld"
EVERY_STATE = {name: code for code, name in STATES.items()}
UNKNOWN_STATES = {"0": 0, "2": 2, "11": 11, "255": 255}


def is_done(answer: TransferResult) -> bool:
    """Return whether the control API answered with success."""
    return is_success(answer)


def set_states(server: Server, topic: Topic, states: dict[int, int]) -> bool:
    """Set the states of messages by their offsets; tell whether all were set."""
    control = server.control
    return all(control.is_set(topic, offset, state) for offset, state in states.items())


def is_withheld(state: int, polled: Polled | JsonPolled, due: int) -> bool:
    """Return whether a server withholds messages because one of them has this state.

    A server may withhold messages that are not available.
    """
    count = len(polled.seen) if isinstance(polled, Polled) else len(polled.objects)
    return state != AVAILABLE and polled.is_readable and count < due
