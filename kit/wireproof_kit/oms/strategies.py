"""Hypothesis strategies for documents, derived from their JSON Schemas.

`valid` makes documents that a schema allows, from the few keywords that ours use. `invalid` makes
such a document and breaks one keyword of it: a value of another type or out of its range, a name
taken away or one with a value that the schema does not allow. A schema holds rules
of level must and should alike. What no schema can see (names twice, spelling, blanks) is a matter
of the text: `texts` writes a value in many legal ways.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from operator import add, sub
from random import Random
from typing import Any, Literal

from hypothesis import strategies as st

from wireproof_spec.json_schema import JsonSchema, document
from wireproof_spec.strict_json import is_array, is_object, members_of

Made = st.SearchStrategy[object]

_NAMESPACE = "urn:wireproof:"
_FURTHER = 3
"""The most members of a document beyond those that the schema names."""

_JSON: dict[str, Made] = {
    "string": st.text(max_size=8),
    "integer": st.integers(),
    "number": st.floats(allow_nan=False, allow_infinity=False) | st.integers(),
    "boolean": st.booleans(),
    "null": st.none(),
    "array": st.lists(st.integers(), max_size=2),
    "object": st.dictionaries(st.text(max_size=4), st.integers(), max_size=2),
}


@cache
def valid(name: str) -> Made:
    """Return a strategy for documents that are valid under the schema ``name``."""
    return _valid(_ResolvedSchema(_schema(name), name))


@cache
def invalid(name: str) -> Made:
    """Return a strategy for documents that violate the schema ``name`` in one place."""
    return st.one_of(*faults(name))


@cache
def faults(name: str) -> tuple[Made, ...]:
    """Return strategies for violations, one for each keyword in the schema ``name``."""
    return tuple(_break_schema(_ResolvedSchema(_schema(name), name)))


def texts(value: object) -> st.SearchStrategy[bytes]:
    """Return a strategy for ways to write a JSON value: spaces, escapes and member order."""
    return st.builds(
        _write_json,
        st.just(value),
        st.randoms(use_true_random=False),
        ascii_only=st.booleans(),
        indent=st.sampled_from([None, 0, 3]),
        around=st.text(" \t\r\n", max_size=3),
    )


class _ResolvedSchema:
    """A schema with its references resolved, and the file they are relative to."""

    def __init__(self, schema: JsonSchema, file: str) -> None:
        self.file = file
        self.schema: JsonSchema = schema.copy()
        if "$ref" in schema:
            there = _resolve(schema["$ref"], file)
            self.file, self.schema = there.file, there.schema.copy()
            self.schema.update(schema)
            self.schema.update(_narrow(there.schema, schema))
            self.schema.pop("$ref", None)

    def below(
        self, keyword: Literal["additionalProperties", "propertyNames"]
    ) -> "_ResolvedSchema":
        """Return the schema under a keyword."""
        return _ResolvedSchema(self.schema.get(keyword, {}), self.file)

    def options(self) -> "list[_ResolvedSchema]":
        """Return the schemas of which a value must fit one."""
        return [_ResolvedSchema(option, self.file) for option in self.schema.get("anyOf", [])]

    def properties(self) -> dict[str, "_ResolvedSchema"]:
        """Return the schemas of the object's properties."""
        properties = self.schema.get("properties", {})
        return {name: _ResolvedSchema(below, self.file) for name, below in properties.items()}

    def list_required(self) -> Sequence[str]:
        """Return the names of the required properties."""
        return self.schema.get("required", [])


@cache
def _schema(name: str) -> JsonSchema:
    return document(name)


def _resolve(reference: str, file: str) -> _ResolvedSchema:
    whole, _, fragment = reference.partition("#")
    there = whole.removeprefix(_NAMESPACE) or file
    found: Any = _schema(there)
    for step in fragment.split("/")[1:]:
        found = found[step]
    return _ResolvedSchema(found, there)


def _narrow(there: JsonSchema, beside: JsonSchema) -> JsonSchema:
    """Return the stricter of the bounds in a reference and beside it."""
    bounds: JsonSchema = {}
    if "minimum" in there and "minimum" in beside:
        bounds["minimum"] = max(there["minimum"], beside["minimum"])
    if "maximum" in there and "maximum" in beside:
        bounds["maximum"] = min(there["maximum"], beside["maximum"])
    return bounds


def _valid(place: _ResolvedSchema) -> Made:
    if "anyOf" in place.schema:
        return st.one_of([*map(_valid, place.options())])
    makers: dict[str, Callable[[_ResolvedSchema], Made]] = {
        "object": _object,
        "string": _string,
        "integer": _integer,
        "number": lambda _: _JSON["number"],
    }
    return makers[_type(place, "object")](place)


def _type(place: _ResolvedSchema, otherwise: str) -> str:
    """Return the one type that a schema of ours names."""
    named = place.schema.get("type", otherwise)
    assert isinstance(named, str)
    return named


def _object(place: _ResolvedSchema, without: Sequence[str] = ()) -> Made:
    named = {name: _valid(below) for name, below in place.properties().items()}
    needed = {name: named[name] for name in place.list_required() if name not in without}
    others = {name: each for name, each in named.items() if name not in (*needed, *without)}
    known = st.fixed_dictionaries(needed, optional=others)
    return st.builds(_join_members, _further(place, tuple(named)), known)


def _further(place: _ResolvedSchema, taken: Sequence[str]) -> st.SearchStrategy[dict[str, object]]:
    if "additionalProperties" not in place.schema and "propertyNames" not in place.schema:
        return st.just({})
    allowed = "additionalProperties" in place.schema
    value = _valid(place.below("additionalProperties")) if allowed else st.integers()
    return st.dictionaries(_name(place, taken), value, max_size=_FURTHER)


def _string(place: _ResolvedSchema) -> st.SearchStrategy[str]:
    least = place.schema.get("minLength", 0)
    pattern = place.schema.get("pattern")
    if pattern is None:
        return st.text(min_size=least)
    return st.from_regex(pattern, fullmatch=True).filter(
        lambda text: len(text) >= least and not _has_surrogate(text)
    )


def _integer(place: _ResolvedSchema) -> Made:
    schema = place.schema
    assert "minimum" in schema
    assert "maximum" in schema
    lowest, highest = schema["minimum"], schema["maximum"]
    edges = st.sampled_from([lowest, highest, max(lowest, 0), min(highest, 1)])
    as_fraction = st.integers(max(lowest, -(2**53)), min(highest, 2**53)).map(float)
    return st.integers(lowest, highest) | edges | as_fraction


def _break_schema(place: _ResolvedSchema) -> Iterator[Made]:
    """Return a strategy per keyword for values that violate a schema."""
    yield _of_other_type(place)
    beyond = st.integers(1, 4) | st.integers(1, 2**70)
    if "minimum" in place.schema:
        yield beyond.map(partial(sub, place.schema["minimum"]))
    if "maximum" in place.schema:
        yield beyond.map(partial(add, place.schema["maximum"]))
    if place.schema.get("type") == "integer":
        yield st.integers(-(2**20), 2**20).map(lambda n: n + 0.5)
    if "pattern" in place.schema:
        yield _against(place.schema["pattern"])
    if place.schema.get("minLength"):
        yield st.just("")
    if place.schema.get("type") == "object":
        yield from _broken_objects(place)


def _broken_objects(place: _ResolvedSchema) -> Iterator[Made]:
    right = _valid(place)
    for name in place.list_required():
        yield _object(place, without=[name])
    for name, below in place.properties().items():
        yield from (_with(right, st.just(name), wrong) for wrong in _break_schema(below))
    if "propertyNames" in place.schema:
        pattern = place.below("propertyNames").schema.get("pattern", "")
        yield _with(right, _against(pattern), st.just(1))
    if "additionalProperties" in place.schema:
        other = _name(place, tuple(place.properties()))
        yield _with(right, other, _of_other_type(place.below("additionalProperties")))


def _name(place: _ResolvedSchema, taken: Sequence[str]) -> st.SearchStrategy[str]:
    return _string(place.below("propertyNames")).filter(lambda text: text not in taken)


def _with(right: Made, name: st.SearchStrategy[str], value: Made) -> Made:
    return st.builds(_join_members, right, st.builds(_member, name, value))


def _member(name: str, value: object) -> dict[str, object]:
    return {name: value}


def _join_members(members: object, more: object) -> dict[str, object]:
    return {**members_of(members), **members_of(more)}


def _of_other_type(place: _ResolvedSchema) -> Made:
    taken = _types(place)
    return st.one_of([made for kind, made in _JSON.items() if kind not in taken])


def _types(place: _ResolvedSchema) -> set[str]:
    """Return the JSON types that a value may have; an integer may be any whole number."""
    types = {kind for option in place.options() for kind in _types(option)}
    named = _type(place, "")
    return types | {named} | ({"number", "integer"} if named in ("number", "integer") else set())


def _against(pattern: str) -> st.SearchStrategy[str]:
    """Return a strategy for strings that do not match a pattern."""
    bad = st.sampled_from(["\x00", "\n", "\x1b", "\x7f", "\x85", "\u2028", "\u2029"])
    part = st.text(st.characters(categories=["L", "N"]), max_size=3)
    made = st.tuples(part, bad, part).map("".join)
    return made.filter(lambda text: re.search(pattern, text) is None)


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= sign <= "\udfff" for sign in text)


def _write_json(
    value: object,
    chance: Random,
    *,
    ascii_only: bool,
    indent: int | None,
    around: str,
) -> bytes:
    text = json.dumps(_shuffle(value, chance), ensure_ascii=ascii_only, indent=indent)
    return f"{around}{text}{around}".encode()


def _shuffle(value: object, chance: Random) -> object:
    if is_array(value):
        return [_shuffle(item, chance) for item in value]
    if not is_object(value):
        return value
    names = list(value)
    chance.shuffle(names)
    return {name: _shuffle(value[name], chance) for name in names}
