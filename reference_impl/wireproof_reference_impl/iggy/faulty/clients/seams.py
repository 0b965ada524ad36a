"""What faults of the example Iggy client change: seams of its core."""

from collections.abc import Callable

from wireproof_reference_impl.iggy.client import driver
from wireproof_reference_impl.iggy.client.core import messages
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.iggy.message import Message

Messages = tuple[Message, ...]


def on_read(change: Callable[[Messages], Messages]) -> tuple[Override, Override]:
    """Return overrides that change the messages a client reads, over TCP and over HTTP."""

    def call(original: Original, body: bytes, generation: object) -> object:
        return change(original(body, generation))

    return around(messages, "read_body", call), around(messages, "read_json", call)


def on_told(change: Callable[[dict[str, object]], object]) -> Override:
    """Return an override that changes what the client tells its user of a message, in place."""

    def call(original: Original, message: Message) -> object:
        told = dict(original(message))
        change(told)
        return told

    return around(driver, "tell", call)
