"""What comes is bounded, whatever the protocol: here one of lines."""

import pytest
from line_wire import BYTES_LIMIT, WRONG, Lines

from wireproof_kit.wire import incoming
from wireproof_kit.wire.incoming import Incoming


def test_values_come_whole_and_in_order() -> None:
    came = Incoming(Lines())
    came.feed(b"one\ntw")
    assert (came.next(), came.next(), came.pending) == (b"one", None, b"tw")
    came.feed(b"o\n")
    assert (came.next(), came.next(), came.fault) == (b"two", None, None)


def test_what_is_no_value_is_a_fault_for_good() -> None:
    came = Incoming(Lines())
    came.feed(WRONG + b"\nright\n")
    assert (came.next(), came.next()) == (None, None)
    assert came.fault is not None
    assert came.fault.found == "no line at all"


def test_bytes_are_bounded_and_those_beyond_are_let_go() -> None:
    lines = Lines()
    came = Incoming(lines)
    came.feed(bytes(BYTES_LIMIT))
    assert came.fault is None
    came.feed(b"\n")
    came.feed(b"\n")
    assert came.fault is not None
    assert (came.fault.field, came.fault.offset) == ("bytes", BYTES_LIMIT + 1)
    assert lines.fed == BYTES_LIMIT


def test_values_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incoming, "VALUES_LIMIT", 3)
    came = Incoming(Lines())
    came.feed(b"x\n" * 4)
    assert [came.next() for _ in range(4)] == [b"x", b"x", b"x", None]
    assert came.fault is not None
    assert came.fault.field == "lines"
    assert came.fault.expected == "at most 3 on one connection"
