"""Services of a lookup server beside lookup itself."""

from collections.abc import Collection, Iterator, Mapping

from wireproof_kit.nsq.observe.observations import observe_http, schema_difference
from wireproof_kit.nsq.topics.topic import Address, Topic
from wireproof_kit.nsq.wire.http import HttpAnswer
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_spec.json_schema import check
from wireproof_spec.strict_json import JsonValue


def observe_service(
    answer: HttpAnswer, name: str, *, v1: bool, holding: str | int | None = None
) -> Observation:
    """Compare an answer of a lookup service with its schema.

    ``service`` and ``service:FIELD-wrong`` are the results of the schema. ``missing``: the value
    of ``holding`` is nowhere in the answer. ``other-form``: the answer is bare but a wrapped one
    was requested, or the other way round.
    """
    if answer.status != 200 or answer.json is None:
        return observe_http(answer)
    if answer.is_wrapped == v1:
        return observed("other-form")
    schema = f"nsq/{name}" if v1 else f"nsq/{name}-wrapped"
    for fault in check(schema, answer.json.value):
        field = fault.pointer.rpartition("/")[2].replace("_", "-") or "field"
        difference = schema_difference(fault, name)
        return observed(f"service:{field}-wrong", difference=difference)
    if holding is not None and holding not in _scalars(answer.data):
        return observed("missing", difference=Difference(name, None, str(holding), "it nowhere"))
    return observed("service")


def observe_led(answer: HttpAnswer, topic: Topic, *, due: Mapping[int, int]) -> Observation:
    """Compare the leader of each partition, by its TCP port, with the leader that is due.

    The observation is ``true`` or ``false``; ``not-told`` if the answer lists no partitions.
    """
    if answer.status != 200 or not isinstance(answer.data, dict):
        return observe_http(answer)
    told = list(_list_led(answer.data, topic.name))
    if not told:
        return observed("not-told")
    wanted = sorted((str(number), port) for number, port in due.items())
    difference = Difference("partitions", None, str(wanted), str(sorted(told)))
    return observed("true") if sorted(told) == wanted else observed("false", difference=difference)


def _list_led(data: dict[str, JsonValue], topic: str) -> Iterator[tuple[str, int]]:
    """Yield each partition of a topic with the TCP port of the node that lists it."""
    nodes = data.get("producers")
    for node in nodes if isinstance(nodes, list) else ():
        if not isinstance(node, dict):
            continue
        partitions, port = node.get("partitions"), node.get("tcp_port")
        numbers = partitions.get(topic) if isinstance(partitions, dict) else None
        if isinstance(numbers, list) and isinstance(port, int):
            yield from ((str(number), port) for number in numbers)


def observe_tombstones(answer: HttpAnswer, topic: Topic, *, due: Collection[str]) -> Observation:
    """Compare the nodes with a tombstone for a topic, by their HTTP ports, with the nodes due.

    The observation is ``true``, ``too-many`` or ``too-few``; ``not-listed`` if the answer lists no
    node with the topic.
    """
    if answer.status != 200 or not isinstance(answer.data, dict):
        return observe_http(answer)
    told = dict(_tombstones(answer.data, topic.name))
    if not told:
        return observed("not-listed")
    found = {port for port, entombed in told.items() if entombed}
    if found == set(due):
        return observed("true")
    difference = Difference("tombstones", None, str(set(due)), str(found))
    return observed("too-many" if found > set(due) else "too-few", difference=difference)


def _tombstones(data: dict[str, JsonValue], topic: str) -> Iterator[tuple[str, bool]]:
    """Yield for each node that a topic is on: its HTTP port, and whether it has a tombstone."""
    nodes = data.get("producers")
    for node in nodes if isinstance(nodes, list) else ():
        if not isinstance(node, dict):
            continue
        topics, tombstones = node.get("topics"), node.get("tombstones")
        if isinstance(topics, list) and isinstance(tombstones, list) and topic in topics:
            place = topics.index(topic)
            yield str(node.get("http_port")), place < len(tombstones) and tombstones[place] is True


def is_named(value: JsonValue, address: Address) -> bool:
    """Return whether JSON of unknown structure has the port of an address, in any form.

    If some names in the JSON mention HTTP, only their values are searched.
    """
    port = str(address[1])
    words = map(str, _scalars(list(_about_http(value)) or value))
    return any(word == port or word.endswith(f":{port}") for word in words)


def _about_http(value: JsonValue) -> Iterator[JsonValue]:
    if isinstance(value, dict):
        for name, below in value.items():
            if "http" in name.lower():
                yield below
            else:
                yield from _about_http(below)
    elif isinstance(value, list):
        for below in value:
            yield from _about_http(below)


def _scalars(value: JsonValue) -> Iterator[JsonValue]:
    if isinstance(value, dict):
        for below in value.values():
            yield from _scalars(below)
    elif isinstance(value, list):
        for below in value:
            yield from _scalars(below)
    else:
        yield value
