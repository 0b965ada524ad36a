"""Comparison of lookup answers about a topic with what is known of that topic."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from wireproof_kit.errors import ArrangementFailed, TargetUnreachable
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.lookup.answer import Leader, read_topic
from wireproof_kit.nsq.lookup.errors import LookupRequest
from wireproof_kit.nsq.observe.observations import observe, observe_http, schema_difference
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.http import HttpAnswer
from wireproof_kit.observation import Difference, Observation, observed, uncompared, with_evidence
from wireproof_spec.json_schema import check
from wireproof_spec.nsq.names import NSQ_CONTENT_TYPE, V1_CONTENT_TYPE
from wireproof_spec.strict_json import JsonValue

ENVELOPE: Mapping[str, JsonValue] = {"status_code": 200, "status_txt": "OK"}
PARTS: Mapping[str, type] = {"channels": list, "partitions": dict, "producers": list}
ALL, NONE = "all", "none"

Record = dict[str, JsonValue]


@with_evidence
def observe_answer(answer: HttpAnswer) -> Observation:
    """Check that a lookup has channels, partitions and producers: ``lookup``, ``lookup:WHAT``."""
    data = _data(answer)
    if data is None:
        return observe_http(answer)
    for name, kind in PARTS.items():
        if not isinstance(data.get(name), kind):
            word = "wrong" if name in data else "missing"
            found = str(data.get(name))[:40] if name in data else "nothing"
            difference = Difference(name, None, f"a JSON {kind.__name__}", found)
            return observed(f"lookup:{name}-{word}", difference=difference)
    return observed("lookup")


@with_evidence
def observe_said(answer: HttpAnswer) -> Observation:
    """Return whether a refusal has a text: ``said``, ``no-text``, or ``granted`` for a success."""
    if answer.failure is not None:
        return observe_http(answer)
    if answer.status < 400:
        return observed("granted")
    value = answer.json.value if answer.json else answer.body.decode("utf-8", "replace")
    if isinstance(value, dict):
        value = value.get("message", value.get("status_txt"))
    return observed("said" if isinstance(value, str) and value.strip() else "no-text")


@with_evidence
def observe_form(answer: HttpAnswer) -> Observation:
    """Return the HTTP status of an error, and whether the error is wrapped in an envelope."""
    if answer.json is None or not answer.code:
        return observed("no-json" if answer.json is None else "no-text")
    return observed(f"{answer.status},{'wrapped' if answer.is_wrapped else 'bare'}")


@with_evidence
def observe_envelope(answer: HttpAnswer) -> Observation:
    """Return a lookup answer's form: ``wrapped``, ``wrapped:FIELD-wrong``, ``bare``, ``bare-v1``.

    ``bare-v1`` says in a header that it is so.
    """
    value = answer.json.value if answer.json else None
    if answer.status != 200 or not isinstance(value, dict):
        return observe_http(answer)
    if not value.keys() & {"status_code", "status_txt", "data"}:
        is_v1 = answer.header(NSQ_CONTENT_TYPE) == V1_CONTENT_TYPE
        return observed("bare-v1" if is_v1 else "bare")
    for name, due in ENVELOPE.items():
        if value.get(name) != due:
            difference = Difference(name, None, str(due), str(value.get(name))[:40])
            return observed(f"wrapped:{name.replace('_', '-')}-wrong", difference=difference)
    return observed("wrapped" if isinstance(value.get("data"), dict) else "wrapped:data-wrong")


@with_evidence
def observe_records(answer: HttpAnswer) -> Observation:
    """Check each node in a lookup by its schema: ``record``, ``record:FIELD-wrong``, ``none``."""
    data = _data(answer)
    if data is None:
        return observe_http(answer)
    records = [*_places(data).values(), *_producers(data)]
    for record in records:
        for fault in check("nsq/lookup-node", record):
            field = fault.pointer.strip("/").replace("_", "-")
            difference = schema_difference(fault, "record")
            return observed(f"record:{field or 'field'}-wrong", difference=difference)
    return observed("record" if records else NONE)


@with_evidence
def observe_places(answer: HttpAnswer, topic: Topic) -> Observation:
    """Observe a lookup's partitions: ``all``, ``some``, ``none``, ``others`` or ``no-number``."""
    data = _data(answer)
    if data is None:
        return observe_http(answer)
    listed, known = set(_places(data)), {str(place.partition) for place in topic.places}
    difference = Difference("partitions", None, _words(known), _words(listed))
    if not all(_is_number(name) for name in listed):
        return observed("no-number", difference=difference)
    if listed - known:
        return observed("others", difference=difference)
    if listed != known:
        return observed("some" if listed else NONE, difference=difference)
    return observed(ALL)


@with_evidence
def observe_producers(answer: HttpAnswer) -> Observation:
    """Compare a lookup's producers with its partitions' nodes: ``same``, ``missing`` or ``extra``.

    ``twice`` when a node is named more than once, ``none`` when there are neither.
    """
    data = _data(answer)
    if data is None:
        return observe_http(answer)
    holders = {_address(record) for record in _places(data).values()}
    named = [_address(record) for record in _producers(data)]
    difference = Difference("producers", None, _words(holders), _words(named))
    if not holders and not named:
        return observed(NONE)
    if len(set(named)) < len(named):
        return observed("twice", difference=difference)
    if holders - set(named):
        return observed("missing", difference=difference)
    return observed("same" if holders == set(named) else "extra", difference=difference)


@with_evidence
def observe_channel(answer: HttpAnswer, channel: str) -> Observation:
    """Return whether a lookup lists a channel: ``listed``, ``not-listed``."""
    data = _data(answer)
    if data is None:
        return observe_http(answer)
    listed = data.get("channels")
    return observed("listed" if isinstance(listed, list) and channel in listed else "not-listed")


@with_evidence
def observe_only_channel(answer: HttpAnswer, channel: str) -> Observation:
    """Return if a lookup lists one channel only: ``exactly``, ``others-too``, ``not-listed``."""
    seen = observe_channel(answer, channel)
    data = _data(answer)
    listed = data.get("channels") if data else None
    if seen.value != "listed" or not isinstance(listed, list):
        return seen
    others = [str(each) for each in listed if each != channel]
    if not others:
        return observed("exactly")
    difference = Difference("channels", None, channel, f"{', '.join(others)} too")
    return observed("others-too", difference=difference)


@with_evidence
def observe_meta(answer: HttpAnswer, *, partitions: int, replicas: int) -> Observation:
    """Compare a lookup's meta with both numbers: ``true``, ``no-meta``, ``meta:FIELD-wrong``."""
    data = _data(answer)
    if data is None:
        return observe_http(answer)
    meta = data.get("meta")
    if not isinstance(meta, dict):
        return observed("no-meta")
    for name, due in (("partition_num", partitions), ("replica", replicas)):
        found = meta.get(name)
        if found != due or isinstance(found, bool):
            difference = Difference(f"meta/{name}", None, str(due), str(found)[:40])
            return observed(f"meta:{name.replace('_', '-')}-wrong", difference=difference)
    return observed("true")


@with_evidence
def observe_extend(answer: HttpAnswer) -> Observation:
    """Return extend_support in a lookup's meta: ``true``, ``false``, ``absent`` or ``wrong``."""
    data = _data(answer)
    if data is None:
        return observe_http(answer)
    meta = data.get("meta")
    if not isinstance(meta, dict):
        return observed("no-meta")
    if "extend_support" not in meta:
        return observed("absent")
    found = meta["extend_support"]
    return observed(str(found).lower() if isinstance(found, bool) else "wrong")


def observe_lists(answer: HttpAnswer) -> Observation:
    """Return the form of a lookup's lists: ``null``, ``empty``, ``filled`` or ``missing``."""
    data = _data(answer)
    if data is None:
        return observe_http(answer)
    values = [data.get(name, "") for name in ("partitions", "producers")]
    if any(isinstance(value, str) for value in values):
        return observed("missing")
    if all(value is None for value in values):
        return observed("null")
    return observed("filled" if any(values) else "empty")


def observe_leading(broker: Broker, topic: Topic, answer: HttpAnswer) -> Observation:
    """Publish to each partition at the leader that the answer lists.

    ``leads``: every publish was acknowledged. ``none``: the answer lists no leader. ``no-broker``:
    no NSQ server answers at a listed address. Any other answer to a publish is the observation.
    """
    if answer.status != 200:
        return observe_http(answer)
    info = read_topic(answer, LookupRequest(broker.address, "GET /lookup"))
    for leader in info.leaders:
        seen = _publish_at(broker, topic, leader)
        if seen.value != "ok":
            return seen
    return observed("leads" if info.leaders else NONE)


def compare_leaders(answers: Sequence[HttpAnswer]) -> Observation:
    """Return ``same`` if lookups name the same leaders, and at least one; otherwise ``differ``."""
    for answer in answers:
        if missing := uncompared(observe_http(answer), "the answer to one of the lookups"):
            return missing
    told = [who_leads(answer) for answer in answers]
    same = all(each == told[0] != {} for each in told)
    return observed("same" if same else "differ").on(*answers)


def who_leads(answer: HttpAnswer) -> dict[str, str]:
    """Return the address of each partition's leader in a lookup; empty for an invalid answer."""
    places = _places(_data(answer) or {})
    return {number: _address(record) for number, record in places.items()}


def _publish_at(broker: Broker, topic: Topic, leader: Leader) -> Observation:
    there = replace(topic, partition=leader.partition, address=leader.address)
    try:
        return observe(broker.publish(there, broker.unique_body()))
    except (ArrangementFailed, TargetUnreachable) as error:
        return observed("no-broker", note=str(error))


def _data(answer: HttpAnswer) -> Record | None:
    data = answer.data
    return data if answer.status == 200 and isinstance(data, dict) else None


def _places(data: Record) -> dict[str, Record]:
    places = data.get("partitions")
    return {
        name: record if isinstance(record, dict) else {}
        for name, record in (places if isinstance(places, dict) else {}).items()
    }


def _producers(data: Record) -> list[Record]:
    producers = data.get("producers")
    listed = producers if isinstance(producers, list) else []
    return [record if isinstance(record, dict) else {} for record in listed]


def _address(record: Record) -> str:
    return f"{record.get('broadcast_address')}:{record.get('tcp_port')}"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and str(int(text)) == text


def _words(words: Iterable[str]) -> str:
    return " ".join(sorted(words)) or "nothing"
