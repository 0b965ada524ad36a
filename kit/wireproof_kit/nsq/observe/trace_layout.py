"""Recognises the layout of a trace response, including plausible wrong ones.

The published one: OK, then internal id, trace id, disk queue offset (8 bytes each), disk queue
data size (4 bytes), network byte order: 30 bytes.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from wireproof_kit.observation import Difference, Observation, observed
from wireproof_spec.decoding import decode
from wireproof_spec.nsq.names import OK
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE, TraceResponse
from wireproof_spec.wire_error import WireError

FIELDS = ("internal_id", "trace_id", "disk_queue_offset", "disk_queue_data_size")
LENGTHS = (28, 30, 32, 34)
# A stored record is at least its 4-byte length, 26 bytes of message head and a body.
SMALLEST_RECORD = 30
LARGEST_RECORD = 1 << 27
LARGEST_NUMBER = 1 << 62
# A 4-byte size standing before the offset reads as an offset of whole multiples of 4 GiB, and so
# does a small number in the other byte order; no true offset or internal id is one beyond this,
# except once in 4 billion.
LARGEST_ROUND_NUMBER = 1 << 36
# The ids of a broker may begin here. This is also the number 1 in the other byte order: one answer
# cannot tell the two apart, so the cases of smart.message-id.increasing look at several ids.
TOP_BYTE_ALONE = 1 << 56


@dataclass(frozen=True, slots=True)
class TraceLayout:
    """One possible order and encoding of the four numbers in the response to a traced publish."""

    order: tuple[str, ...] = FIELDS
    big_endian: bool = True
    leads_with_ok: bool = True
    size_length: int = 4

    @property
    def length(self) -> int:
        """Return the size of the layout in bytes."""
        return (len(OK) if self.leads_with_ok else 0) + 24 + self.size_length

    @property
    def name(self) -> str:
        """Return the differences from the published layout, the most visible first."""
        differences = [
            "" if self.leads_with_ok else "without-ok",
            "" if self.size_length == 4 else "size-8-bytes",
            "" if self.order == FIELDS else "fields-swapped",
            "" if self.big_endian else "little-endian",
        ]
        return "+".join(word for word in differences if word)

    def read(self, data: bytes) -> dict[str, int] | None:
        """Return the numbers of a response by field name; None when the bytes do not fit."""
        if len(data) != self.length or data.startswith(OK) != self.leads_with_ok:
            return None
        at = len(OK) if self.leads_with_ok else 0
        numbers: dict[str, int] = {}
        for field in self.order:
            end = at + (self.size_length if field == "disk_queue_data_size" else 8)
            numbers[field] = int.from_bytes(data[at:end], "big" if self.big_endian else "little")
            at = end
        return numbers


def looks_like_trace(data: bytes, trace_id: int | None) -> bool:
    """Return True if the bytes can only be the response to a publish with a trace id."""
    if len(data) in LENGTHS and data.startswith(OK):
        return True
    if trace_id is None or data == OK:
        return False
    forms = (trace_id.to_bytes(8, "big"), trace_id.to_bytes(8, "little"))
    return len(data) in LENGTHS or any(form in data for form in forms)


def observe_trace(data: bytes, trace_id: int | None) -> Observation:
    """Return ``trace``, or ``trace:`` and a response's defect, with its first difference."""
    try:
        response = decode(TRACE_RESPONSE, data)
    except WireError as error:
        difference = Difference(error.field, error.offset, error.expected, error.found)
        return observed(f"trace:{_other_layout(data, trace_id)}", difference=difference)
    wrong = _wrong_field(response, trace_id)
    if wrong is None:
        return observed("trace")
    layout = _detect_layout(data, trace_id)
    if layout is not None:
        return observed(f"trace:{layout.name}", difference=wrong, note=_order(layout))
    name = "id-differs" if wrong.field == "trace_id" else f"{wrong.field}-impossible"
    return observed(f"trace:{name}", difference=wrong)


def _other_layout(data: bytes, trace_id: int | None) -> str:
    layout = _detect_layout(data, trace_id)
    return layout.name if layout else f"length-{len(data)}"


def _detect_layout(data: bytes, trace_id: int | None) -> TraceLayout | None:
    for layout in _layouts():
        numbers = layout.read(data)
        if numbers is not None and _is_possible(numbers, trace_id):
            return layout
    return None


def _layouts() -> Iterator[TraceLayout]:
    """Yield every layout but the published one, the most similar first."""
    orders = list(itertools.permutations(FIELDS))
    choices = itertools.product(orders, (True, False), (True, False), (4, 8))
    layouts = [TraceLayout(*choice) for choice in choices]
    yield from sorted(layouts[1:], key=_strangeness)


def _strangeness(layout: TraceLayout) -> tuple[int, bool, tuple[str, ...]]:
    """Order layouts by differences; of one difference, swapped fields can explain most bytes."""
    return layout.name.count("+"), layout.order != FIELDS, layout.order


def _is_possible(numbers: dict[str, int], trace_id: int | None) -> bool:
    return (
        (trace_id is None or numbers["trace_id"] == trace_id)
        and _is_internal_id(numbers["internal_id"])
        and _is_offset(numbers["disk_queue_offset"])
        and SMALLEST_RECORD <= numbers["disk_queue_data_size"] <= LARGEST_RECORD
    )


def _wrong_field(response: TraceResponse, trace_id: int | None) -> Difference | None:
    is_round = has_top_byte_alone(response.internal_id)
    if not (is_round or _is_internal_id(response.internal_id)):
        return Difference("internal_id", 2, "a positive number", str(response.internal_id))
    if trace_id is not None and response.trace_id != trace_id:
        return Difference("trace_id", 10, str(trace_id), str(response.trace_id))
    if not _is_offset(response.disk_queue_offset):
        return Difference("disk_queue_offset", 18, "an offset", str(response.disk_queue_offset))
    size = response.disk_queue_data_size
    if not 0 < size <= LARGEST_RECORD:
        return Difference("disk_queue_data_size", 26, "a record's size", str(size))
    return None


def has_top_byte_alone(number: int) -> bool:
    """Return True if a number would be below 64 with its bytes in the other order."""
    return 0 < number < LARGEST_NUMBER and number % TOP_BYTE_ALONE == 0


def _is_internal_id(number: int) -> bool:
    return number > 0 and _is_offset(number)


def _is_offset(number: int) -> bool:
    """Return True for a number that is not one of the other byte order, read in this one."""
    is_round = number % (1 << 32) == 0
    return number < LARGEST_NUMBER and not (is_round and number >= LARGEST_ROUND_NUMBER)


def _order(layout: TraceLayout) -> str:
    order = ", ".join(layout.order)
    return f"read as {order}; {'big' if layout.big_endian else 'little'} endian"
