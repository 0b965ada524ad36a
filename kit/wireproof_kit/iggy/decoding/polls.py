"""Recognises the messages in the body of a response: nothing in it says that it answers a poll."""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from wireproof_spec.decoding import decode
from wireproof_spec.iggy.bodies.poll_messages import (
    POLLED_MESSAGES,
    PolledMessages,
    polled_messages_schema,
)
from wireproof_spec.iggy.frame import NeedMore, Response
from wireproof_spec.iggy.generation import GENERATIONS, Generation
from wireproof_spec.iggy.message import Message, MessageReader
from wireproof_spec.iggy.states import STATES
from wireproof_spec.wire_error import WireError

LIMIT = 1 << 26
"""The greatest length in bytes that counts as a frame's: far beyond what any server allows."""
YEARS = range(10**15, 4 * 10**15)
"""Microsecond timestamps by which a message is recognised: the years 2001 to 2096."""
_AFTER_HEADERS = re.compile(r"messages\[(?:0\]\.headers\[|[1-9])")
"""What names a field in the headers of the first message, or in a later message."""
HEAD_SIZES: Final[dict[Generation, int]] = {"published": 4, "tagged": 16}
"""Bytes of a poll response before its first message."""


def begins_message(head: bytes) -> bool:
    """Return True if these bytes begin a message: by its state and the year of its timestamp."""
    timestamp = int.from_bytes(head[9:17], "little")
    return len(head) >= 17 and head[8] in STATES and timestamp in YEARS


def read_polled(generation: Generation, response: Response) -> PolledMessages | None:
    """Return the messages of a response, or None if its body does not begin with a message.

    Raises:
        WireError: the body is of the other generation, or begins with a message, but not all of
            it can be decoded.
    """
    polled = _read(generation, response)
    if polled is None and (other := _find_other(generation, response)):
        raise WireError(
            clause=POLLED_MESSAGES.clause,
            field="body",
            offset=0,
            expected=f"a response of the {generation} generation",
            found=f"messages of the {other} generation",
        )
    return polled


def _read(generation: Generation, response: Response) -> PolledMessages | None:
    if response.status != 0:
        return None
    try:
        polled = decode(polled_messages_schema(generation), response.body)
    except WireError as error:
        # Other bodies may look like the beginning of a message; none has headers after it.
        begins = begins_message(response.body[HEAD_SIZES[generation] :])
        if begins and _AFTER_HEADERS.match(error.field):
            raise
        return None
    return polled if polled.messages else None


def _find_other(generation: Generation, response: Response) -> Generation | None:
    """Return another generation of servers by which the body of a response holds messages."""
    for other in GENERATIONS:
        try:
            if other != generation and _read(other, response) is not None:
                return other
        except WireError:
            return other
    return None


def messages_before_error(generation: Generation, body: bytes) -> Iterator[Message]:
    """Yield the messages of a poll response up to the first one that cannot be decoded."""
    reader = MessageReader(LIMIT)
    reader.feed(body[HEAD_SIZES[generation] :])
    with suppress(WireError):
        while not isinstance(message := reader.next_message(), NeedMore):
            yield message
