"""Reads commands from a client's stream: a line, and the sized body that some lines announce."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from wireproof_spec.decoding import Schema, decode, extent
from wireproof_spec.nsq import limits, names
from wireproof_spec.nsq.acknowledge import (
    FINISH,
    MESSAGE_ID_SIZE,
    REQUEUE,
    TOUCH,
    Finish,
    Requeue,
    Touch,
)
from wireproof_spec.nsq.command import COMMAND_LINE, CommandLine
from wireproof_spec.nsq.identify import AUTH_BODY, IDENTIFY_BODY, AuthBody, IdentifyBody
from wireproof_spec.nsq.publish import (
    MPUB_BODY,
    MPUB_EXT_BODY,
    MPUB_TRACE_BODY,
    PUB_BODY,
    PUB_EXT_BODY,
    PUB_TRACE_BODY,
    MpubBody,
    MpubExtBody,
    MpubTraceBody,
    PubBody,
    PubExtBody,
    PubTraceBody,
)
from wireproof_spec.stream import NEED_MORE, NeedMore, StreamBuffer
from wireproof_spec.wire_error import WireError

Line: TypeAlias = CommandLine | Finish | Requeue | Touch
Body: TypeAlias = (
    IdentifyBody
    | AuthBody
    | PubBody
    | PubTraceBody
    | PubExtBody
    | MpubBody
    | MpubTraceBody
    | MpubExtBody
)
T = TypeVar("T")

_MESSAGES = (PubBody, PubTraceBody, PubExtBody)
_SIZE = 4  # bytes of a body's size

BODIES: Mapping[bytes, Schema[Body]] = {
    names.IDENTIFY: IDENTIFY_BODY,
    names.AUTH: AUTH_BODY,
    names.PUB: PUB_BODY,
    names.PUB_TRACE: PUB_TRACE_BODY,
    names.PUB_EXT: PUB_EXT_BODY,
    names.MPUB: MPUB_BODY,
    names.MPUB_TRACE: MPUB_TRACE_BODY,
    names.MPUB_EXT: MPUB_EXT_BODY,
}
"""The commands whose line is followed by a body."""

_ACKNOWLEDGEMENTS: Mapping[bytes, Schema[Line]] = {
    names.FIN: FINISH,
    names.REQ: REQUEUE,
    names.TOUCH: TOUCH,
}
_ACKNOWLEDGEMENT = re.compile(rb"(FIN|REQ|TOUCH)([ \r\n])")


@dataclass(frozen=True, slots=True)
class CommandPart(Generic[T]):
    """A decoded line or body of a command, the bytes that were sent, and their schema."""

    value: T
    data: bytes
    schema: Schema[T]


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a client: its line, and its body if the command has one."""

    line: CommandPart[Line]
    body: CommandPart[Body] | None


class CommandReader(StreamBuffer):
    """Decodes commands from a client's stream after the magic, in pieces of any size."""

    def __init__(
        self,
        *,
        line_limit: int = limits.MAX_LINE_SIZE,
        message_limit: int = limits.MAX_MSG_SIZE,
        body_limit: int = limits.MAX_BODY_SIZE,
        bodies: Mapping[bytes, Schema[Body]] = BODIES,
    ) -> None:
        """Create a reader with limits in bytes for lines, message bodies, and other bodies.

        ``bodies`` are the commands whose line is followed by a body.
        """
        super().__init__()
        self._bodies = bodies
        self._line_limit = line_limit
        self._message_limit = message_limit
        self._body_limit = body_limit

    def next_command(self) -> Command | NeedMore:
        """Return the next complete command, or NEED_MORE.

        Raises:
            WireError: a line or body is malformed or too long; the offset counts from the first
                byte fed. The reader does not move.
        """
        line = self._line()
        if line is NEED_MORE:
            return NEED_MORE
        body = self._body(line)
        if body is NEED_MORE:
            return NEED_MORE
        taken = len(line.data) + (len(body.data) if body else 0)
        self._drop(taken)
        return Command(line, body)

    def finish(self) -> None:
        """Check that the client's stream ends here; call this after taking all complete commands.

        Raises:
            WireError: the stream ends inside a command.
        """
        line = self._line()
        if line is NEED_MORE:
            if self._buffer:
                self._part(self._line_shape()[0], 0, len(self._buffer))
        elif schema := self._body_schema(line):
            self._part(schema, len(line.data), len(self._buffer))

    def _line(self) -> CommandPart[Line] | NeedMore:
        schema, least = self._line_shape()
        end = self._buffer.find(b"\n", least) + 1
        if not end and len(self._buffer) < self._line_limit:
            return NEED_MORE
        if not 0 < end <= self._line_limit:
            raise self._too_long()
        return self._part(schema, 0, end)

    def _line_shape(self) -> tuple[Schema[Line], int]:
        """Return the schema of the next line, and the number of bytes before its line feed."""
        acknowledgement = _ACKNOWLEDGEMENT.match(self._buffer)
        if acknowledgement is None:
            return COMMAND_LINE, 0
        has_id = acknowledgement[2] == b" "
        return _ACKNOWLEDGEMENTS[
            acknowledgement[1]
        ], acknowledgement.end() + MESSAGE_ID_SIZE if has_id else 0

    def _body(self, line: CommandPart[Line]) -> CommandPart[Body] | NeedMore | None:
        schema = self._body_schema(line)
        if schema is None:
            return None
        start = len(line.data)
        head = bytes(self._buffer[start : start + _SIZE])
        limit = self._message_limit if schema.value_type in _MESSAGES else self._body_limit
        try:
            size = extent(schema, head, limit=limit)
        except WireError as error:
            raise error.at(self.offset + start) from None
        if size is None or len(self._buffer) < start + size:
            return NEED_MORE
        return self._part(schema, start, start + size)

    def _body_schema(self, line: CommandPart[Line]) -> Schema[Body] | None:
        return self._bodies.get(line.value.name) if isinstance(line.value, CommandLine) else None

    def _part(self, schema: Schema[T], start: int, end: int) -> CommandPart[T]:
        data = bytes(self._buffer[start:end])
        try:
            return CommandPart(decode(schema, data), data, schema)
        except WireError as error:
            raise error.at(self.offset + start) from None

    def _too_long(self) -> WireError:
        return WireError(
            clause=COMMAND_LINE.clause,
            field="line",
            offset=self.offset,
            expected=f"at most {self._line_limit} bytes",
            found="more",
        )
