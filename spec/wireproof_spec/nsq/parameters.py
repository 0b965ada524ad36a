"""The parameters of the commands: which words a line needs, and their valid values.

Additional words are ignored, as by real brokers (except for AUTH). A partition is listed where the
published texts name it; that it may be missing is how real brokers read them.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass

from wireproof_spec.decoding import encode
from wireproof_spec.nsq import names
from wireproof_spec.nsq.command import COMMAND_LINE, CommandLine
from wireproof_spec.wire_error import WireError
from wireproof_spec.wording import show_value

_INTEGER = re.compile(rb"[+-]?[0-9]{1,4000}")
_DIGITS = re.compile(rb"[0-9]*")
_OFFSET = re.compile(rb"(timestamp|special|virtual_queue|msgcount):[+-]?[0-9]+")
_TRUTH = frozenset({b"1", b"t", b"T", b"TRUE", b"true", b"True"})
_FALSEHOOD = frozenset({b"0", b"f", b"F", b"FALSE", b"false", b"False"})
_INT64 = 1 << 63


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a command line: published name, valid values, whether it is needed."""

    name: str
    expected: str
    is_right: Callable[[bytes], bool]
    _: KW_ONLY
    needed: bool = True


def _is_name(word: bytes) -> bool:
    return names.is_valid_name(word.decode("latin-1"))


def _is_integer(word: bytes) -> bool:
    return _INTEGER.fullmatch(word) is not None and -_INT64 <= int(word) < _INT64


def _is_natural(word: bytes) -> bool:
    return _is_integer(word) and int(word) >= 0


def _is_digits(word: bytes) -> bool:
    return _DIGITS.fullmatch(word) is not None


def _is_offset(word: bytes) -> bool:
    return _OFFSET.fullmatch(word) is not None


def _is_bool(word: bytes) -> bool:
    return word in _TRUTH or word in _FALSEHOOD


_TOPIC = Parameter("topic_name", "a topic name", _is_name)
_CHANNEL = Parameter("channel_name", "a channel name", _is_name)
_PARTITION = Parameter("topic_partition", "a decimal number", _is_integer, needed=False)
_CONSUME_OFFSET = Parameter(
    "consume_offset", "an offset such as special:-1", _is_offset, needed=False
)
_PUBLISH = (_TOPIC, _PARTITION)
_SUBSCRIBE = (_TOPIC, _CHANNEL, _PARTITION)

PARAMETERS: Mapping[bytes, tuple[Parameter, ...]] = {
    names.IDENTIFY: (),
    names.AUTH: (),
    names.SUB: _SUBSCRIBE,
    names.SUB_ORDER: _SUBSCRIBE,
    names.SUB_ORDERED: _SUBSCRIBE,
    names.SUB_ADVANCED: (*_SUBSCRIBE, _CONSUME_OFFSET),
    names.PUB: _PUBLISH,
    names.PUB_TRACE: _PUBLISH,
    names.PUB_EXT: _PUBLISH,
    names.MPUB: _PUBLISH,
    names.MPUB_TRACE: _PUBLISH,
    names.MPUB_EXT: _PUBLISH,
    names.RDY: (Parameter("count", "decimal digits", _is_digits, needed=False),),
    names.CLS: (),
    names.NOP: (),
    names.INTERNAL_CREATE_TOPIC: (
        _TOPIC,
        Parameter("topic_partition", "a decimal number from 0 on", _is_natural),
        Parameter("extend", "true or false", _is_bool, needed=False),
    ),
}
"""Every command of words; those with a raw message id stand in `acknowledge`."""


def parameter_faults(line: CommandLine) -> Iterator[WireError]:
    """Yield what is invalid in the parameters of a command line; offsets count from its start."""
    if line.name not in PARAMETERS:
        yield _fault("name", 0, "a command", show_value(line.name))
        return
    if line.name == names.AUTH and line.parameters:
        yield _fault("parameters", len(line.name), "none", show_value(line.parameters[0]))
    at = len(line.name) + 1
    words = iter(line.parameters)
    for parameter in PARAMETERS[line.name]:
        word = next(words, None)
        if word is None and parameter.needed:
            end = len(encode(COMMAND_LINE, line)) - 1
            yield _fault(parameter.name, end, parameter.expected, "the end of the line")
        if word is None:
            return
        if not parameter.is_right(word):
            yield _fault(parameter.name, at, parameter.expected, show_value(word))
        at += len(word) + 1


def _fault(field: str, offset: int, expected: str, found: str) -> WireError:
    return WireError(
        clause=COMMAND_LINE.clause, field=field, offset=offset, expected=expected, found=found
    )
