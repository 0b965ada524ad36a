"""The lines of the driver protocol: JSON objects, as described in `json_schemas/`.

A driver greets first, so that the kit writes nothing to a program that is no driver. Integers that
may exceed 2^53 are strings of decimal digits, since many JSON readers would round them. Bytes are
base64.
"""

import base64
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import TypeAlias

from msgspec import Struct

from wireproof_spec import json_schema, strict_json
from wireproof_spec.strict_json import JsonValue, fields_of, values_of
from wireproof_spec.wire_error import WireError
from wireproof_spec.wording import show_value

VERSION = 1
"""The version of the protocol that this package describes."""
NAME = "wireproof-driver"
OPEN, CLOSE = "open", "close"
"""The first and the last operation; every driver knows them."""
MAX_LINE_BYTES = 4 << 20
"""No line is longer: a message of 1 MiB as base64 fits with all that may stand beside it."""

Fields: TypeAlias = Mapping[str, JsonValue]
Members: TypeAlias = Fields | bytes
"""The members of a request beside its id, or the text of an object with them and the operation."""

_KINDS = {
    "hello": "hello",
    "event": "event",
    "ok": "result",
    "error": "error",
    "unsupported": "unsupported",
}
"""The member that tells the kind of a line, and the schema of that kind."""


class LineFault(Exception):
    """Raised for a driver's line that breaks the protocol; ``str()`` says where and how."""


class Hello(Struct, frozen=True):
    """The greeting of a driver: protocol versions, name and version, operations and claims."""

    versions: tuple[int, ...]
    name: str
    version: str
    operations: tuple[str, ...]
    claims: tuple[str, ...]


class Result(Struct, frozen=True):
    """A driver's answer to the request ``id``: the operation succeeded with these fields."""

    id: int
    fields: dict[str, JsonValue]


class Failure(Struct, frozen=True):
    """A driver's answer to the request ``id``: the operation failed with this error."""

    id: int
    message: str
    code: str

    @property
    def words(self) -> str:
        """The text of the error, or that it has none."""
        return self.message if self.message.strip() else "an error without a text"


class Unsupported(Struct, frozen=True):
    """A driver's answer to request ``id``: it does not know the operation or field ``what``."""

    id: int
    what: str


class Event(Struct, frozen=True):
    """A line of a driver that answers no request; ``of`` is the request id it belongs to."""

    name: str
    of: int | None
    fields: dict[str, JsonValue]


Answer: TypeAlias = Result | Failure | Unsupported
Line: TypeAlias = Hello | Answer | Event


def read_line(data: bytes) -> Line:
    """Return the message in one line of a driver's output.

    Raises:
        LineFault: the line is too long, no JSON, or unknown to the protocol.
    """
    if len(data) > MAX_LINE_BYTES:
        raise LineFault(f"expected at most {MAX_LINE_BYTES} bytes in a line, found {len(data)}")
    value = _object(data)
    _check(value)
    return _line(value)


def read_hello(value: dict[str, JsonValue]) -> Hello:
    """Return the greeting of a driver from a JSON object.

    Raises:
        LineFault: the object is no greeting.
    """
    if "hello" not in value:
        raise LineFault(f"expected hello, found {show_value(', '.join(sorted(value)))}")
    _check(value)
    return _hello(value)


def request_line(id: int, op: str, fields: Members) -> bytes:
    """Return a request to a driver as a line with its line feed; a text stays as it is."""
    if isinstance(fields, bytes):
        return b'{"id": %d, %s\n' % (id, fields.lstrip()[1:])
    return json.dumps({"id": id, "op": op, **fields}, ensure_ascii=True).encode() + b"\n"


def show_answer(answer: Answer) -> str:
    """Return a driver's answer as JSON in one line, for a message."""
    if isinstance(answer, Unsupported):
        fields: Fields = {"unsupported": answer.what}
    elif isinstance(answer, Failure):
        fields = {"error": {"message": answer.message, "code": answer.code}}
    else:
        fields = {"ok": answer.fields}
    return json.dumps({"id": answer.id, **fields}, ensure_ascii=False)


def in_base64(data: bytes) -> str:
    """Return bytes as base64 text, for a field of a driver's line."""
    return base64.b64encode(data).decode()


def from_base64(text: str) -> bytes:
    """Return the bytes of base64 text from a driver's line.

    Raises:
        LineFault: the text is no base64.
    """
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise LineFault(f"expected base64, found {show_value(text)} ({error})") from None


def _object(data: bytes) -> dict[str, JsonValue]:
    try:
        read = strict_json.read(data)
    except WireError as error:
        raise LineFault(
            f"expected a JSON object, found a line that is no JSON, {show_value(data)}; "
            f"at byte {error.offset} expected {error.expected}, found {error.found}"
        ) from None
    if not isinstance(read.value, dict):
        raise LineFault(f"expected a JSON object, found {show_value(data)}")
    for fault in read.faults:
        raise LineFault(f"{fault.pointer or 'line'}: {fault.kind.replace('-', ' ')} {fault.text}")
    return read.value


def _check(value: dict[str, JsonValue]) -> None:
    """Check a line against the schema of its kind, which a member of the line gives."""
    kind = next((kind for member, kind in _KINDS.items() if member in value), None)
    if kind is None:
        found = show_value(", ".join(sorted(value)) or "nothing")
        raise LineFault(
            f"expected hello, event, or id with ok, error or unsupported; found {found}"
        )
    for fault in json_schema.check(f"driver/{kind}", value):
        raise LineFault(f"{kind}{fault.pointer}: {fault.text}")


def _line(value: dict[str, JsonValue]) -> Line:
    if "hello" in value:
        return _hello(value)
    if "event" in value:
        beside = {name: each for name, each in value.items() if name not in ("event", "of")}
        of = value.get("of")
        return Event(str(value["event"]), None if of is None else _int(of), beside)
    return _answer(value)


def _hello(value: dict[str, JsonValue]) -> Hello:
    return Hello(
        versions=tuple(map(_int, values_of(value["versions"]))),
        name=str(value["name"]),
        version=str(value.get("version", "")),
        operations=tuple(map(str, values_of(value["operations"]))),
        claims=tuple(map(str, values_of(value.get("claims", [])))),
    )


def _answer(value: dict[str, JsonValue]) -> Answer:
    id = _int(value["id"])
    if "unsupported" in value:
        return Unsupported(id, str(value["unsupported"]))
    if "error" in value:
        error = fields_of(value["error"])
        return Failure(id, str(error["message"]), str(error.get("code", "")))
    return Result(id, fields_of(value["ok"]))


def _int(value: JsonValue) -> int:
    """Return an integer that passed the schema, in any JSON spelling (1, 1.0, 1e0)."""
    assert isinstance(value, int | Decimal)
    return int(value)
