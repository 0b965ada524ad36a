"""Faults of frames as a stream: cut off, in pieces, and what a refused one leaves behind."""

from collections.abc import Callable

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.core.frame_reading import (
    Spill,
)
from wireproof_reference_impl.nsq.preset import (
    BOUNDARY,
    CONDITION,
    EXTRA,
    MISSING,
    PUBLISHERS,
    WRONG_VALUE,
    Preset,
    fault,
)
from wireproof_spec.nsq.names import PUB_EXT


def _unread(unread: Callable[[bytes], bytes]) -> Settings:
    return {"parser.unread": unread}


def _zero_padded(data: bytes, size: int) -> bytes | None:
    return data.ljust(size, b"\0")


def _as_it_came(data: bytes, size: int) -> bytes | None:
    return data or None


def _one_byte_short(data: bytes, size: int) -> bytes | None:
    return data if len(data) == size - 1 else None


def _last_lost_in_pieces(data: bytes, pieces: int) -> bytes:
    return data[:-1] if pieces > 1 else data


def _cut_beyond_4096_in_pieces(data: bytes, pieces: int) -> bytes:
    return data[:4096] if pieces > 1 else data


def _answered_twice_in_pieces(frames: list[bytes], pieces: int) -> list[bytes]:
    return frames + frames[-1:] if pieces > 1 else frames


def _in_reverse(frames: list[bytes], pieces: int) -> list[bytes]:
    return frames[::-1]


def _first_answer_only(frames: list[bytes], pieces: int) -> list[bytes]:
    return frames[:1]


def _second_frame_dropped(command: bytes, rest: bytes) -> bytes:
    return b"" if command == PUB_EXT and rest.startswith(b"PUB") else rest


def _half_frame_dropped(command: bytes, rest: bytes) -> bytes:
    """Forget what came of the next frame when it has not come whole."""
    _, feed, body = rest.partition(b"\n")
    size = int.from_bytes(body[:4])
    whole = bool(feed) and len(body) >= 4 + size
    return rest if command != PUB_EXT or whole or not rest else b""


_CUT = "parser.truncated"
_PIECES = "parser.segmentation"
_STEP = "parser.in-step"

FAULTS: tuple[Preset, ...] = (
    fault(
        "cut-published",
        "what came of a frame that was cut off is published",
        way=MISSING,
        delivers_wrongly=True,
        breaks=_CUT,
        settings={"parser.cut_body": _as_it_came},
    ),
    fault(
        "cut-padded",
        "a frame that was cut off is published with zeros in place of the rest",
        way=WRONG_VALUE,
        delivers_wrongly=True,
        breaks=_CUT,
        settings={"parser.cut_body": _zero_padded},
    ),
    fault(
        "cut-by-one-published",
        "a frame that lacks its last byte is published",
        way=BOUNDARY,
        delivers_wrongly=True,
        breaks=_CUT,
        settings={"parser.cut_body": _one_byte_short},
    ),
    fault(
        "pieces-answered-twice",
        "a frame that came in pieces is answered twice",
        way=EXTRA,
        breaks=_PIECES,
        settings={"parser.arrange": _answered_twice_in_pieces},
    ),
    fault(
        "pieces-lose-the-end",
        "a body that came in pieces loses its last byte",
        way=BOUNDARY,
        breaks=_PIECES,
        may_break="consume.body-intact consume.layout consume.plain-topic parser.header-length",
        settings={"parser.assembled": _last_lost_in_pieces},
    ),
    fault(
        "pieces-end-at-4096",
        "a body that came in pieces loses what is beyond 4096 bytes",
        way=BOUNDARY,
        breaks=_PIECES,
        may_break="consume.body-intact consume.plain-topic",
        settings={"parser.assembled": _cut_beyond_4096_in_pieces},
    ),
    fault(
        "second-frame-dropped",
        "of several frames in one write the second is dropped",
        way=MISSING,
        breaks=_PIECES,
        settings={"parser.rest": _second_frame_dropped},
    ),
    fault(
        "half-frame-dropped",
        "the part of a frame that came with another one is forgotten",
        way=MISSING,
        breaks=_PIECES,
        settings={"parser.rest": _half_frame_dropped},
    ),
    fault(
        "answers-in-reverse",
        "several frames in one write are answered in reverse order",
        way=WRONG_VALUE,
        breaks=_PIECES,
        may_break="parser.in-step",
        settings={"parser.arrange": _in_reverse},
    ),
    fault(
        "answers-but-the-first-lost",
        "of several frames in one write only the first is answered",
        way=MISSING,
        breaks=_PIECES,
        may_break="parser.in-step",
        settings={"parser.arrange": _first_answer_only},
    ),
    fault(
        "refused-body-read-again",
        "the body of a refused frame is read as commands",
        way=EXTRA,
        breaks=_STEP,
        may_break=(
            "parser.empty-body publish.header-json publish.header-name "
            "publish.header-strict publish.header-value publish.plain-topic "
            "publish.trace-id-form"
        ),
        settings=_unread(lambda body: body),
    ),
    fault(
        "refused-last-byte-read-again",
        "the last byte of a refused frame is read as a command",
        way=BOUNDARY,
        breaks=_STEP,
        may_break=(
            "parser.empty-body publish.header-json publish.header-name "
            "publish.header-strict publish.header-value publish.plain-topic "
            "publish.trace-id-form"
        ),
        settings=_unread(lambda body: body[-1:]),
    ),
    fault(
        "refused-spoils-the-next",
        "the frame after a refused one on its connection fails",
        way=WRONG_VALUE,
        breaks=_STEP,
        may_break=(
            "parser.empty-body publish.header-json publish.header-name "
            "publish.header-strict publish.header-value publish.mpub-ext "
            "publish.plain-topic publish.trace-id-form"
        ),
        settings={"parser.spill": Spill.SAME_CONNECTION},
    ),
    fault(
        "refused-spoils-others",
        "the frame after a refused one fails, on whatever connection it comes",
        way=CONDITION,
        breaks=_STEP,
        may_break=PUBLISHERS,
        settings={"parser.spill": Spill.ANY_CONNECTION},
    ),
)
