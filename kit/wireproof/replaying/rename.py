"""Replaces names in recorded bytes, even when a name spans several sent pieces."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from wireproof_reports.exchange.annotation import read_bytes
from wireproof_spec.step_record import StepRecord, pack_bytes

Names = Mapping[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Renamed:
    """Bytes in which names were replaced; ``places`` are (start, end, new start, new end)."""

    data: bytes
    places: tuple[tuple[int, int, int, int], ...]

    def move_offset(self, offset: int) -> int:
        """Return where an offset in the original bytes lies in the bytes with replaced names."""
        shift = 0
        for start, end, new_start, new_end in self.places:
            if offset <= start:
                break
            if offset < end:
                return min(new_start + offset - start, new_end)
            shift = new_end - end
        return offset + shift


def rename(data: bytes, names: Names) -> Renamed:
    """Replace recorded names by new ones in bytes, and return where they were replaced."""
    new = b""
    places: list[tuple[int, int, int, int]] = []
    end = 0
    for start, name in _find_names(data, names):
        new += data[end:start]
        end = start + len(name)
        places.append((start, end, len(new), len(new) + len(names[name])))
        new += names[name]
    return Renamed(new + data[end:], tuple(places))


def rename_steps(steps: Sequence[StepRecord], names: Names) -> tuple[StepRecord, ...]:
    """Replace names in the bytes of all sent steps; the pieces of a stream stay separate."""
    if not names:
        return tuple(steps)
    streams: dict[str, bytes] = defaultdict(bytes)
    for step in steps:
        if step.kind == "send":
            streams[step.conn] += read_bytes(step)
    whole = {conn: rename(data, names) for conn, data in streams.items()}
    sent: dict[str, int] = defaultdict(int)
    renamed: list[StepRecord] = []
    for step in steps:
        if step.kind == "send":
            start = sent[step.conn]
            sent[step.conn] += len(read_bytes(step))
            renamed.append(_piece(step, whole[step.conn], start, names))
        elif step.kind == "request":
            renamed.append(_piece(step, rename(read_bytes(step), names), 0, names))
        else:
            renamed.append(step)
    return tuple(renamed)


def _find_names(data: bytes, names: Names) -> Iterator[tuple[int, bytes]]:
    """Yield the position of each name, in order; names inside longer names do not count."""
    at = 0
    while at < len(data):
        places = [(data.find(name, at), -len(name), name) for name in names]
        place = min((found for found in places if found[0] >= 0), default=None)
        if place is None:
            return
        start, _, name = place
        at = start + len(name)
        if not data[at : at + 1].isalnum():
            yield start, name


def _piece(step: StepRecord, stream: Renamed, start: int, names: Names) -> StepRecord:
    begin = stream.move_offset(start)
    data = stream.data[begin : stream.move_offset(start + len(read_bytes(step)))]
    parts: list[tuple[int, int, str, bool]] = []
    for offset, length, label, wrong in step.parts:
        new = stream.move_offset(start + offset) - begin
        end = stream.move_offset(start + offset + length) - begin
        parts.append((new, end - new, _renamed_text(label, names), wrong))
    return msgspec.structs.replace(
        step,
        **{"hex": "", "deflate": "", **pack_bytes(data)},
        length=len(data),
        parts=tuple(parts),
        note=_renamed_text(step.note, names),
    )


def _renamed_text(text: str, names: Names) -> str:
    return rename(text.encode(), names).data.decode()
