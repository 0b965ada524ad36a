"""Publishing with a header over HTTP, and observing the delivery."""

from collections.abc import Mapping

from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.delivery import Delivery
from wireproof_kit.nsq.observe.observations import (
    observe_delivery,
    observe_http,
    schema_difference,
)
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import Header, header_bytes
from wireproof_kit.nsq.wire.http import Headers, HttpAnswer
from wireproof_kit.observation import Difference, Observation, observed, with_evidence
from wireproof_spec.json_schema import check
from wireproof_spec.strict_json import JsonValue, read, same_json
from wireproof_spec.wire_error import WireError
from wireproof_suites.nsq.steps.trace_responses import compare_offsets, observe_id_halves

PATH = "/pub_ext"


def post(
    broker: Broker,
    topic: Topic,
    body: bytes,
    *,
    ext: Header | None,
    headers: Headers = (),
    v1: bool = True,
) -> HttpAnswer:
    """Publish with POST /pub_ext, the header in ``ext``; None leaves the parameter out.

    ``v1`` requests answers in the newer style, without an envelope.
    """
    query: dict[str, str | bytes | int] = {"topic": topic.name, "partition": topic.partition}
    if ext is not None:
        query["ext"] = header_bytes(ext)
    client = broker.http.at(topic.http_address)
    return client.request("POST", PATH, query=query, headers=headers, body=body, v1=v1)


def post_and_receive(
    broker: Broker,
    topic: Topic,
    *,
    ext: Header | None,
    headers: Headers = (),
    stored: Header | None = None,
    content: bytes = b"",
) -> Observation:
    """Publish over HTTP; return the refusal, or how the message was delivered.

    ``content`` is part of the body.
    """
    body = broker.unique_body(content)
    due = ext if stored is None else stored
    with broker.subscribe(topic) as consumer:
        answer = post(broker, topic, body, ext=ext, headers=headers)
        if not was_taken(answer):
            return observe_http(answer)
        return observe_delivery(consumer.next(), body=body, header=due)


def post_and_read(
    broker: Broker, topic: Topic, *, ext: Header, due: Mapping[str, str] | bytes, headers: Headers
) -> Observation:
    """Publish over HTTP; return the refusal, or the delivered header compared with ``due``."""
    with broker.subscribe(topic) as consumer:
        answer = post(broker, topic, broker.unique_body(), ext=ext, headers=headers)
        if not was_taken(answer):
            return observe_http(answer)
        return observe_value(consumer.next(), due=header_bytes(due))


def was_taken(answer: HttpAnswer) -> bool:
    """Return True if an HTTP answer is a success, whatever its body."""
    return 200 <= answer.status < 300


@with_evidence
def observe_value(delivery: Delivery | None, *, due: bytes) -> Observation:
    """Compare a value in the delivered header with the value due."""
    if delivery is None:
        return observed("missing", overdue=True)
    found, wanted = _names(delivery.header or b""), _names(due)
    for name, value in wanted.items():
        if name not in found:
            return observed("left-out" if found else "no-object")
        if not same_json(found[name], value):
            difference = Difference(name, None, str(value), str(found[name]))
            return observed("changed", difference=difference)
    return observed("exact")


@with_evidence
def observe_http_trace(answer: HttpAnswer, trace_id: int) -> Observation:
    """Return a traced answer's form: ``http:200,trace-bare``, ``-wrapped`` or ``trace:WRONG``."""
    if answer.word not in ("trace", "json"):
        return observe_http(answer)
    assert answer.json is not None, "both words are those of a JSON body"
    form = "wrapped" if answer.is_wrapped else "bare"
    schema = "nsq/pub-ext-answer" + ("-wrapped" if answer.is_wrapped else "")
    for fault in check(schema, answer.json.value):
        difference = schema_difference(fault, "answer")
        return observed(f"http:200,trace:{_field(fault.pointer)}", difference=difference)
    found = _fields(answer)["trace_id"]
    if int(str(found)) != trace_id:
        difference = Difference("trace_id", None, str(trace_id), str(found))
        return observed("http:200,trace:id-differs", difference=difference)
    return observed(f"http:200,trace-{form}")


def observe_http_ids(
    answer: HttpAnswer, consumer: Consumer, *, body: bytes, trace_id: int
) -> Observation:
    """Compare id and trace_id of an answer with the ids of the message a consumer gets."""
    seen = observe_http_trace(answer, trace_id)
    if not seen.value.startswith("http:200,trace-"):
        return seen
    answered = (_number(answer, "id"), _number(answer, "trace_id"))
    return observe_id_halves(consumer.next(), answered=answered, body=body, answer=answer)


def observe_http_next_record(first: HttpAnswer, second: HttpAnswer) -> Observation:
    """Compare the second traced answer's offset with the first's end: ``follows`` if equal."""
    for trace_id, answer in enumerate((first, second), start=1):
        seen = observe_http_trace(answer, trace_id)
        if not seen.value.startswith("http:200,trace-"):
            return seen
    before, after = _number(first, "queue_offset"), _number(second, "queue_offset")
    if after <= before:
        difference = Difference("queue_offset", None, f"more than {before}", str(after))
        return observed("not-greater", difference=difference).on(second, first)
    return compare_offsets(before + _number(first, "rawsize"), after).on(second, first)


def observe_http_position(answer: HttpAnswer, delivery: Delivery | None) -> Observation:
    """Compare queue_offset and rawsize of an answer with those of the ordered delivery."""
    if delivery is None or delivery.message is None:
        return observed("missing", overdue=True)
    message = delivery.message
    for field, due in (
        ("queue_offset", message.disk_queue_offset),
        ("rawsize", message.disk_queue_data_size),
    ):
        found = _number(answer, field)
        if found != due:
            difference = Difference(field, None, str(due), str(found))
            value = f"{field.replace('_', '-')}-differs"
            return observed(value, difference=difference).on(answer, delivery)
    return observed("true")


def _field(pointer: str) -> str:
    last = pointer.rpartition("/")[2]
    return f"{last.replace('_', '-')}-wrong" if last else "field-missing"


def _fields(answer: HttpAnswer) -> dict[str, JsonValue]:
    return answer.data if isinstance(answer.data, dict) else {}


def _number(answer: HttpAnswer, field: str) -> int:
    return int(str(_fields(answer).get(field, -1)))


def _names(header: bytes) -> dict[str, JsonValue]:
    try:
        value = read(header).value
    except WireError:
        return {}
    return value if isinstance(value, dict) else {}
