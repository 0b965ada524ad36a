"""Readers of JSON bodies and queries: fields that are missing or of a wrong type are refused."""

import re
from base64 import b64decode, b64encode
from binascii import Error as BadBase64
from collections.abc import Mapping
from decimal import Decimal

from wireproof_reference_impl.iggy.http.json_place import describe_place, find_span
from wireproof_reference_impl.iggy.wire.exchange import Exchange, Unfit, bad_query, split_query
from wireproof_spec import strict_json
from wireproof_spec.strict_json import JsonValue
from wireproof_spec.wire_error import WireError

_NO_BASE64 = re.compile(rb"[^A-Za-z0-9+/=]")
_U32_MOST = (1 << 32) - 1
_U64_MOST = (1 << 64) - 1
_U128_MOST = (1 << 128) - 1


def json_object(exchange: Exchange[object]) -> "Fields":
    """Return the JSON object in the body of a request.

    Raises:
        Unfit: 415 for a wrong content type, 400 for invalid JSON, 422 for another JSON value.
    """
    kind = exchange.content_type.partition(";")[0].strip().lower()
    if kind != "application/json" and not (
        kind.startswith("application/") and kind.endswith("+json")
    ):
        raise Unfit(415, "Expected request with `Content-Type: application/json`")
    text = exchange.body.decode("utf-8", "surrogateescape")
    try:
        found = strict_json.read(exchange.body)
    except WireError as error:
        if error.offset >= len(exchange.body):
            place = describe_place(text, len(text))
            raise bad_json(f"EOF while parsing a value {place}") from error
        raise bad_json(str(error)) from error
    for fault in found.faults:
        if fault.kind == strict_json.DUPLICATE_NAME:
            raise bad_shape(f"duplicate field at {fault.pointer}")
        raise bad_json(f"{fault.kind} at {fault.pointer}")
    return Fields(found.value, "", text)


def bad_json(why: str) -> Unfit:
    """Return the refusal, status 400, of a body that is not JSON."""
    return Unfit(400, f"Failed to parse the request body as JSON: {why}")


def bad_shape(why: str) -> Unfit:
    """Make the refusal, status 422, that JSON with a value of a wrong type is answered with."""
    return Unfit(422, f"Failed to deserialize the JSON body into the target type: {why}")


class Fields:
    """A JSON object of a request's body, whose members are read by name and type.

    Unknown names are ignored. Errors name the path of a member in the body; ``steps`` is the path
    without what refusals leave out.
    """

    def __init__(
        self, value: JsonValue, where: str, text: str, steps: tuple[str | int, ...] = ()
    ) -> None:
        if not isinstance(value, dict):
            raise bad_shape(f"{where}: an object is expected, {_kind(value)} was found")
        self._values = value
        self._where = where
        self._text = text
        self._steps = steps

    def names(self) -> Mapping[str, JsonValue]:
        """Return all members of the object by name."""
        return self._values

    def u32(self, name: str, default: int | None = None) -> int:
        """Return the member `name`, an unsigned number of four bytes, or the default."""
        return self._number(name, _U32_MOST, default)

    def u64(self, name: str, default: int | None = None) -> int:
        """Return the member `name`, an unsigned number of eight bytes, or the default."""
        return self._number(name, _U64_MOST, default)

    def u128(self, name: str, default: int) -> int:
        """Return the member `name`, a number of 16 bytes; others are refused as malformed JSON."""
        value = self._values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _U128_MOST:
            raise self._no_u128(name, value)
        return value

    def text(self, name: str, default: str | None = None) -> str:
        """Return the member `name`, a string, or the default."""
        value = self._value(name, default)
        if not isinstance(value, str):
            raise self._unfit(name, value, "a string")
        return value

    def flat_text(self, name: str, default: str) -> str:
        """Return a string member that the deployed server reads for a struct within its own.

        It has read the whole object before it refuses one: the refusal names its end, no field.
        """
        value = self._value(name, default)
        if isinstance(value, str):
            return value
        place = describe_place(self._text, find_span(self._text, self._steps)[1])
        raise bad_shape(f"invalid type: {_kind(value)}, expected a string {place}")

    def one_of(self, name: str, words: Mapping[str, int]) -> int:
        """Return the number that the member `name`, one of these words, denotes."""
        word = self.text(name)
        if word not in words:
            known = ", ".join(f"`{each}`" for each in words)
            raise self._refusal(name, f"unknown variant `{word}`, expected one of {known}")
        return words[word]

    def base64(self, name: str) -> bytes:
        """Return the bytes of the member `name`, a base64 text with padding."""
        word = self.text(name)
        strange = _NO_BASE64.search(word.encode("utf-8", "surrogateescape"))
        if strange is not None:
            symbol = f"Invalid symbol {strange[0][0]}, offset {strange.start()}."
            raise self._refusal(name, symbol)
        try:
            data = b64decode(word.encode(), validate=True)
        except BadBase64 as error:
            raise self._refusal(name, str(error)) from error
        if b64encode(data).decode() != word:
            raise self._refusal(name, "Invalid last symbol")
        return data

    def inner(self, name: str, shown: str | None = None) -> "Fields":
        """Return the member `name`, an object; ``shown`` stands for its name in refusals."""
        where = self._path(name if shown is None else shown)
        return Fields(self._value(name, None), where, self._text, (*self._steps, name))

    def array(self, name: str) -> list["Fields"]:
        """Return the objects in the member `name`, an array."""
        value = self._value(name, None)
        if not isinstance(value, list):
            raise self._unfit(name, value, "a sequence")
        path, steps = self._path(name), (*self._steps, name)
        return [
            Fields(each, f"{path}[{number}]", self._text, (*steps, number))
            for number, each in enumerate(value)
        ]

    def optional(self, name: str) -> "Fields | None":
        """Return the member `name`, an object, or None if it is missing or null."""
        return None if self._values.get(name) is None else self.inner(name)

    def _number(self, name: str, most: int, default: int | None) -> int:
        value = self._value(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise self._unfit(name, value, "u32" if most == _U32_MOST else "u64")
        return value

    def _value(self, name: str, default: JsonValue) -> JsonValue:
        if name in self._values:
            return self._values[name]
        if default is None:
            place = describe_place(self._text, find_span(self._text, self._steps)[1])
            why = f"{self._where}: missing field `{name}` {place}"
            raise bad_shape(why.removeprefix(": "))
        return default

    def _unfit(self, name: str, value: JsonValue, expected: str) -> Unfit:
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        what = "value" if is_integer and expected in ("u32", "u64") else "type"
        return self._refusal(name, f"invalid {what}: {_kind(value)}, expected {expected}")

    def _refusal(self, name: str, why: str) -> Unfit:
        """Return the refusal of a value, with the place where it ends."""
        if name not in self._values:
            return bad_shape(f"{self._path(name)}: {why}")
        end = find_span(self._text, (*self._steps, name))[1]
        return bad_shape(f"{self._path(name)}: {why} {describe_place(self._text, end)}")

    def _no_u128(self, name: str, value: JsonValue) -> Unfit:
        """Return the refusal of a number: where it begins, or where it is too great."""
        start, end = find_span(self._text, (*self._steps, name))
        path, why, place = self._path(name), "invalid number", start + 1
        if isinstance(value, Decimal):
            digits = re.match(r"-?\d*", self._text[start:end])
            place = start + len(digits[0] if digits else "") + 1
            path, why = self._path("?"), "expected `,` or `}`"
        elif isinstance(value, int) and not isinstance(value, bool):
            why, place = "number out of range", start + 1 if value < 0 else end
        return bad_json(f"{path}: {why} {describe_place(self._text, place)}")

    def _path(self, name: str) -> str:
        return f"{self._where}.{name}" if self._where else name


class Query:
    """The parameters of an HTTP query, read by name and type; missing ones have a default."""

    def __init__(self, exchange: Exchange[object]) -> None:
        self._values = split_query(exchange.query)

    def u32(self, name: str, default: int) -> int:
        """Return the parameter `name`, an unsigned number of four bytes, or the default."""
        return self._number(name, _U32_MOST, default)

    def u64(self, name: str, default: int) -> int:
        """Return the parameter `name`, an unsigned number of eight bytes, or the default."""
        return self._number(name, _U64_MOST, default)

    def text(self, name: str, default: str) -> str:
        """Return the parameter `name` as it is, or the default."""
        return self._values.get(name, default)

    def needed_u32(self, name: str) -> int:
        """Return the parameter `name`, a number of four bytes, which must be present."""
        if name not in self._values:
            raise bad_query(f"missing field `{name}`")
        return self._number(name, _U32_MOST, 0)

    def flag(self, name: str) -> bool:
        """Return the parameter `name`, true or false; False if it is missing."""
        word = self._values.get(name, "false")
        if word not in ("true", "false"):
            raise bad_query("provided string was not `true` or `false`")
        return word == "true"

    def one_of(self, name: str, words: Mapping[str, int], default: str) -> int:
        """Return the number that the parameter `name`, one of these words, denotes."""
        word = self._values.get(name, default)
        if word not in words:
            raise bad_query("Invalid command")
        return words[word]

    def _number(self, name: str, most: int, default: int) -> int:
        number = whole_number(self._values.get(name, str(default)), most)
        if number is None:
            raise bad_query("invalid digit found in string")
        return number


def whole_number(word: str, most: int = _U32_MOST) -> int | None:
    """Return the unsigned number that a word spells, or None if it is none or over `most`."""
    digits = word.removeprefix("+")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 40 or int(digits) > most:
        return None
    return int(digits)


def _kind(value: JsonValue) -> str:
    """Return a value as the deployed server names what it did not expect."""
    if isinstance(value, bool):
        return f"boolean `{str(value).lower()}`"
    if isinstance(value, int):
        return f"integer `{value}`"
    if isinstance(value, Decimal):
        return f"floating point `{value}`"
    if isinstance(value, str):
        return f'string "{value}"'
    names: Mapping[type, str] = {list: "sequence", dict: "map"}
    return names.get(type(value), "null")
