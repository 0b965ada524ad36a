"""Services of a lookup server beside lookup itself."""

from collections.abc import Iterator

from wireproof_kit.nsq.http import HttpAnswer
from wireproof_kit.nsq.observing import observe_http
from wireproof_kit.nsq.topics import Address
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_spec.json_schema import check
from wireproof_spec.strict_json import JsonValue


def observe_service(
    answer: HttpAnswer, name: str, *, v1: bool, holding: str | int | None = None
) -> Observation:
    """Hold an answer to the schema of its service: ``service``, ``service:FIELD-wrong``.

    ``missing`` when a word or number it must hold is nowhere in it; ``other-form`` when it is
    bare though that was not asked for, or the other way round.
    """
    if answer.status != 200 or answer.json is None:
        return observe_http(answer)
    if answer.is_wrapped == v1:
        return observed("other-form")
    schema = f"nsq/{name}" if v1 else f"nsq/{name}-wrapped"
    for fault in check(schema, answer.json.value):
        field = fault.pointer.rpartition("/")[2].replace("_", "-") or "field"
        difference = Difference(fault.pointer or name, None, schema, fault.text)
        return observed(f"service:{field}-wrong", difference=difference)
    if holding is not None and holding not in _scalars(answer.data):
        return observed("missing", difference=Difference(name, None, str(holding), "it nowhere"))
    return observed("service")


def is_named(value: JsonValue, address: Address) -> bool:
    """Tell whether JSON of unknown form names the port of an address, as number or text.

    Where some names speak of HTTP only their values count.
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
