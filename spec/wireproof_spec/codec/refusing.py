"""The errors of generated code, word for word those of interpreted construct."""

from collections.abc import Callable, Mapping

from wireproof_spec.wire_error import WireError
from wireproof_spec.wording import count_bytes, show_value


def refusals(clause: str) -> Mapping[str, Callable[..., object]]:
    """Return the functions that make a schema's errors, by the names used in generated code."""

    def error(field: str, offset: int, expected: str, found: object) -> WireError:
        return WireError(
            clause=clause, field=field, offset=offset, expected=expected, found=str(found)
        )

    def refuse(field: str, offset: int, expected: str, found: object) -> WireError:
        return error(field or "value", offset, expected, found)

    def cut(field: str, offset: int, size: int, total: int) -> WireError:
        return error(field, offset, count_bytes(size), total - offset)

    def over(field: str, offset: int, room: int, found: int) -> WireError:
        return refuse(field, offset, f"at most {room}", found)

    def behind(field: str, offset: int, end: int) -> WireError:
        return refuse(field, offset, "a start before its end", f"{offset - end} behind it")

    def refuse_unbounded(
        field: str, offset: int, bounds: tuple[int, int], found: int
    ) -> WireError:
        lowest, highest = bounds
        expected = str(lowest) if lowest == highest else f"{lowest} to {highest}"
        return refuse(field, offset, expected, found)

    def refuse_trailing(offset: int, total: int) -> WireError:
        return refuse("end", offset, "no more bytes", total - offset)

    return {
        "refused": refuse,
        "cut": cut,
        "over": over,
        "behind": behind,
        "unbounded": refuse_unbounded,
        "trailing": refuse_trailing,
        "shown": show_value,
    }
