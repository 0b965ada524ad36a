"""The requests to the driver of an Iggy client."""

from collections.abc import Mapping, Sequence

from wireproof_kit.iggy.clients.script import Operation
from wireproof_kit.iggy.wire.http import headers_object
from wireproof_spec.driver.lines import Fields, in_base64
from wireproof_spec.iggy.bodies.partitioning import Partitioning
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.kinds import PARTITIONING_NAMES
from wireproof_spec.strict_json import JsonValue

POLL, SEND, CREATE = "poll", "send", "create_stream"


def settings(values: Mapping[str, str]) -> Fields:
    """Return the fields of the request that opens a client's driver."""
    return {
        "tcp": values["tcp"],
        "http": values["http"],
        "transport": values["transport"],
        "stream": int(values["stream"]),
        "topic": int(values["topic"]),
        "partition": int(values["partition"]),
    }


def ask_poll(offset: int = 0, count: int = 10, *, strategy: str = "offset") -> Operation:
    """Return the driver request to poll ``count`` messages from an offset on.

    With another ``strategy``, the number is its value: a time in microseconds, or nothing.
    """
    return Operation(POLL, {"strategy": strategy, "value": str(offset), "count": count})


def ask_send(
    messages: Sequence[SentMessage], partitioning: Partitioning | None = None
) -> Operation:
    """Return the driver request to send messages, by default to the partition of the case."""
    fields: dict[str, JsonValue] = {"messages": [_message(message) for message in messages]}
    if partitioning is not None:
        fields["partitioning"] = {
            "kind": PARTITIONING_NAMES[partitioning.kind],
            "value": in_base64(partitioning.value),
        }
    return Operation(SEND, fields)


def ask_create(name: str) -> Operation:
    """Return the driver request to create a stream of this name."""
    return Operation(CREATE, {"name": name})


def _message(message: SentMessage) -> JsonValue:
    fields: dict[str, JsonValue] = {"payload": in_base64(message.payload)}
    if message.id:
        fields["id"] = str(message.id)
    if message.headers:
        headers = headers_object(message.headers)
        fields["headers"] = {key: dict[str, JsonValue](each) for key, each in headers.items()}
    return fields
