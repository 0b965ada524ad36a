"""What cases do over the HTTP API of generation apache: send, poll, store and read offsets."""

from collections.abc import Sequence

from wireproof_kit.iggy.apache.requests import POLLING, Polling, Topic
from wireproof_kit.iggy.apache.server import ApacheServer
from wireproof_kit.iggy.wire.http import JsonPolled, base64_text, is_success, json_polled
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import PUSH
from wireproof_kit.wire.http import TransferResult
from wireproof_kit.wire.waiting import until
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.apache.batch import MessageFrame
from wireproof_spec.iggy.apache.user_headers import USER_HEADERS, TypedBytes, UserHeader
from wireproof_spec.iggy.bodies.partitioning import Partitioning
from wireproof_spec.iggy.header_kinds import HEADER_KINDS
from wireproof_spec.iggy.kinds import PARTITIONING_NAMES, STRATEGIES
from wireproof_spec.strict_json import JsonValue

NAMED_IDS_FROM = 1 << 64
"""A number from here on is no JSON number that the server at commit cc269ef takes as an id."""


def send(
    apache: ApacheServer,
    topic: Topic,
    frames: Sequence[MessageFrame],
    how: Partitioning,
    *,
    by_name: bool = True,
) -> TransferResult:
    """Send messages over HTTP and return the response; an id of 0 is left out."""
    where = {"kind": PARTITIONING_NAMES[how.kind], "value": base64_text(how.value)}
    listed = [_message_object(frame) for frame in frames]
    body = {"partitioning": where, "messages": listed}
    return apache.http.post(f"{_path(topic, by_name)}/messages", body)


def _message_object(each: MessageFrame) -> dict[str, object]:
    found: dict[str, object] = {"payload": base64_text(each.payload)}
    if each.id:
        found["id"] = str(each.id) if each.id >= NAMED_IDS_FROM else each.id
    headers = decode(USER_HEADERS, each.user_headers)
    return {**found, "user_headers": [header_object(header) for header in headers]}


def header_object(header: UserHeader) -> dict[str, object]:
    """Return a user header as JSON."""
    return {"key": _typed_object(header.key), "value": _typed_object(header.value)}


def _typed_object(each: TypedBytes) -> dict[str, object]:
    return {"kind": HEADER_KINDS[each.kind], "value": base64_text(each.value)}


def poll(
    apache: ApacheServer, topic: Topic, polling: Polling = POLLING, *, by_name: bool = True
) -> JsonPolled:
    """Poll over HTTP once and return the decoded response."""
    partition = topic.partition if polling.partition is None else polling.partition
    query = {
        "consumer_id": polling.consumer,
        "partition_id": partition,
        "kind": STRATEGIES[polling.strategy],
        "value": polling.value,
        "count": polling.count,
        "auto_commit": "true" if polling.auto_commit else "false",
    }
    return json_polled(apache.http.get(f"{_path(topic, by_name)}/messages", query))


def poll_until(apache: ApacheServer, topic: Topic, due: int) -> JsonPolled:
    """Poll over HTTP until ``due`` messages come or patience has passed.

    A new topic may not be served at once, and a poll may return fewer messages than it asks for:
    then the answers are returned as one.
    """
    last: list[JsonPolled] = []

    def look() -> bool | None:
        last[:] = [_poll_all(apache, topic, due)]
        return len(last[0].objects) >= due or None

    until(look, seconds=apache.patience.seconds(PUSH), every=0.05)
    return last[0]


def _poll_all(apache: ApacheServer, topic: Topic, due: int) -> JsonPolled:
    whole = poll(apache, topic)
    while whole.objects and len(whole.objects) < due:
        polled = poll(apache, topic, Polling(value=(offset_of(whole.objects[-1]) or 0) + 1))
        if not polled.objects:
            break
        whole = JsonPolled(polled.answer, polled.shape, whole.objects + polled.objects)
    return whole


def observe_unread(found: JsonPolled) -> Observation:
    """Return the observation of a poll over HTTP in which messages are missing."""
    if is_success(found.answer):
        return observed("missing", overdue=True, note=f"{len(found.objects)} came").on(found)
    return observed(f"http:{found.answer.failure or found.answer.status}").on(found)


def header_of(each: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the header of a message in JSON; an empty one if there is none."""
    header = each.get("header")
    return header if isinstance(header, dict) else {}


def offset_of(each: dict[str, JsonValue]) -> int | None:
    """Return the offset of a message in JSON, if it has one."""
    offset = header_of(each).get("offset")
    return offset if isinstance(offset, int) else None


def store_offset(
    apache: ApacheServer,
    topic: Topic,
    offset: int,
    consumer: int | str,
    partition: int,
    *,
    by_name: bool = True,
) -> TransferResult:
    """Store a consumer's offset over HTTP and return the response."""
    body = {"consumer_id": consumer, "partition_id": partition, "offset": offset}
    return apache.http.put(f"{_path(topic, by_name)}/consumer-offsets", body)


def stored_offset(
    apache: ApacheServer,
    topic: Topic,
    consumer: int | str,
    partition: int,
    *,
    by_name: bool = True,
) -> int | None:
    """Return a consumer's offset as it is read over HTTP; None without one."""
    query = {"consumer_id": consumer, "partition_id": partition}
    answer = apache.http.get(f"{_path(topic, by_name)}/consumer-offsets", query)
    value = answer.json.value if answer.json is not None and is_success(answer) else None
    stored = value.get("stored_offset") if isinstance(value, dict) else None
    return stored if isinstance(stored, int) else None


def _path(topic: Topic, by_name: bool) -> str:
    stream, name = (topic.stream_name, topic.name) if by_name else (topic.stream_id, topic.id)
    return f"/streams/{stream}/topics/{name}"
