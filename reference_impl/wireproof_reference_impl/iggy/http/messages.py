"""Messages and consumer offsets over HTTP."""

from wireproof_reference_impl.iggy.core.messages import poll, send, store_offset, stored_offset
from wireproof_reference_impl.iggy.http.reading import (
    Fields,
    Query,
    bad_shape,
    json_object,
    whole_number,
)
from wireproof_reference_impl.iggy.http.streams import CREATED, DONE, Asked, answer_json, place_of
from wireproof_reference_impl.iggy.wire.exchange import Answer
from wireproof_reference_impl.iggy.wire.header import Headers, HeaderValue
from wireproof_reference_impl.iggy.wire.message import Sent
from wireproof_reference_impl.iggy.wire.polled import StoredOffset
from wireproof_reference_impl.iggy.wire.requests import (
    PARTITIONINGS,
    STRATEGY_NAMES,
    Consumer,
    Partitioning,
    PollMessages,
    SendMessages,
)
from wireproof_spec.iggy.header_kinds import HEADER_KINDS
from wireproof_spec.iggy.kinds import CONSUMER_KIND

_KINDS = {name: code for code, name in HEADER_KINDS.items()}


def send_messages(exchange: Asked) -> Answer:
    """Handle an HTTP request that sends messages: store all of them or none."""
    fields = json_object(exchange)
    partitioning = fields.inner("partitioning")
    rules = exchange.site.behaviour.http
    request = SendMessages(
        place=place_of(exchange),
        partitioning=Partitioning(
            partitioning.one_of("kind", PARTITIONINGS), partitioning.base64("value")
        ),
        messages=[_read_sent(each) for each in fields.array("messages")],
    )
    for message in request.messages:
        rules.sent(message)
    send(exchange.site, request, exchange.now_us)
    return CREATED


def poll_messages(exchange: Asked) -> Answer:
    """Handle an HTTP poll; every parameter has a default."""
    query = Query(exchange)
    request = PollMessages(
        consumer=Consumer(CONSUMER_KIND, query.u32("id", 0)),
        place=place_of(exchange),
        partition=query.u32("partition_id", 1),
        strategy=query.one_of("kind", STRATEGY_NAMES, "offset"),
        value=query.u64("value", 0),
        count=query.u32("count", 10),
        auto_commit=query.flag("auto_commit"),
    )
    found = poll(exchange.site, request, None)
    json = exchange.site.behaviour.json
    return answer_json(
        exchange, json.polled(found, [json.message(message) for message in found.messages])
    )


def get_offset(exchange: Asked) -> Answer:
    """Handle an HTTP request for the stored offset of a consumer."""
    query = Query(exchange)
    number, partition = query.u32("id", 0), query.u32("partition_id", 1)
    consumer = Consumer(CONSUMER_KIND, number)
    found, stored = stored_offset(exchange.site, place_of(exchange), consumer, partition)
    make = exchange.site.behaviour.json.stored_offset
    told = StoredOffset(number, found.id, found.current_offset, stored)
    return answer_json(exchange, make(told))


def put_offset(exchange: Asked) -> Answer:
    """Handle an HTTP request that stores a consumer's offset; its id is a string in JSON."""
    fields = json_object(exchange)
    number = whole_number(fields.flat_text("id", "0"))
    if number is None:
        raise bad_shape("id: invalid digit found in string")
    partition, offset = fields.u32("partition_id"), fields.u64("offset")
    store_offset(
        exchange.site,
        place_of(exchange),
        Consumer(CONSUMER_KIND, number),
        partition=partition,
        offset=offset,
        client=None,
    )
    return DONE


def _read_sent(fields: Fields) -> Sent:
    payload = fields.base64("payload")
    return Sent(fields.u128("id", 0), _headers(fields.optional("headers")), payload)


def _headers(fields: Fields | None) -> Headers | None:
    if fields is None:
        return None
    found: dict[str, HeaderValue] = {}
    for key in fields.names():
        header = fields.inner(key, shown="?")
        found[key] = HeaderValue(header.one_of("kind", _KINDS), header.base64("value"))
    return found
