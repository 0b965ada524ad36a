"""How the bytes of a case against a client are sent, and what they mean."""

from typing import Final

from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.clients import http_answers
from wireproof_kit.fuzz.clients.writes import closes_half, divide
from wireproof_kit.fuzz.generate.held_cases import NOTHING_SENT
from wireproof_kit.nsq.clients.fuzz.acknowledged import ID_AT
from wireproof_kit.nsq.clients.fuzz.frames import LARGEST, is_delimited
from wireproof_kit.nsq.clients.fuzz.states import HTTP_PLACES, STATES
from wireproof_spec.nsq import names
from wireproof_spec.nsq.acknowledge import MESSAGE_ID_SIZE
from wireproof_spec.nsq.frame import (
    FRAME_TYPE_ERROR,
    FRAME_TYPE_MESSAGE,
    NEED_MORE,
    FrameReader,
    ServerFrame,
)
from wireproof_spec.wire_error import WireError

HIGHEST: Final = (1 << 63) - 1
"""The greatest position in a queue that a message can have."""
_NUMBER = 8
_EXTEND = 3
"""Bytes of version and length before a message's extend part."""


def is_doubtful(case: Case) -> bool:
    """Return True if the connection cannot go on after a case."""
    if closes_half(case) or STATES[case.state].place in HTTP_PLACES:
        return True
    if case.frame_kind == NOTHING_SENT:
        return not case.delimited
    # Not as the case says: it may have become smaller since.
    return not is_delimited(case.frame_kind, b"".join(divide(case)))


def has_only_messages(case: Case) -> bool:
    """Return True if a subscriber may receive these frames, whatever their content."""
    return all(
        frame.frame_type == FRAME_TYPE_MESSAGE or frame.data == names.HEARTBEAT
        for frame in frames(case)
    )


def is_refusal(case: Case) -> bool:
    """Return True if a case begins with an error, at which a client may end by design.

    What follows the error, or its text, may be broken: the client need not have read it.
    """
    data = b"".join(divide(case))
    if STATES[case.state].place in HTTP_PLACES:
        return http_answers.is_refusal(data)
    return [frame.frame_type for frame in frames(case)[:1]] == [FRAME_TYPE_ERROR]


def highest_place(case: Case, *, extend: bool) -> int:
    """Return the greatest id or offset that a client may find in the messages of a case."""
    highest = 0
    for frame in frames(case):
        if frame.frame_type == FRAME_TYPE_MESSAGE:
            data, behind = frame.data, ID_AT + MESSAGE_ID_SIZE
            if extend and data[behind : behind + 1] not in (b"", b"\0"):
                behind += _EXTEND + int.from_bytes(data[behind + 1 : behind + _EXTEND], "big")
            elif extend:
                behind += 1
            for start in (ID_AT, behind):
                highest = max(highest, int.from_bytes(data[start:][:_NUMBER], "big"))
    return highest


def frames(case: Case) -> list[ServerFrame]:
    """Return the complete frames at the start of the bytes that a case sends."""
    reader = FrameReader(LARGEST)
    reader.feed(b"".join(divide(case)))
    found: list[ServerFrame] = []
    try:
        while (frame := reader.next_frame()) is not NEED_MORE:
            found.append(frame)
    except WireError:
        pass
    return found
