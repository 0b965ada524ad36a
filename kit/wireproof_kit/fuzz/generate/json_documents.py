"""Hypothesis strategies for JSON documents that conform to a JSON Schema of the spec."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

from wireproof_spec.json_schema import JsonSchema, check, document

Made = st.SearchStrategy[Any]

_NAMESPACE = "urn:wireproof:"
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_NUMBERS = st.integers(-9, 9) | st.integers(-(2**31), 2**31 - 1)
_FURTHER = 2


def texts(name: str, rules: Mapping[str, Made]) -> st.SearchStrategy[bytes]:
    """Return a strategy for JSON documents that are valid by the schema called `name`.

    `rules` has strategies for values by member name.
    """
    made = _values(document(name), rules)
    right = made.filter(lambda value: not check(name, value))
    return st.builds(_write_json, right, st.sampled_from([(",", ":"), (", ", ": ")]))


def _write_json(value: object, separators: tuple[str, str]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=separators).encode()


def _values(schema: JsonSchema, rules: Mapping[str, Made]) -> Made:
    if "$ref" in schema:
        there = str(schema["$ref"]).removeprefix(_NAMESPACE)
        return _values(document(there), rules)
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "const" in schema:
        return st.just(schema["const"])
    if "anyOf" in schema:
        return st.one_of([_values(_join_schemas(schema, way), rules) for way in schema["anyOf"]])
    kinds = schema.get("type", "object")
    names = kinds if isinstance(kinds, list) else [kinds]
    return st.one_of([_BY_TYPE[name](schema, rules) for name in names])


def _join_schemas(shared: JsonSchema, way: JsonSchema) -> JsonSchema:
    joined = shared.copy()
    joined.pop("anyOf", None)
    joined.update(way)
    return joined


def _object(schema: JsonSchema, rules: Mapping[str, Made]) -> Made:
    members = {
        name: rules[name] if name in rules else _values(below, rules)
        for name, below in schema.get("properties", {}).items()
    }
    required = schema.get("required", [])
    some = st.fixed_dictionaries(
        {name: members[name] for name in required},
        optional={name: made for name, made in members.items() if name not in required},
    )
    known = some | st.fixed_dictionaries(members)
    if "additionalProperties" not in schema:
        return known
    names = _string(schema.get("propertyNames", {}), rules)
    values = _values(schema["additionalProperties"], rules)
    more = st.dictionaries(names, values, max_size=_FURTHER)
    return st.tuples(more, known).map(_join_members)


def _join_members(members: tuple[dict[str, object], dict[str, object]]) -> dict[str, object]:
    more, known = members
    return {**more, **known}


def _array(schema: JsonSchema, rules: Mapping[str, Made]) -> Made:
    return st.lists(_values(schema.get("items", {}), rules), min_size=1, max_size=2)


def _string(schema: JsonSchema, rules: Mapping[str, Made]) -> Made:
    pattern = schema.get("pattern")
    if pattern is None:
        return _TEXT
    return st.from_regex(pattern, fullmatch=True).filter(lambda text: len(text) < 100)


def _integer(schema: JsonSchema, rules: Mapping[str, Made]) -> Made:
    if "minimum" not in schema and "maximum" not in schema:
        return _NUMBERS
    least, most = schema.get("minimum", -(2**31)), schema.get("maximum", 2**31 - 1)
    return st.integers(least, most) | st.sampled_from([least, most])


_BY_TYPE: Mapping[str, Callable[[JsonSchema, Mapping[str, Made]], Made]] = {
    "object": _object,
    "array": _array,
    "string": _string,
    "integer": _integer,
    "number": lambda schema, rules: _NUMBERS | st.floats(allow_nan=False, allow_infinity=False),
    "boolean": lambda schema, rules: st.booleans(),
    "null": lambda schema, rules: st.none(),
}
