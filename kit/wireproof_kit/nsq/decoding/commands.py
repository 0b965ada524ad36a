"""Commands as JSON objects: one per published message, one for any other command."""

from collections.abc import Sequence

from wireproof_kit.decoding.decoded import JsonObject
from wireproof_kit.nsq.decoding.message_fields import header_fields
from wireproof_spec.nsq.acknowledge import Finish, Requeue, Touch
from wireproof_spec.nsq.command import CommandLine
from wireproof_spec.nsq.command_reader import Body, Command
from wireproof_spec.nsq.identify import AuthBody, IdentifyBody
from wireproof_spec.nsq.names import FIN, REQ, TOUCH
from wireproof_spec.nsq.publish import (
    MpubBody,
    MpubExtBody,
    MpubTraceBody,
    PubBody,
    PubExtBody,
    PubTraceBody,
)
from wireproof_spec.strict_json import JsonValue

Message = PubBody | PubTraceBody | PubExtBody
ID = 8
"""Bytes of an internal or trace id."""


def list_published(command: Command) -> Sequence[JsonObject]:
    """Return the messages that a command publishes; none for any other command."""
    line = command.line.value
    if command.body is None or not isinstance(line, CommandLine):
        return []
    words = [_text(word) for word in line.parameters]
    head: dict[str, JsonValue] = {
        "kind": "message",
        "command": _text(line.name),
        "topic": words[0] if words else None,
        "partition": _number(words[1]) if len(words) == 2 else None,
    }
    return [
        {**head, "index": index, **_message(message)}
        for index, message in enumerate(_messages(command.body.value))
    ]


def describe_command(command: Command) -> JsonObject:
    """Return the JSON object of a command that publishes nothing."""
    line = command.line.value
    fields: dict[str, JsonValue] = {"kind": "command"}
    if isinstance(line, CommandLine):
        fields["command"] = _text(line.name)
        fields["parameters"] = [_text(word) for word in line.parameters]
    else:
        fields["command"] = _text(_ACKNOWLEDGEMENTS[type(line)])
        fields["internal_id"] = str(int.from_bytes(line.message_id[:ID], "big"))
        fields["trace_id"] = str(int.from_bytes(line.message_id[ID:], "big"))
    if isinstance(line, Requeue):
        fields["timeout_ms"] = line.timeout_ms
    if command.body is not None:
        fields |= _body(command.body.value)
    return fields


_ACKNOWLEDGEMENTS = {Finish: FIN, Requeue: REQ, Touch: TOUCH}


def _messages(body: Body) -> Sequence[Message]:
    if isinstance(body, MpubBody | MpubTraceBody | MpubExtBody):
        return body.messages
    return [body] if isinstance(body, Message) else []


def _message(message: Message) -> dict[str, JsonValue]:
    header = message.json_header if isinstance(message, PubExtBody) else None
    trace_id = str(message.trace_id) if isinstance(message, PubTraceBody) else None
    unknown: dict[str, JsonValue] = {"timestamp_ns": None, "attempts": None, "internal_id": None}
    return {
        **unknown,
        "trace_id": trace_id,
        **header_fields(header),
        "body_hex": message.body.hex(),
    }


def _body(body: Body) -> dict[str, JsonValue]:
    if isinstance(body, IdentifyBody):
        return header_fields(body.json, name="json")
    return {"secret_hex": body.secret.hex()} if isinstance(body, AuthBody) else {}


def _text(word: bytes) -> str:
    return word.decode("utf-8", "backslashreplace")


def _number(word: str) -> JsonValue:
    return int(word) if word.isascii() and word.isdigit() and len(word) < 10 else word
