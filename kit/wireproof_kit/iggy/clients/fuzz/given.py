"""Checks that a client makes up nothing: neither messages, nor offsets, nor that it was heard."""

import base64
import binascii
import contextlib
import json
import re
from collections.abc import Iterator, Sequence

from wireproof_kit.iggy.clients.script import Transport
from wireproof_spec.decoding import decode
from wireproof_spec.driver.lines import Fields, LineFault, from_base64
from wireproof_spec.iggy.bodies.poll_messages import polled_messages_schema
from wireproof_spec.iggy.frame import RESPONSE_HEAD_SIZE
from wireproof_spec.iggy.generation import GENERATIONS, Generation
from wireproof_spec.iggy.message import Message
from wireproof_spec.strict_json import fields_of, values_of
from wireproof_spec.wire_error import WireError

_STATUS_SIZE = 4
_STRING = re.compile(rb'"((?:[^"\\]|\\.)*)')
_SUCCESS = re.compile(rb"HTTP/\S*\s+\+?0*2")
_END_OF_HEAD = b"\r\n\r\n"


class Given:
    """What a client was given in some time.

    Of an answer as usual it is known which messages it has. Of the bytes of a case it is only
    known what they contain: what a client makes of them it must have found there.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._messages: set[tuple[int, bytes]] = set()
        self._raw: list[bytes] = []
        self.is_accepted = False
        """True once a request to send was answered with success."""

    def add_messages(self, messages: Sequence[Message]) -> None:
        """Take note of the messages of an answer as usual."""
        self._messages |= {(message.offset, message.payload) for message in messages}

    def add_case(self, data: bytes, *, whole: bool = False) -> None:
        """Take note of the bytes of a case; nobody can misread a ``whole`` one over TCP."""
        if whole and self._transport == "tcp":
            for generation in GENERATIONS:
                self.add_messages(_messages_of(data, generation))
        else:
            self._raw.append(data)
        if self._transport == "http":
            self.is_accepted = self.is_accepted or _SUCCESS.match(data) is not None
        else:
            self.is_accepted = self.is_accepted or data[:_STATUS_SIZE] == bytes(_STATUS_SIZE)

    def keep_cases(self, before: "Given") -> None:
        """Take over the bytes of cases from an earlier time."""
        self._raw = before._raw

    def find_made_up(self, told: Fields) -> str:
        """Return what the user is told of a message that was not sent; empty if nothing."""
        for message in map(fields_of, values_of(told.get("messages"))):
            try:
                offset, payload = int(str(message["offset"])), from_base64(str(message["payload"]))
            except (KeyError, ValueError, LineFault):
                continue  # what a line must have is checked elsewhere
            if (offset, payload) not in self._messages and not self._may_hold(offset, payload):
                return f"message {offset} with {len(payload)} bytes, which was not sent"
        return ""

    def holds_offset(self, offset: int) -> bool:
        """Return True if a message with this offset may have been sent."""
        known = {each for each, _ in self._messages}
        return offset in known or any(self._has_number(each, offset) for each in self._raw)

    def _may_hold(self, offset: int, payload: bytes) -> bool:
        return any(
            self._has_number(each, offset) and self._has_payload(each, payload)
            for each in self._raw
        )

    def _has_number(self, data: bytes, number: int) -> bool:
        """Return True if a number is in the bytes; in JSON it has too many spellings to tell."""
        return self._transport == "http" or number.to_bytes(8, "little") in data

    def _has_payload(self, data: bytes, payload: bytes) -> bool:
        if self._transport == "tcp":
            return payload in data
        return any(string.startswith(payload) for string in _decoded_strings(data))


def _messages_of(data: bytes, generation: Generation) -> Sequence[Message]:
    """Return the messages in an answer; none if it is no answer to a poll of the generation."""
    with contextlib.suppress(WireError):
        return decode(polled_messages_schema(generation), data[RESPONSE_HEAD_SIZE:]).messages
    return ()


def _decoded_strings(data: bytes) -> Iterator[bytes]:
    """Yield what any reader may take a string for: its text, or what it is base64 of."""
    for found in _STRING.finditer(data.partition(_END_OF_HEAD)[2]):
        text = found[1]
        with contextlib.suppress(ValueError):
            text = str(json.loads(b'"%s"' % text)).encode(errors="surrogatepass")
        yield text
        for readable in (text, text + b"=", text + b"==", text[: len(text) // 4 * 4]):
            with contextlib.suppress(binascii.Error):
                yield base64.b64decode(readable)
