"""The message in JSON: its fields, their types and order, and each of their values."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.observe.observations import MISSING, observe_http
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.http import JsonObject, JsonPolled, base64_text
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_spec import json_schema
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_spec.iggy.names import MESSAGE_FIELDS
from wireproof_spec.iggy.states import AVAILABLE, STATES
from wireproof_suites.iggy.steps.json_messages import (
    each_field,
    each_object,
    headers_value,
    json_difference,
    observe_unread_json,
)
from wireproof_suites.iggy.steps.message_contents import (
    EVERY_BYTE,
    HEADER_SETS,
    PUBLISHED_CHECKSUMS,
    PUBLISHED_HEADERS,
    PUBLISHED_IDS,
    PUBLISHED_PAYLOADS,
    make_numbered,
    make_payload,
    message,
)
from wireproof_suites.iggy.steps.stored_states import (
    EVERY_STATE,
    NOT_SET,
    UNKNOWN_STATES,
    WITHHELD,
    is_withheld,
    set_states,
)

IDS = {
    "1": 1,
    "2-to-the-53-and-one": (1 << 53) + 1,
    "2-to-the-63": 1 << 63,
    "2-to-the-64": 1 << 64,
    "published-example": PUBLISHED_IDS[0],
    "greatest": (1 << 128) - 1,
}
PAYLOADS = {
    **{f"{size}-bytes": make_payload(size) for size in range(1, 7)},
    "every-byte": EVERY_BYTE,
    "plus-and-slash": b"\xfb\xef\xbe\xff\xff\xff",
    "text": b"orders_data_2",
}
CHECKSUMS = {"below-2-to-the-31": PUBLISHED_PAYLOADS[0], "above-2-to-the-31": b"a"}
SENT = [message(b"payload", *headers, id=n) for n, headers in enumerate(HEADER_SETS.values(), 1)]


@case("iggy/json/checksum", clause="iggy.checksum.json")
@pytest.mark.parametrize("payload", CHECKSUMS.values(), ids=CHECKSUMS)
def test_checksum(server: Server, topic: Topic, payload: bytes) -> Observation:
    """A JSON message's checksum is the payload's CRC-32 as an unsigned number."""
    sent = [message(payload)]
    polled = _post(server, topic, *sent)

    return each_field(
        polled, sent, "checksum", lambda each: payload_checksum(each.payload), word="right"
    )


@case("iggy/json/state", clause="iggy.state.names")
def test_state(server: Server, topic: Topic) -> Observation:
    """A message polled over HTTP has the state "available" unless its state was changed."""
    polled = _post(server, topic, *SENT)

    return each_field(polled, SENT, "state", lambda _: STATES[AVAILABLE], word="available")


@case("iggy/json/state-set", clause="iggy.state.names", needs=("control",))
@pytest.mark.parametrize("state", EVERY_STATE.values(), ids=EVERY_STATE)
def test_state_set(server: Server, topic: Topic, state: int) -> Observation:
    """A message with a changed state is polled over HTTP with the new state's name, or omitted."""
    sent = make_numbered(1)
    before = _post(server, topic, *sent)
    if not before.objects:
        return each_field(before, sent, "state", lambda _: STATES[AVAILABLE])
    if not set_states(server, topic, {0: state}):
        return observed(NOT_SET)
    polled = server.get(topic)
    if is_withheld(state, polled, 1):
        return observed(WITHHELD)

    return each_field(polled, sent, "state", lambda _: STATES[state], word="as-set")


@case("iggy/json/state-unknown", clause="iggy.state.unknown", needs=("http",))
@pytest.mark.parametrize("state", UNKNOWN_STATES.values(), ids=UNKNOWN_STATES)
def test_state_unknown(server: Server, topic: Topic, state: int) -> Observation:
    """An HTTP poll of a message with an undefined state code returns an error or the message."""
    _post(server, topic, *make_numbered(1))
    if not set_states(server, topic, {0: state}):
        return observed(NOT_SET)
    polled = server.get(topic)
    unread = observe_unread_json(polled)
    if unread is not None:
        return unread
    if not polled.objects:
        return observed(MISSING, overdue=True)
    found = polled.objects[0].get("state")

    return observed("state:as-set" if str(found) == str(state) else "state:other")


@case("iggy/json/fields", clause="iggy.json.fields")
def test_fields(server: Server, topic: Topic) -> Observation:
    """A JSON message has the seven documented fields; extra fields are allowed."""
    polled = _post(server, topic, *SENT)

    def look(due: SentMessage, found: JsonObject) -> Observation:
        missing = [field for field in MESSAGE_FIELDS if field not in found]
        if not missing:
            return observed("fields:all")
        difference = Difference(missing[0], None, "the field", f"only {', '.join(found)}")
        return observed("fields:missing", difference=difference)

    seen = each_object(polled, SENT, "fields:all", look)
    if seen.value != "fields:all":
        return seen
    more = any(len(found) > len(MESSAGE_FIELDS) for found in polled.objects)

    return observed("fields:more" if more else "fields:published")


@case("iggy/json/types", clause="iggy.json.types")
@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_types(server: Server, topic: Topic, payload: bytes) -> Observation:
    """Every field of a JSON message has its documented type."""
    sent = [message(payload, *headers) for headers in HEADER_SETS.values()]
    polled = _post(server, topic, *sent)

    def look(due: SentMessage, found: JsonObject) -> Observation:
        faults = json_schema.check("iggy/message", found)
        if not faults:
            return observed("schema:holds")
        first = faults[0]
        field = first.pointer.strip("/").partition("/")[0] or "message"
        difference = Difference(field, None, first.expected, first.found)
        return observed(f"schema:{field}", difference=difference)

    return each_object(polled, sent, "schema:holds", look)


@case("iggy/json/id", clause="iggy.json.id")
@pytest.mark.parametrize("number", IDS.values(), ids=IDS)
def test_id(server: Server, topic: Topic, number: int) -> Observation:
    """A JSON message id is a number with all digits of the 128-bit id."""
    sent = [message(b"payload", id=number)]

    return each_field(_post(server, topic, *sent), sent, "id", lambda each: each.id)


@case("iggy/json/payload", clause="iggy.json.payload")
@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_payload(server: Server, topic: Topic, payload: bytes) -> Observation:
    """A JSON payload is base64 with padding."""
    sent = [message(payload)]
    polled = _post(server, topic, *sent)

    return each_field(polled, sent, "payload", lambda each: base64_text(each.payload))


@case("iggy/json/published-example", clause="iggy.json.payload")
def test_published_example(server: Server, topic: Topic) -> Observation:
    """The published JSON example is polled as published, except for offset and time."""
    pairs = zip(PUBLISHED_PAYLOADS, PUBLISHED_IDS, ((), PUBLISHED_HEADERS), strict=True)
    sent = [message(payload, *headers, id=number) for payload, number, headers in pairs]
    checksums = dict(zip(PUBLISHED_PAYLOADS, PUBLISHED_CHECKSUMS, strict=True))
    polled = _post(server, topic, *sent)

    def look(due: SentMessage, found: JsonObject) -> Observation:
        wanted: JsonObject = {
            "state": "available",
            "id": due.id,
            "checksum": checksums[due.payload],
            "headers": headers_value(due.headers),
            "payload": base64_text(due.payload),
        }
        for field, value in wanted.items():
            if found.get(field) != value:
                difference = json_difference(field, value, found)
                return observed(f"message:{field}", difference=difference)
        return observed("message:published")

    return each_object(polled, sent, "message:published", look)


@case("iggy/json/shape", clause="iggy.json.shape")
@pytest.mark.parametrize("count", [0, 1, 3])
def test_shape(server: Server, topic: Topic, count: int) -> Observation:
    """A JSON poll response is an array of messages, or an object that contains one."""
    polled = _post(server, topic, *make_numbered(count)) if count else server.get(topic)
    unread = observe_unread_json(polled)
    if unread is not None:
        return unread
    if len(polled.objects) < count:
        return observed(MISSING, overdue=True)

    return observed(polled.shape)


@case("iggy/json/none", clause="iggy.json.shape")
def test_none(server: Server, topic: Topic) -> Observation:
    """A JSON poll of an empty partition returns no messages, and returns one after a send."""
    polled = server.get(topic)
    if not polled.is_readable:
        return observe_http(polled.answer)
    if not _post(server, topic, *make_numbered(1)).objects:
        return observed(MISSING, overdue=True)

    return observed("delivered:some" if polled.objects else "delivered:none")


def _post(server: Server, topic: Topic, *sent: SentMessage) -> JsonPolled:
    """Send over TCP, where all values can be sent, and poll over HTTP."""
    server.send_accepted(topic, *sent)
    return server.get_until(topic, len(sent))
