"""Whether a trace response is true of the message it speaks of."""

from collections.abc import Iterable

from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.delivery import Delivery
from wireproof_kit.nsq.observe.observations import observe, observe_delivery
from wireproof_kit.nsq.observe.trace_layout import observe_trace
from wireproof_kit.nsq.wire.answers import Answer, Response
from wireproof_kit.observation import Difference, Observation, Recorded, observed
from wireproof_spec.decoding import decode
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE, TraceResponse

MESSAGE_ID_AT = 10
TRACE_ID_AT = 18


def observe_ids(answer: Answer, consumer: Consumer, body: bytes) -> Observation:
    """Compare the ids of a trace answer with the ids of the delivered message.

    The observation is ``true``, ``internal-id-differs``, ``trace-id-differs``, or what came
    instead of the answer or the message.
    """
    response = read_trace(answer)
    if response is None:
        return observe(answer)
    answered = (response.internal_id, response.trace_id)
    delivery = consumer.next(body)
    return observe_id_halves(delivery, answered=answered, body=body, answer=answer)


def observe_id_halves(
    delivery: Delivery | None,
    *,
    answered: tuple[int, int],
    body: bytes,
    answer: Recorded | None = None,
) -> Observation:
    """Compare the two halves of a delivered message's id with the ids of an ``answer``."""
    if delivery is None or delivery.message is None:
        return observe_delivery(delivery, body=body)
    message = delivery.message
    delivered = (message.internal_id, message.trace_id)
    return compare_ids(answered=answered, delivered=delivered).on(answer, delivery)


def compare_ids(*, answered: tuple[int, int], delivered: tuple[int, int]) -> Observation:
    """Compare internal id and trace id of an answer with those of a delivered message."""
    fields = (("internal-id", MESSAGE_ID_AT), ("trace-id", TRACE_ID_AT))
    for (name, at), due, found in zip(fields, answered, delivered, strict=True):
        if due != found:
            difference = Difference(name, at, str(due), str(found))
            return observed(f"{name}-differs", difference=difference)
    return observed("true")


def observe_next_record(first: Answer, second: Answer) -> Observation:
    """Compare two trace answers: ``follows`` if the second record starts where the first ends.

    ``not-greater``: the offset of the second record is not greater.
    """
    one, two = read_trace(first), read_trace(second)
    if one is None or two is None:
        return observe(first if one is None else second)
    return _compare_records(one, two).on(second, first)


def _compare_records(one: TraceResponse, two: TraceResponse) -> Observation:
    if two.disk_queue_offset <= one.disk_queue_offset:
        found = f"{two.disk_queue_offset} after {one.disk_queue_offset}"
        difference = Difference("disk_queue_offset", 18, "a greater offset", found)
        return observed("not-greater", difference=difference)
    end = one.disk_queue_offset + one.disk_queue_data_size
    return compare_offsets(end, two.disk_queue_offset)


def compare_offsets(end: int, offset: int) -> Observation:
    """Compare the end of a record with the offset of the next one."""
    if end == offset:
        return observed("follows")
    difference = Difference("disk_queue_offset", None, str(end), str(offset))
    return observed("overlaps" if offset < end else "leaves-a-gap", difference=difference)


def read_trace(answer: Answer) -> TraceResponse | None:
    """Return a trace response in the published layout, or None.

    Numbers of another layout say nothing of what the case asks for; `observe` names the layout.
    """
    if not isinstance(answer, Response) or observe_trace(answer.data, None).value != "trace":
        return None
    return decode(TRACE_RESPONSE, answer.data)


def unread(answers: Iterable[Answer], otherwise: Observation) -> Observation:
    """Return the layout of the first answer without the published one, or else `otherwise`."""
    seen = (observe(answer) for answer in answers if isinstance(answer, Response))
    return next((each for each in seen if each.value.startswith("trace:")), otherwise)
