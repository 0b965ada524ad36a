"""Alternatives of command lines: white space, words, sizes, and the codes of refusals."""

import re
from collections.abc import Callable, Mapping, Sequence

from wireproof_reference_impl.nsq.core import connection as connections
from wireproof_reference_impl.nsq.core.commands import partition_word, publish, sized
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.core.topic import Partition
from wireproof_reference_impl.nsq.http import publish as http_publish
from wireproof_reference_impl.nsq.requests.http_request import Request
from wireproof_reference_impl.nsq.wire.line import Line
from wireproof_reference_impl.nsq.wire.message import NewMessage
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_reference_impl.preset import Preset, alternative
from wireproof_spec.nsq import error_codes, names

_BLANKS = re.compile(rb"[ \t]+")
_RAW = frozenset({names.FIN, names.REQ, names.TOUCH})
_MISSING = "insufficient number of parameters"
_NO_PARTITION = "topic partition is not valid"
_BY_WORD: Mapping[tuple[bytes, str], str] = {
    (names.PUB, _MISSING): error_codes.E_BAD_TOPIC,
    (names.PUB_TRACE, _MISSING): error_codes.E_BAD_TOPIC,
    (names.PUB_EXT, _MISSING): error_codes.E_BAD_TOPIC,
    (names.SUB, _MISSING): error_codes.E_BAD_CHANNEL,
    (names.SUB_ORDER, _MISSING): error_codes.E_BAD_CHANNEL,
    (names.SUB_ORDERED, _MISSING): error_codes.E_BAD_CHANNEL,
}


def _split_at_blanks(
    original: Callable[..., Line | None], buffer: bytearray, place: int
) -> Line | None:
    line = original(buffer, place)
    if line is None or line.words[0] in _RAW:
        return line
    words = _BLANKS.split(b" ".join(line.words).strip(b" \t"))
    return Line(words, line.end)


def _last_led(partition: Partition) -> Partition:
    led = [each for each in partition.topic.partitions.values() if each.leads]
    return max(led, key=lambda each: each.number, default=partition)


def _batch_in_the_last(
    original: Original,
    connection: Connection,
    partition: Partition,
    entries: Sequence[NewMessage],
) -> object:
    is_batch = connection.command == names.MPUB
    return original(connection, _last_led(partition) if is_batch else partition, entries)


def _post_to_the_last(
    original: Callable[..., Partition], node: Node, request: Request, number: int | None
) -> Partition:
    partition = original(node, request, number)
    return _last_led(partition) if request.path in ("/pub", "/mpub") else partition


def _by_word(command: bytes, text: str) -> str | None:
    return next(
        (code for (word, cause), code in _BY_WORD.items() if word == command and cause in text),
        None,
    )


def _topic_for_partition(command: bytes, text: str) -> str | None:
    return error_codes.E_BAD_TOPIC if text.startswith(_NO_PARTITION) else None


def _invalid_for_partition(command: bytes, text: str) -> str | None:
    return error_codes.E_INVALID if text.startswith(_NO_PARTITION) else None


def _change_code(code: Callable[[bytes, str], str | None]) -> tuple[Override, ...]:
    """Return overrides under which some refusals have another code."""

    def refuse(original: Original, connection: Connection, refusal: Refusal) -> None:
        other = code(connection.command, refusal.text or "")
        if other is not None:
            refusal.code = other
        original(connection, refusal)

    return (around(Connection, "refuse", refuse),)


def _list_codes(command: bytes, code: str, text: str) -> str:
    """Return a code of PUB's list in the place of one of the measured broker."""
    own = (error_codes.E_INVALID_JSON_HEADER, error_codes.INVALID_TRACE_ID)
    if code in own:
        return error_codes.E_BAD_MESSAGE
    return error_codes.E_INVALID if code == error_codes.E_EXT_NOT_SUPPORT else code


def _listed_codes(original: Original, connection: Connection, refusal: Refusal) -> None:
    refusal.code = _list_codes(connection.command, refusal.code, refusal.text or "")
    original(connection, refusal)


_SUB_CODES = {
    error_codes.E_TOPIC_NOT_EXIST: error_codes.E_BAD_TOPIC,
    error_codes.E_SUB_EXTEND_NEED: error_codes.E_INVALID,
    error_codes.E_SUB_EXTEND_FORBIDDON: error_codes.E_INVALID,
    error_codes.E_BAD_PARTITION: error_codes.E_BAD_TOPIC,
    error_codes.E_FAILED_ON_NOT_LEADER: error_codes.E_INVALID,
}


def _listed_sub_codes(original: Original, connection: Connection, refusal: Refusal) -> None:
    if connection.command.startswith(names.SUB):
        refusal.code = _SUB_CODES.get(refusal.code, refusal.code)
    original(connection, refusal)


def _no_minus_one(
    original: Callable[..., int | None], words: Sequence[bytes], at: int, code: str
) -> int | None:
    if len(words) == at + 1 and words[at] == b"-1":
        raise Refusal(code, "topic partition is not valid: -1")
    return original(words, at, code)


def _waits_for_it(
    original: Original, size: int, *, limit: int, invalid: sized.Refuse, too_big: sized.Refuse
) -> None:
    original(min(size, limit), limit=limit, invalid=invalid, too_big=too_big)


def _takes_nothing(
    original: Original, size: int, *, limit: int, invalid: sized.Refuse, too_big: sized.Refuse
) -> None:
    if size:
        original(size, limit=limit, invalid=invalid, too_big=too_big)


ALTERNATIVES: tuple[Preset, ...] = (
    alternative(
        "lines-split-at-blanks",
        "words of a line may be parted by tabs and several blanks, also at its end",
        overrides=(around(connections, "read_line", _split_at_blanks),),
    ),
    alternative(
        "codes-by-missing-word",
        "a line without topic or channel is refused with the code for a bad one",
        overrides=_change_code(_by_word),
    ),
    alternative(
        "codes-bad-partition-as-topic",
        "a partition that is no number is refused with E_BAD_TOPIC",
        overrides=_change_code(_topic_for_partition),
    ),
    alternative(
        "codes-bad-partition-invalid",
        "a partition that is no number is refused with E_INVALID",
        overrides=_change_code(_invalid_for_partition),
    ),
    alternative(
        "codes-of-pub",
        "PUB_EXT is refused with codes of PUB's list only",
        overrides=(around(Connection, "refuse", _listed_codes),),
    ),
    alternative(
        "codes-of-sub",
        "SUB is refused with codes of its list only",
        overrides=(around(Connection, "refuse", _listed_sub_codes),),
    ),
    alternative(
        "minus-one-refused",
        "a partition may be left out, but is not -1",
        {"publish.partition_required": False},
        overrides=(around(partition_word, "optional", _no_minus_one),),
    ),
    alternative(
        "huge-size-awaited",
        "a message larger than the limit is waited for, and stored",
        overrides=(around(sized, "check_size", _waits_for_it),),
    ),
    alternative(
        "empty-body-stored",
        "PUB with size 0 publishes an empty message",
        overrides=(around(sized, "check_size", _takes_nothing),),
    ),
    alternative(
        "base-commands-unknown",
        "no batches, no TOUCH, no AUTH, no offset to start from, no topics made by TCP",
        {
            "unknown_commands": frozenset(
                {
                    names.MPUB,
                    names.MPUB_TRACE,
                    names.MPUB_EXT,
                    names.SUB_ADVANCED,
                    names.TOUCH,
                    names.AUTH,
                    names.INTERNAL_CREATE_TOPIC,
                }
            )
        },
        lacks="batch touch",
    ),
    alternative(
        "only-sub-order",
        "ordered subscriptions have the published name only",
        {"unknown_commands": frozenset({names.SUB_ORDERED})},
    ),
    alternative(
        "only-sub-ordered",
        "ordered subscriptions have the deployed name only",
        {"unknown_commands": frozenset({names.SUB_ORDER})},
    ),
    alternative(
        "partition-not-heeded",
        "MPUB, /pub and /mpub ignore the partition, which no text gives them",
        overrides=(
            around(publish, "store", _batch_in_the_last),
            around(http_publish, "_find_partition", _post_to_the_last),
        ),
    ),
)
