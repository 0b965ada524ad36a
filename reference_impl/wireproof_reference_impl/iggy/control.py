"""The control API: it changes stored messages as no client can.

It is our own HTTP API, with parameters in the query. No command of the protocol sets a state or
damages a payload; the control API does both, so that clients can be tested with such messages. An
answer has the present message, or status 400 and one sentence; or status 403 and one sentence if
the request lacks the token or comes from a web page.

    GET  /control/message?stream=S&topic=T&partition=P&offset=O
    POST /control/message?…&state=poisoned      a name, or any code of 0..255
    POST /control/message?…&flip=BIT            inverts one bit of the payload
"""

from collections.abc import Mapping

from msgspec.structs import replace

from wireproof_reference_impl.control_access import ControlAccess
from wireproof_reference_impl.http_stream import Head
from wireproof_reference_impl.iggy.core.server import Server
from wireproof_reference_impl.iggy.http.connection import HttpConnection, json_answer
from wireproof_reference_impl.iggy.http.reading import whole_number
from wireproof_reference_impl.iggy.streams.partition import Partition, flip_bit
from wireproof_reference_impl.iggy.wire.exchange import (
    Answer,
    Exchange,
    Routes,
    Unfit,
    split_query,
    text,
)
from wireproof_reference_impl.iggy.wire.identifier import identifier_of
from wireproof_reference_impl.iggy.wire.message import Message
from wireproof_reference_impl.iggy.wire.message_json import state_name
from wireproof_reference_impl.iggy.wire.requests import TopicPath
from wireproof_reference_impl.iggy.wire.status import Refusal
from wireproof_reference_impl.json_text import compact_json
from wireproof_spec.iggy.states import STATES, state_code

_MOST_CODE = 255
_MOST_BODY_BYTES = 1 << 16

Asked = Exchange[Server]


def get_message(exchange: Asked) -> Answer:
    """Answer a control request with a stored message, in any state."""
    partition, offset = _message(exchange.site, split_query(exchange.query))
    return _answer_message(partition, offset)


def change_message(exchange: Asked) -> Answer:
    """Set the state of a stored message, flip a bit of its payload, or both."""
    words = split_query(exchange.query)
    partition, offset = _message(exchange.site, words)
    state = _state(words["state"]) if "state" in words else None
    bit = _number(words, "flip", (1 << 32) - 1) if "flip" in words else None
    if state is None and bit is None:
        raise Unfit(400, "nothing to change: the parameter 'state' or 'flip' is needed")

    def change(message: Message) -> Message:
        changed = message if state is None else replace(message, state=state)
        return changed if bit is None else _flip(changed, bit)

    partition.rewrite(offset, change)
    return _answer_message(partition, offset)


ROUTES: Routes[Server] = {
    "/control/message": {"GET": get_message, "POST": change_message},
}


class ControlConnection(HttpConnection[Server]):
    """One HTTP connection to the control API; each request must show the token."""

    def __init__(self, server: Server, access: ControlAccess) -> None:
        super().__init__(server, ROUTES, _answer_refused, most_body_bytes=_MOST_BODY_BYTES)
        self._access = access

    def _handle(self, head: Head) -> Answer:
        refused = self._access.refusal(head.headers)
        return text(refused, 403) if refused else super()._handle(head)


def connection(server: Server, access: ControlAccess) -> ControlConnection:
    """Return the protocol of a connection to the control API that was accepted."""
    return ControlConnection(server, access)


def _answer_refused(refusal: Refusal) -> Answer:
    return text(refusal.reason, 400)


def _answer_message(partition: Partition, offset: int) -> Answer:
    message = partition.get_stored(offset)
    fields = {
        "offset": message.offset,
        "state": state_name(message.state),
        "state_code": message.state,
        "id": message.id,
        "checksum": message.checksum,
        "payload": message.payload.hex(),
    }
    return json_answer(compact_json(fields))


def _message(server: Server, words: Mapping[str, str]) -> tuple[Partition, int]:
    place = TopicPath(
        identifier_of(_read_word(words, "stream")), identifier_of(_read_word(words, "topic"))
    )
    partition = server.topic(place).partition(_number(words, "partition", (1 << 32) - 1))
    offset = _number(words, "offset", (1 << 64) - 1)
    if offset >= partition.count:
        raise Unfit(400, f"no message has offset {offset}: there are {partition.count}")
    return partition, offset


def _state(word: str) -> int:
    code = whole_number(word, _MOST_CODE) if state_code(word) is None else state_code(word)
    if code is None:
        known = ", ".join(STATES.values())
        raise Unfit(400, f"state {word!r} is none: one of {known} or a code of 0..255 is needed")
    return code


def _flip(message: Message, bit: int) -> Message:
    bits = 8 * len(message.payload)
    if bit >= bits:
        raise Unfit(400, f"the payload has {bits} bits, from 0 on: there is no bit {bit}")
    return flip_bit(message, bit)


def _number(words: Mapping[str, str], name: str, most: int) -> int:
    word = _read_word(words, name)
    number = whole_number(word, most)
    if number is None:
        raise Unfit(400, f"{name} {word!r} is no number of 0..{most}")
    return number


def _read_word(words: Mapping[str, str], name: str) -> str:
    if not words.get(name):
        raise Unfit(400, f"the parameter {name!r} is missing")
    return words[name]
