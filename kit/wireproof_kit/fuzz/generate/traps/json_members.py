"""Special values for each member of a JSON document, as its JSON Schema describes them."""

import json
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias, cast
from urllib.parse import quote, unquote_to_bytes

from wireproof_kit.fuzz.generate.random_source import RandomSource
from wireproof_kit.fuzz.generate.traps.text_traps import Trap
from wireproof_spec.json_schema import JsonSchema, document

Members: TypeAlias = Mapping[str, tuple[bytes, ...]]
"""Special values, as JSON text, by the path of the member; `ABSENT` means without the member."""

ABSENT: Final = b""
ITEM: Final = "[]"
"""A step of a path that stands for the first item of an array."""
_NAMESPACE: Final = "urn:wireproof:"
_SHOWN: Final = 24
"""The most bytes of a value that a mutation's name shows."""
_INTEGERS: Final = (0, -1)
_WIDTHS: Final = ((1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63)
"""Where integers without a documented maximum overflow."""


def special_members(name: str, more: Members | None = None) -> Members:
    """Return the special values of the members of documents with the schema called `name`.

    `more` has further values, for instance limits that the schema does not state.
    """
    found: dict[str, tuple[bytes, ...]] = dict(_members(document(name), ""))
    for path, values in (more or {}).items():
        found[path] = (*found.get(path, ()), *values)
    return {path: tuple(dict.fromkeys(values)) for path, values in found.items()}


def _members(schema: JsonSchema, path: str) -> Iterator[tuple[str, tuple[bytes, ...]]]:
    for name, below in schema.get("properties", {}).items():
        inner = f"{path}.{name}" if path else name
        yield inner, tuple(dict.fromkeys((ABSENT, *map(_write, _specials(below)))))
        yield from _members(below, inner)
        if "items" in below:
            yield from _members(below["items"], f"{inner}.{ITEM}")


def _write(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _specials(schema: JsonSchema) -> Iterator[object]:
    if "$ref" in schema:
        name = str(schema["$ref"]).removeprefix(_NAMESPACE)
        yield from _specials(document(name))
        return
    kinds = schema.get("type", "string" if "enum" in schema else "object")
    kind = kinds[0] if isinstance(kinds, list) else kinds
    match kind:
        case "integer" | "number":
            yield from _numbers(schema)
        case "boolean":
            yield from (True, False, None, 0, "true")
        case "string":
            yield from _texts(schema)
        case "array":
            yield from ([], None, {}, "text")
        case _:
            yield from ({}, None, [], "text", 0)


def _numbers(schema: JsonSchema) -> Iterator[object]:
    yield from _INTEGERS
    parts = [schema, *schema.get("anyOf", [])]
    for part in parts:
        if "const" in part:
            yield part["const"]
        if "minimum" in part:
            yield from (part["minimum"], part["minimum"] - 1)
        if "maximum" in part:
            yield from (part["maximum"], part["maximum"] + 1)
    yield from () if any("maximum" in part for part in parts) else _WIDTHS
    yield from (None, "1", 0.5, True, [], {})


def _texts(schema: JsonSchema) -> Iterator[object]:
    yield ""
    if "maxLength" in schema:
        yield from ("a" * schema["maxLength"], "a" * (schema["maxLength"] + 1))
    yield from schema.get("enum", [])
    yield from (None, 0, True, [], {})


def name_member(path: str, value: bytes) -> str:
    """Return the name of the mutation that gives a member a value."""
    if value == ABSENT:
        return f"JSON: {path} absent"
    shown = value.decode() if len(value) <= _SHOWN else f"{len(value)} bytes"
    return f"JSON: {path} is {shown}"


def make_member_trap(path: str, value: bytes) -> Trap:
    """Return the change of a JSON text that gives a member a value, or leaves it out."""
    steps = path.split(".")

    def make(text: bytes, source: RandomSource) -> bytes:
        try:
            whole: object = json.loads(text)
        except (ValueError, RecursionError):
            return text
        inner = _find(whole, steps[:-1])
        if inner is None:
            return text
        name = steps[-1]
        if value == ABSENT:
            if name not in inner:
                return text
            del inner[name]
        else:
            inner[name] = json.loads(value)
        return _write(whole)

    return make


def make_escaped_trap(trap: Trap) -> Trap:
    """Return the trap (a change of a text) for a percent-encoded text."""

    def make(text: bytes, source: RandomSource) -> bytes:
        plain = unquote_to_bytes(text)
        changed = trap(plain, source)
        return text if changed == plain else quote(changed, safe="").encode()

    return make


def _find(value: object, steps: list[str]) -> dict[str, object] | None:
    """Return the object that contains the member; make those that are missing."""
    for step in steps:
        if step == ITEM:
            if not isinstance(value, list) or not value:
                return None
            value = cast(list[object], value)[0]
        elif isinstance(value, dict):
            value = cast(dict[str, object], value).setdefault(step, {})
        else:
            return None
    return cast(dict[str, object], value) if isinstance(value, dict) else None
