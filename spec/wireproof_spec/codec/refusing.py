"""What generated code says when bytes do not fit: word for word what construct leads to."""

from collections.abc import Callable, Mapping

from wireproof_spec.wire_error import WireError
from wireproof_spec.wording import counted, shown


def refusals(clause: str) -> Mapping[str, Callable[..., object]]:
    """Return the errors of a schema under the names by which generated code calls them."""

    def error(field: str, offset: int, expected: str, found: object) -> WireError:
        return WireError(
            clause=clause, field=field, offset=offset, expected=expected, found=str(found)
        )

    def refused(field: str, offset: int, expected: str, found: object) -> WireError:
        return error(field or "value", offset, expected, found)

    def cut(field: str, offset: int, size: int, total: int) -> WireError:
        return error(field, offset, counted(size), total - offset)

    def over(field: str, offset: int, room: int, found: int) -> WireError:
        return refused(field, offset, f"at most {room}", found)

    def behind(field: str, offset: int, end: int) -> WireError:
        return refused(field, offset, "a start before its end", f"{offset - end} behind it")

    def unbounded(field: str, offset: int, bounds: tuple[int, int], found: int) -> WireError:
        lowest, highest = bounds
        expected = str(lowest) if lowest == highest else f"{lowest} to {highest}"
        return refused(field, offset, expected, found)

    def trailing(offset: int, total: int) -> WireError:
        return refused("end", offset, "no more bytes", total - offset)

    return {
        "refused": refused,
        "cut": cut,
        "over": over,
        "behind": behind,
        "unbounded": unbounded,
        "trailing": trailing,
        "shown": shown,
    }
