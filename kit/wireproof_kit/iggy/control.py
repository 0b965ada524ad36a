"""A client for the control API of a target, which changes stored messages."""

from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.http import HttpClient, is_success
from wireproof_kit.wire.http import TransferResult

PATH = "/control/message"


class ControlClient:
    """Changes stored messages over a control API, in ways that no command of Iggy offers."""

    def __init__(self, http: HttpClient) -> None:
        self._http = http

    def set_state(self, topic: Topic, offset: int, state: int) -> TransferResult:
        """Set the state of the message at an offset to any code from 0 to 255."""
        return self._change(topic, offset, "state", state)

    def flip(self, topic: Topic, offset: int, bit: int) -> TransferResult:
        """Invert one bit of a message's payload; bit 0 is the lowest one of the first byte."""
        return self._change(topic, offset, "flip", bit)

    def is_set(self, topic: Topic, offset: int, state: int) -> bool:
        """Set the state of the message at an offset; return True if the server did so."""
        return is_success(self.set_state(topic, offset, state))

    def _change(self, topic: Topic, offset: int, what: str, value: int) -> TransferResult:
        query = {
            "stream": topic.stream.number,
            "topic": topic.number,
            "partition": topic.partition,
            "offset": offset,
            what: value,
        }
        return self._http.post(PATH, query=query)
