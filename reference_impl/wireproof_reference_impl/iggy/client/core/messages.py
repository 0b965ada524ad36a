"""Reads polled messages, from the binary layout and from JSON."""

from wireproof_reference_impl.iggy.client.core.apache import messages as apache
from wireproof_reference_impl.iggy.client.core.calls import Unreadable
from wireproof_reference_impl.iggy.client.core.json_values import data, integer, member, text
from wireproof_spec import strict_json
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.bodies.poll_messages import polled_messages_schema
from wireproof_spec.iggy.generation import ServedGeneration, framed
from wireproof_spec.iggy.header_kinds import kind_code
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.message import Message
from wireproof_spec.iggy.states import STATES, state_code
from wireproof_spec.strict_json import is_array, is_object
from wireproof_spec.wire_error import WireError

_BITS = {"offset": 64, "timestamp": 64, "id": 128, "checksum": 32}
"""The integers of a message in JSON."""


def read_body(body: bytes, generation: ServedGeneration) -> tuple[Message, ...]:
    """Return the messages in the body of a poll response over TCP.

    Raises:
        Unreadable: the body is not of the generation's shape, or has a state without a name.
    """
    try:
        messages = decode(polled_messages_schema(framed(generation)), body).messages
    except WireError as error:
        raise Unreadable(str(error)) from None
    return tuple(map(check_state, messages))


def check_state(message: Message) -> Message:
    """Return a message unchanged if its state is a known one.

    Raises:
        Unreadable: no state has this code.
    """
    if message.state not in STATES:
        raise Unreadable(f"message {message.offset} has the unknown state {message.state}")
    return message


def read_json(body: bytes, generation: ServedGeneration) -> tuple[Message, ...]:
    """Return the messages in the body of a poll response over HTTP.

    Raises:
        Unreadable: the body is no JSON of the generation's shape.
    """
    try:
        value: object = strict_json.read(body).value
    except WireError as error:
        raise Unreadable(str(error)) from None
    if generation != "published":
        value = member(value, "messages")
    if not is_array(value):
        raise Unreadable(f"expected a list of messages, found {type(value).__name__}")
    read = apache.read_object if generation == "apache" else read_object
    return tuple(map(read, value))


def read_object(value: object) -> Message:
    """Return the message in a JSON object of a poll response.

    Raises:
        Unreadable: a member is missing, or not of its type.
    """
    numbers = {name: integer(value, name, bits) for name, bits in _BITS.items()}
    return Message(
        offset=numbers["offset"],
        state=read_state(text(value, "state")),
        timestamp=numbers["timestamp"],
        id=numbers["id"],
        checksum=numbers["checksum"],
        headers=read_headers(member(value, "headers")),
        payload=data(value, "payload"),
    )


def read_headers(value: object) -> tuple[Header, ...]:
    """Return the message headers in a JSON value; null and an empty object mean none.

    Raises:
        Unreadable: it is neither null nor an object of headers.
    """
    if value is None:
        return ()
    if not is_object(value):
        raise Unreadable(f"headers: expected an object or null, found {type(value).__name__}")
    return tuple(_header(key, header) for key, header in value.items())


def _header(key: str, value: object) -> Header:
    kind = kind_code(text(value, "kind"))
    if kind is None:
        raise Unreadable(f"header {key!r} has an unknown kind")
    return Header(key, kind, data(value, "value"))


def read_state(name: str) -> int:
    """Return the code of the state with this name in JSON.

    Raises:
        Unreadable: no state has this name.
    """
    code = state_code(name)
    if code is None:
        raise Unreadable(f"state: {name[:40]!r} is no state")
    return code
