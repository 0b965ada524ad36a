"""Faults that no usual message shows: what a reader does with unusual ones."""

from typing import Final

from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.oms.adapter import adapter
from wireproof_reference_impl.oms.adapter.adapter import Adapter
from wireproof_reference_impl.oms.adapter.requests import Caller, Request, read_request
from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.faulty.effect import change_received
from wireproof_reference_impl.oms.faulty.ways import parser_fault
from wireproof_reference_impl.overrides import Original, around
from wireproof_spec.strict_json import DUPLICATE_NAME, JsonValue

_MOST_LEVELS: Final = 20
_MOST_SIGNS: Final = 2048


def _levels(value: JsonValue) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_levels, value.values()), default=0)
    return 1 + max(map(_levels, value), default=0) if isinstance(value, list) else 0


@parser_fault(around(adapter, "read_request"))
def adapter_dies_of_depth(original: Original, data: bytes) -> object:
    """The adapter ends when a value is nested more than 20 levels deep."""
    request = original(data)
    if isinstance(request, Request) and _levels(dict(request.fields)) > _MOST_LEVELS:
        raise RecursionError("a value is nested too deep")
    return request


@parser_fault(around(Adapter, "ask"))
def adapter_leaves_repeats_unanswered(
    original: Original, self: Adapter, data: bytes, caller: Caller, now_ns: int
) -> None:
    """A request in which a name occurs twice is not answered."""
    faults = read_request(data).faults
    if not any(fault.kind == DUPLICATE_NAME for fault in faults):
        original(self, data, caller, now_ns)


def _short(value: JsonValue) -> JsonValue:
    return value[:_MOST_SIGNS] if isinstance(value, str) else value


@parser_fault(change_received)
def adapter_cuts_long_text(header: JsonObject, message: Message, count: int) -> None:
    """A String attribute is cut after 2048 characters."""
    for name, value in header.items():
        header[name] = _short(value)


FAULTS = list_faults(__name__)
