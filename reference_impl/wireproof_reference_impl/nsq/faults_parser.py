"""Faults of reading frames: sizes, lengths, pieces, and what a refused frame leaves behind."""

from collections.abc import Callable

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.core.frame_reading import (
    Size,
    Spill,
    Split,
    judge_size,
    split_header,
)
from wireproof_reference_impl.nsq.core.refusal import Deaf, Halt
from wireproof_reference_impl.nsq.preset import PARSER, PUBLISHERS, Preset, fault
from wireproof_spec.nsq.names import PUB_EXT

_MOST_LENGTH = 65535


def _length(data: bytes) -> int:
    return int.from_bytes(data[:2])


def _cut_at(data: bytes, length: int) -> Split | None:
    """Take a body apart at a header length of our own making."""
    if len(data) <= 2 + length:
        return None
    return Split(data[2 : 2 + length], data[2 + length :])


def _split(split: Callable[[bytes], Split | None]) -> Settings:
    return {"parser.split": split}


def _unread(unread: Callable[[bytes], bytes]) -> Settings:
    return {"parser.unread": unread}


def _raising(most: int, error: type[Exception]) -> Settings:
    """Return settings under which longer headers that fit end in an error of the broker's own."""

    def split(data: bytes) -> Split | None:
        taken = split_header(data)
        if taken is not None and len(taken.header) > most:
            raise error
        return taken

    return _split(split)


def _halting_when_beyond(data: bytes) -> Split | None:
    if _length(data) > len(data):
        raise Halt
    return split_header(data)


def _deaf_when_beyond(data: bytes) -> Split | None:
    if _length(data) > len(data):
        raise Deaf
    return split_header(data)


def _clamped(data: bytes) -> Split | None:
    """Take a header length beyond the frame for one that leaves a byte of body."""
    return _cut_at(data, min(_length(data), max(len(data) - 3, 0)))


def _nothing_left_of_it(data: bytes) -> Split | None:
    """Take a header length beyond the frame for no header."""
    return split_header(data) or Split(b"{}", data[2:])


def _one_beyond(data: bytes) -> Split | None:
    """Overlook a header length that is just one byte too long."""
    if _length(data) == len(data) - 1:
        return _cut_at(data, len(data) - 3)
    return split_header(data)


def _little_endian(data: bytes) -> Split | None:
    """Read the header length in the wrong byte order, if it has two bytes to speak of."""
    length = _length(data)
    return _cut_at(data, int.from_bytes(data[:2], "little") if length > 255 else length)


def _counting_itself(data: bytes) -> Split | None:
    """Take a header length above 255 to count its own two bytes."""
    return _cut_at(data, _length(data) - 2 if _length(data) > 255 else _length(data))


def _signed(data: bytes) -> Split | None:
    """Read the header length as signed: from 32768 on nothing is left of the header."""
    length = int.from_bytes(data[:2], signed=True)
    return _cut_at(data, length) if length >= 0 else Split(b"{}", data[2:])


def _of_one_byte(data: bytes) -> Split | None:
    return _cut_at(data, _length(data) % 256)


def _negative_endless(size: int, limit: int) -> Size:
    return Size.ENDLESS if size < 0 else judge_size(size, limit)


def _oversize_endless(size: int, limit: int) -> Size:
    return Size.ENDLESS if size > limit else judge_size(size, limit)


def _least_endless(size: int, limit: int) -> Size:
    return Size.ENDLESS if size == -(1 << 31) else judge_size(size, limit)


def _greatest_endless(size: int, limit: int) -> Size:
    return Size.ENDLESS if size == (1 << 31) - 1 else judge_size(size, limit)


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


_LENGTH = "parser.header-length"
_BEYOND = "parser.header-beyond-frame"
_SIZE = "parser.size"
_CUT = "parser.truncated"
_PIECES = "parser.segmentation"
_STEP = "parser.in-step"


def _fault(
    name: str, text: str, *, breaks: str, settings: Settings, may_break: str = ""
) -> Preset:
    return fault(name, text, breaks=breaks, may_break=may_break, settings=settings, kind=PARSER)


FAULTS: tuple[Preset, ...] = (
    _fault(
        "length-65535-halts",
        "the broker dies of a header length of 65535",
        breaks=_LENGTH,
        settings=_raising(_MOST_LENGTH - 1, Halt),
    ),
    _fault(
        "length-65534-deafens",
        "a connection is not listened to any more after a header length above 65533",
        breaks=_LENGTH,
        settings=_raising(_MOST_LENGTH - 2, Deaf),
    ),
    _fault(
        "length-32768-deafens",
        "a connection is not listened to any more after a header length above 32767",
        breaks=_LENGTH,
        may_break="consume.body-intact consume.layout",
        settings=_raising(32767, Deaf),
    ),
    _fault(
        "length-signed",
        "header lengths from 32768 on are taken for negative ones",
        breaks="consume.layout",
        may_break=(
            "consume.body-intact disk.layout parser.header-beyond-frame parser.header-length"
        ),
        settings=_split(_signed),
    ),
    _fault(
        "length-of-one-byte",
        "only the low byte of the header length is read",
        breaks="publish.accept",
        may_break="parser.header-beyond-frame",
        settings=_split(_of_one_byte),
    ),
    _fault(
        "length-little-endian",
        "header lengths above 255 are read in little-endian byte order",
        breaks="publish.accept",
        settings=_split(_little_endian),
    ),
    _fault(
        "length-counts-itself",
        "header lengths above 255 are taken to count their own two bytes",
        breaks="publish.accept",
        settings=_split(_counting_itself),
    ),
    _fault(
        "beyond-clamped",
        "a header length beyond the frame is cut down to fit",
        breaks=_BEYOND,
        settings=_split(_clamped),
    ),
    _fault(
        "beyond-no-header",
        "a header length beyond the frame is taken for no header",
        breaks=_BEYOND,
        may_break="consume.body-intact",
        settings=_split(_nothing_left_of_it),
    ),
    _fault(
        "beyond-by-one",
        "a header length one byte beyond the frame is overlooked",
        breaks=_BEYOND,
        settings=_split(_one_beyond),
    ),
    _fault(
        "beyond-halts",
        "the broker dies of a header length beyond the frame",
        breaks=_BEYOND,
        may_break="dispatch.not-ready http.header-json parser.header-length",
        settings=_split(_halting_when_beyond),
    ),
    _fault(
        "beyond-deafens",
        "a connection is not listened to any more after a header length beyond the frame",
        breaks=_BEYOND,
        may_break="parser.in-step",
        settings=_split(_deaf_when_beyond),
    ),
    _fault(
        "size-negative-waits",
        "a negative size is taken for a huge one and waited for",
        breaks=_SIZE,
        may_break="publish.error-same-as-pub",
        settings={"parser.size": _negative_endless},
    ),
    _fault(
        "size-oversize-waits",
        "an oversize body is waited for before it is refused",
        breaks=_SIZE,
        may_break="publish.error-same-as-pub",
        settings={"parser.size": _oversize_endless},
    ),
    _fault(
        "size-least-waits",
        "of the negative sizes the least one is waited for",
        breaks=_SIZE,
        may_break="publish.error-same-as-pub",
        settings={"parser.size": _least_endless},
    ),
    _fault(
        "size-greatest-waits",
        "of the sizes above the limit the greatest one is waited for",
        breaks=_SIZE,
        may_break="publish.error-same-as-pub",
        settings={"parser.size": _greatest_endless},
    ),
    _fault(
        "cut-published",
        "what came of a frame that was cut off is published",
        breaks=_CUT,
        settings={"parser.cut_body": _as_it_came},
    ),
    _fault(
        "cut-padded",
        "a frame that was cut off is published with zeros in place of the rest",
        breaks=_CUT,
        settings={"parser.cut_body": _zero_padded},
    ),
    _fault(
        "cut-by-one-published",
        "a frame that lacks its last byte is published",
        breaks=_CUT,
        settings={"parser.cut_body": _one_byte_short},
    ),
    _fault(
        "pieces-answered-twice",
        "a frame that came in pieces is answered twice",
        breaks=_PIECES,
        settings={"parser.arrange": _answered_twice_in_pieces},
    ),
    _fault(
        "pieces-lose-the-end",
        "a body that came in pieces loses its last byte",
        breaks=_PIECES,
        may_break="consume.body-intact consume.layout consume.plain-topic parser.header-length",
        settings={"parser.assembled": _last_lost_in_pieces},
    ),
    _fault(
        "pieces-end-at-4096",
        "a body that came in pieces loses what is beyond 4096 bytes",
        breaks=_PIECES,
        may_break="consume.body-intact consume.plain-topic",
        settings={"parser.assembled": _cut_beyond_4096_in_pieces},
    ),
    _fault(
        "second-frame-dropped",
        "of several frames in one write the second is dropped",
        breaks=_PIECES,
        settings={"parser.rest": _second_frame_dropped},
    ),
    _fault(
        "half-frame-dropped",
        "the part of a frame that came with another one is forgotten",
        breaks=_PIECES,
        settings={"parser.rest": _half_frame_dropped},
    ),
    _fault(
        "answers-in-reverse",
        "several frames in one write are answered in reverse order",
        breaks=_PIECES,
        may_break="parser.in-step",
        settings={"parser.arrange": _in_reverse},
    ),
    _fault(
        "answers-but-the-first-lost",
        "of several frames in one write only the first is answered",
        breaks=_PIECES,
        may_break="parser.in-step",
        settings={"parser.arrange": _first_answer_only},
    ),
    _fault(
        "refused-body-read-again",
        "the body of a refused frame is read as commands",
        breaks=_STEP,
        may_break=(
            "parser.empty-body publish.header-json publish.header-name "
            "publish.header-strict publish.header-value publish.plain-topic "
            "publish.trace-id-form"
        ),
        settings=_unread(lambda body: body),
    ),
    _fault(
        "refused-last-byte-read-again",
        "the last byte of a refused frame is read as a command",
        breaks=_STEP,
        may_break=(
            "parser.empty-body publish.header-json publish.header-name "
            "publish.header-strict publish.header-value publish.plain-topic "
            "publish.trace-id-form"
        ),
        settings=_unread(lambda body: body[-1:]),
    ),
    _fault(
        "refused-spoils-the-next",
        "the frame after a refused one on its connection fails",
        breaks=_STEP,
        may_break=(
            "parser.empty-body publish.header-json publish.header-name "
            "publish.header-strict publish.header-value publish.mpub-ext "
            "publish.plain-topic publish.trace-id-form"
        ),
        settings={"parser.spill": Spill.SAME_CONNECTION},
    ),
    _fault(
        "refused-spoils-others",
        "the frame after a refused one fails, on whatever connection it comes",
        breaks=_STEP,
        may_break=PUBLISHERS,
        settings={"parser.spill": Spill.ANY_CONNECTION},
    ),
)
