"""Faults that no usual message shows: what a reader does with unusual ones."""

from typing import Final

from wireproof_reference_impl.oms.adapter import adapter
from wireproof_reference_impl.oms.adapter.adapter import Adapter
from wireproof_reference_impl.oms.adapter.requests import Caller, Request, read_request
from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.faulty.effect import change_received
from wireproof_reference_impl.overrides import Original, around
from wireproof_reference_impl.preset import Preset, parser_fault
from wireproof_spec.strict_json import DUPLICATE_NAME, JsonValue

_MOST_LEVELS: Final = 20
_MOST_SIGNS: Final = 2048


def _levels(value: JsonValue) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_levels, value.values()), default=0)
    return 1 + max(map(_levels, value), default=0) if isinstance(value, list) else 0


def _fail_when_deep(original: Original, data: bytes) -> object:
    request = original(data)
    if isinstance(request, Request) and _levels(dict(request.fields)) > _MOST_LEVELS:
        raise RecursionError("a value is nested too deep")
    return request


def _leave_unanswered(
    original: Original, self: Adapter, data: bytes, caller: Caller, now_ns: int
) -> None:
    faults = read_request(data).faults
    if not any(fault.kind == DUPLICATE_NAME for fault in faults):
        original(self, data, caller, now_ns)


def _cut(header: JsonObject, message: Message, count: int) -> None:
    for name, value in header.items():
        header[name] = _short(value)


def _short(value: JsonValue) -> JsonValue:
    return value[:_MOST_SIGNS] if isinstance(value, str) else value


FAULTS: tuple[Preset, ...] = (
    parser_fault(
        "adapter-dies-of-depth",
        f"the adapter ends when a value is nested more than {_MOST_LEVELS} levels deep",
        overrides=(around(adapter, "read_request", _fail_when_deep),),
    ),
    parser_fault(
        "adapter-leaves-repeats-unanswered",
        "a request in which a name occurs twice is not answered",
        overrides=(around(Adapter, "ask", _leave_unanswered),),
    ),
    parser_fault(
        "adapter-cuts-long-text",
        f"a String attribute is cut after {_MOST_SIGNS} characters",
        overrides=(change_received(_cut),),
    ),
)
