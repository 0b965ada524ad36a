"""The requests to a client's driver: open, then consume, or publish messages in turn."""

from collections.abc import Iterator, Mapping

from wireproof_kit.clients.effects import Ask, Effect
from wireproof_kit.clients.events import Answered, Greeted
from wireproof_kit.nsq.clients.script import Script
from wireproof_spec.driver.lines import OPEN, VERSION, Fields, in_base64
from wireproof_spec.strict_json import JsonValue

PRODUCE, CONSUME = "produce", "consume"


class Asking:
    """The requests to a client's driver in one case, in order."""

    def __init__(self, script: Script, *, topic: str, channel: str) -> None:
        self.settings: Fields = {}
        """Fields of the request that opens the driver, known once the servers listen."""
        self._script = script
        self._topic = topic
        self._channel = channel
        self._published = 0

    def next(self, event: Greeted | Answered) -> Iterator[Effect]:
        """Yield the next request, after the driver has greeted or answered."""
        if isinstance(event, Greeted):
            yield Ask(OPEN, {"version": VERSION, "settings": dict(self.settings)})
        elif event.op == OPEN and self._script.role == "consumer":
            yield Ask(CONSUME, self.request(CONSUME))
        elif event.op in (OPEN, PRODUCE):
            for _ in range(self._script.at_once if event.op == OPEN else 1):
                if self._published < self._script.publishes:
                    yield Ask(PRODUCE, self.request(PRODUCE))

    def request(self, op: str) -> Fields:
        """Return the fields of the next request for an operation."""
        return self._consume() if op == CONSUME else self._produce()

    def _consume(self) -> Fields:
        return {
            "topic": self._topic,
            "channel": self._channel,
            "handler": self._script.handler,
            **({"ordered": True} if self._script.ordered else {}),
            **self._script.consume,
        }

    def _produce(self) -> Fields:
        number, self._published = self._published, self._published + 1
        keys, messages = self._script.keys, self._script.messages
        return {
            "topic": self._topic,
            "body": in_base64(b"wireproof-%06d" % number),
            **({"key": keys[number % len(keys)]} if keys else {}),
            **self._script.message,
            **(messages[number % len(messages)] if messages else {}),
        }


def driver_settings(values: Mapping[str, str]) -> Fields:
    """Return the fields of the request that opens a client's driver."""
    return {
        "lookupd": list[JsonValue](values["lookupd"].split(",")),
        "nsqd": values["nsqd"],
        "lookup_interval_ms": int(values["lookup_interval_ms"]),
        "publish_timeout_ms": int(values["publish_timeout_ms"]),
        "msg_timeout_ms": int(values["msg_timeout_ms"]),
    }
