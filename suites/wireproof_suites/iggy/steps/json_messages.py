"""From messages polled over HTTP to the words of the catalogue, field by field."""

from collections.abc import Callable, Sequence

from wireproof_kit.iggy.observe.observations import MISSING, as_set, match_by, observe_http
from wireproof_kit.iggy.wire.http import JsonObject, JsonPolled, base64_text, headers_object
from wireproof_kit.observation import Difference, Observation, first_unlike, observed
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.message import Message
from wireproof_spec.iggy.names import MESSAGE_FIELDS
from wireproof_spec.iggy.states import state_name
from wireproof_spec.strict_json import JsonValue
from wireproof_spec.wording import show_value

Look = Callable[[SentMessage, JsonObject], Observation]
Wanted = Callable[[SentMessage], JsonValue]


def observe_unread_json(polled: JsonPolled) -> Observation | None:
    """Return why a poll over HTTP has no list of messages; None if it has one."""
    if polled.is_readable:
        return None
    if polled.answer.failure is None and 200 <= polled.answer.status < 300:
        return observed("delivered:undecodable", note=show_value(polled.answer.body)).on(polled)
    return observe_http(polled.answer)


def each_object(
    polled: JsonPolled, sent: Sequence[SentMessage], value: str, look: Look
) -> Observation:
    """Observe each sent message in an HTTP poll; return the first result that is not `value`."""
    unread = observe_unread_json(polled)
    if unread is not None:
        return unread
    found = match_by(sent, polled.objects, _has_payload)
    pairs = zip(sent, found, strict=False)
    worst = first_unlike((look(due, found).on(polled) for due, found in pairs), value)
    if worst.value == value and len(polled.objects) < len(sent):
        return observed(MISSING, overdue=True, note=f"{len(polled.objects)} of {len(sent)} came")
    return worst


def _has_payload(due: SentMessage, found: JsonObject) -> bool:
    return found.get("payload") == base64_text(due.payload)


def each_field(
    polled: JsonPolled,
    sent: Sequence[SentMessage],
    field: str,
    wanted: Wanted,
    *,
    word: str = "as-sent",
) -> Observation:
    """Compare one field of each message in an HTTP poll with the wanted value.

    The observation is ``FIELD:WORD``, ``FIELD:absent`` or ``FIELD:other``. Types count: a number
    in a string is another value.
    """

    def look(due: SentMessage, found: JsonObject) -> Observation:
        value = wanted(due)
        if is_same(found.get(field), value):
            return observed(f"{field}:{word}")
        kind = "absent" if field not in found else "other"
        return observed(f"{field}:{kind}", difference=json_difference(field, value, found))

    return each_object(polled, sent, f"{field}:{word}", look)


def observe_json_messages(polled: JsonPolled, sent: Sequence[SentMessage]) -> Observation:
    """Compare the headers, payload and id (unless it is 0) of each message with what was sent."""

    def look(due: SentMessage, found: JsonObject) -> Observation:
        wanted: dict[str, JsonValue] = {"payload": base64_text(due.payload)}
        wanted["headers"] = headers_value(due.headers)
        if due.id:
            wanted["id"] = due.id
        for field in ("id", "headers", "payload"):
            if field in wanted and not is_same(found.get(field), wanted[field]):
                difference = json_difference(field, wanted[field], found)
                return observed(f"delivered:{field}", difference=difference)
        return observed("delivered:as-sent")

    seen = each_object(polled, sent, "delivered:as-sent", look)
    if seen.value == "delivered:as-sent" and len(polled.objects) > len(sent):
        return observed("delivered:more").on(polled)
    return seen


def compare_transports(messages: Sequence[Message], objects: Sequence[JsonObject]) -> Observation:
    """Compare polled messages over TCP and HTTP: ``same``, or ``different:FIELD``."""
    if len(messages) != len(objects):
        return observed("different:count", note=f"{len(messages)} and {len(objects)}")
    for message, found in zip(messages, objects, strict=True):
        wanted = as_object(message)
        for field in MESSAGE_FIELDS:
            if not is_same(found.get(field), wanted[field]):
                difference = json_difference(field, wanted[field], found)
                return observed(f"different:{field}", difference=difference)
    return observed("same")


def as_object(message: Message) -> JsonObject:
    """Return a message polled over TCP as the JSON object of an HTTP poll."""
    state = message.state
    return {
        "offset": message.offset,
        "state": None if state is None else state_name(state) or str(state),
        "timestamp": message.timestamp,
        "id": message.id,
        "checksum": message.checksum,
        "headers": headers_value(message.headers),
        "payload": base64_text(message.payload),
    }


def headers_value(headers: Sequence[Header]) -> JsonValue:
    """Return the headers of a message as a JSON value; null for no headers."""
    if not as_set(headers):
        return None
    objects = headers_object(headers)
    return {key: dict(value.items()) for key, value in objects.items()}


def is_same(found: JsonValue, wanted: JsonValue) -> bool:
    """Return whether two JSON values are equal and of the same type."""
    return type(found) is type(wanted) and found == wanted


def json_difference(field: str, wanted: JsonValue, found: JsonObject) -> Difference:
    """Return the difference of a field of a JSON message from the wanted value."""
    there = show_value(found[field]) if field in found else "no such field"
    return Difference(field, None, show_value(wanted), there)
