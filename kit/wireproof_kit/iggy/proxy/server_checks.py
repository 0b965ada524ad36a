"""Clauses that bind servers, as far as passing traffic alone shows them."""

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import cast

from wireproof_kit.clients.events import Event
from wireproof_kit.iggy.clients.decoder import HTTP
from wireproof_kit.iggy.ledger.polls import judge_messages
from wireproof_kit.iggy.proxy.decoder import Answered
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.observation import Difference
from wireproof_kit.proxy.checks import shown
from wireproof_spec import strict_json
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.bodies.poll_messages import PollMessages, polled_messages_schema
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_spec.iggy.generation import GENERATIONS
from wireproof_spec.iggy.message import Message
from wireproof_spec.iggy.states import STATES
from wireproof_spec.iggy.statuses import OK
from wireproof_spec.strict_json import JsonValue
from wireproof_spec.wire_error import WireError

_FIELDS = ("offset", "state", "timestamp", "id", "checksum", "headers", "payload")
_HTTP_OK = 200
_NOTHING = 1
"""A body of so few bytes says that there are no messages; some servers send one."""


class ServerChecks:
    """What the server of one connection answers."""

    def see(self, event: Event) -> Iterator[Finding]:
        """Return what an event shows."""
        if isinstance(event, Answered):
            over_http = event.peer.startswith(HTTP)
            yield from () if over_http else _frame(event)
            poll = event.asked.poll if event.asked else None
            if poll is None or not event.is_whole:
                return
            if over_http and event.status == _HTTP_OK:
                yield from _json(event.body)
            elif not over_http and event.status == OK and len(event.body) > _NOTHING:
                yield from _polled(poll, event)


def _frame(event: Answered) -> Iterator[Finding]:
    length = int.from_bytes(event.data[4:8], "little")
    errs = event.status != OK and length > 0
    what = f"status {event.status} with a payload of {length} bytes" if errs else ""
    yield shown("iggy.frame.response", what)
    if event.asked is None:
        yield shown("iggy.frame.pipelined", "an answer to no request")
    elif event.is_pipelined:
        yield shown("iggy.frame.pipelined")


def _polled(poll: PollMessages, event: Answered) -> Iterator[Finding]:
    """Judge the answer to a poll over TCP."""
    asked = event.asked
    assert asked is not None
    # The server may be of the other generation: which it is, no text demands.
    tried = sorted(GENERATIONS, key=lambda each: each != asked.generation)
    faults: list[WireError] = []
    for generation in tried:
        try:
            messages = decode(polled_messages_schema(generation), event.body).messages
        except WireError as error:
            faults.append(error)
            continue
        yield shown("iggy.poll.count")
        yield from judge_messages(poll, messages)
        for message in messages:
            yield from _message(message)
        return
    yield _undecodable(faults[0], len(event.body))


def _undecodable(error: WireError, size: int) -> Finding:
    # Where one more message is counted than there is, it is missing right at the end.
    counts = error.field in ("count", "end") or error.offset >= size
    clause = "iggy.poll.count" if counts else "iggy.message.layout"
    return shown(clause, str(error))


def _message(message: Message) -> Iterator[Finding]:
    yield shown("iggy.message.layout")
    known = message.state in STATES
    what = "" if known else f"message {message.offset} has the unknown state {message.state}"
    yield shown("iggy.state.codes", what)
    yield _checksum("iggy.checksum.polynomial", message.offset, message.checksum, message.payload)


def _checksum(clause: str, offset: object, found: object, payload: bytes) -> Finding:
    due = payload_checksum(payload)
    if found == due:
        return shown(clause)
    what = f"message {offset} has the checksum {found}, the CRC-32 of its payload is {due}"
    return shown(clause, what, Difference("checksum", None, str(due), str(found)))


def _json(body: bytes) -> Iterator[Finding]:
    """Judge the answer to a poll over HTTP."""
    try:
        value = strict_json.read(body).value
    except WireError as error:
        yield shown("iggy.json.fields", str(error))
        return
    messages = value.get("messages") if isinstance(value, dict) else value
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict):
            yield from _object(message)


def _object(message: Mapping[str, JsonValue]) -> Iterator[Finding]:
    missing = [name for name in _FIELDS if name not in message]
    yield shown("iggy.json.fields", f"no {' and no '.join(missing)}" if missing else "")
    offset, state = message.get("offset"), message.get("state")
    if state is not None:
        known = state in STATES.values()
        what = "" if known else f"message {offset} has the unknown state {state}"
        yield shown("iggy.state.names", what)
    try:
        payload = base64.b64decode(cast(str, message.get("payload")), validate=True)
    except (binascii.Error, TypeError, ValueError):
        yield shown("iggy.json.payload", f"the payload of message {offset} is no base64")
        return
    yield shown("iggy.json.payload")
    if "checksum" in message:
        yield _checksum("iggy.checksum.json", offset, message["checksum"], payload)
