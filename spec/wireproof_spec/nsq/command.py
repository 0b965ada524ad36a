"""Command lines: words separated by single spaces, ended by a line feed.

Two spaces make an empty word, as in real brokers. One carriage return before the line feed belongs
to the line end. FIN, REQ and TOUCH contain raw bytes and are no such lines: see `acknowledge`.
"""

from msgspec import Struct

from wireproof_spec.decoding import Schema, encode
from wireproof_spec.grammar.layout import Literal, Record, field
from wireproof_spec.grammar.texts import CarriageReturn, Text, Words


class CommandLine(Struct, frozen=True, gc=False):
    """A line from a client: the name of a command, and its parameters."""

    name: bytes
    parameters: tuple[bytes, ...]
    carriage_return: bool = False


_WORD = Text(rb"[^ \r\n]*(?:\r(?!\n)[^ \r\n]*)*", "a word without space or line feed")

COMMAND_LINE = Schema(
    "command line",
    "smart.connection.command-line",
    CommandLine,
    Record(
        CommandLine,
        field("name", _WORD),
        field("parameters", Words(_WORD)),
        field("carriage_return", CarriageReturn()),
        field("line_feed", Literal(b"\n")),
    ),
)
"""`name`, for each of `parameters` a space and a word, perhaps a carriage return, line feed."""


def command_line(name: bytes, *parameters: str | int | bytes) -> bytes:
    """Return the bytes of a command line: name, parameters, spaces between, and a line feed.

    Raises:
        WireError: a word contains a space or a line feed.
    """
    return encode(COMMAND_LINE, CommandLine(name, tuple(map(_word, parameters))))


def _word(parameter: str | int | bytes) -> bytes:
    return parameter if isinstance(parameter, bytes) else str(parameter).encode()
