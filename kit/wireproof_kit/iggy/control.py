"""The control API of a target: states set and payloads damaged from outside."""

from wireproof_kit.iggy.topics import FIRST_PARTITION, Topic
from wireproof_kit.iggy.wire.http import HttpClient, is_success
from wireproof_kit.wire.http import Transferred

PATH = "/control/message"


class ControlClient:
    """Changes messages where they are stored, as no command of the protocol can."""

    def __init__(self, http: HttpClient) -> None:
        self._http = http

    def set_state(self, topic: Topic, offset: int, state: int) -> Transferred:
        """Set a message's state to any code of 0 to 255."""
        return self._change(topic, offset, "state", state)

    def flip(self, topic: Topic, offset: int, bit: int) -> Transferred:
        """Turn one bit of a message's payload over; bit 0 is the lowest of the first byte."""
        return self._change(topic, offset, "flip", bit)

    def is_set(self, topic: Topic, offset: int, state: int) -> bool:
        """Set a state; tell whether that was done."""
        return is_success(self.set_state(topic, offset, state))

    def _change(self, topic: Topic, offset: int, what: str, value: int) -> Transferred:
        query = {
            "stream": topic.stream.number,
            "topic": topic.number,
            "partition": FIRST_PARTITION,
            "offset": offset,
            what: value,
        }
        return self._http.post(PATH, query=query)
