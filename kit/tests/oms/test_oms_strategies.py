"""Documents made from the schemas: two readers that share no code must agree on every one.

The one is ours: the strict JSON reader and the rules. The other is the standard library's parser
and the jsonschema library with the published draft's own types; and since no schema looks into
members that it does not name, a walk over all strings.

Hypothesis draws constants of the modules that are loaded, so that what it draws here depends on
which tests ran before.
"""

import json
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from wireproof_kit.oms import strategies
from wireproof_spec import json_schema
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.oms.document import Document, read
from wireproof_spec.oms.names import ATTRIBUTES, HEADER_ATTRIBUTES, PARTS, Kind
from wireproof_spec.oms.rule_result import UNREADABLE
from wireproof_spec.oms.rules import RULES

pytestmark = pytest.mark.long

SCHEMAS = {Kind.MESSAGE: "oms/message", Kind.EXTENSION_HEADER: "oms/extension-header"}
each_kind = pytest.mark.parametrize("kind", SCHEMAS)
IN_SCHEMA = [
    clause.id
    for clause in load_catalogue("oms").clauses()
    if clause.level in ("must", "should") and clause.id in RULES
]
"""The rules that the schemas hold, whatever their level; what is only observed stands in none."""
NAMES = st.sampled_from(["message", *PARTS, *ATTRIBUTES, *HEADER_ATTRIBUTES, "x-other"])


@cache
def validator(kind: Kind) -> Draft202012Validator:
    """Return the jsonschema library's own reading of a schema; nothing of ours but the file."""

    def retrieve(uri: str) -> Resource[Any]:
        return Resource.from_contents(plain(uri.removeprefix("urn:wireproof:")))

    registry: Registry[Any] = Registry(retrieve=retrieve)  # type: ignore[call-arg]  # attrs alias
    return Draft202012Validator(plain(SCHEMAS[kind]), registry=registry)


@cache
def plain(name: str) -> Mapping[str, Any]:
    """Return a schema as the standard library reads it."""
    text = json.dumps(json_schema.document(name))
    return cast(Mapping[str, Any], json.loads(text))


def is_valid(text: bytes, kind: Kind) -> bool:
    """Return True if the schema allows a document and its strings, but for data, are printable."""
    value = json.loads(text)
    return validator(kind).is_valid(value) and all(map(is_printable, strings(value)))


def strings(value: object, *place: str) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (text for each in value for text in strings(each, *place, "[]"))
    elif isinstance(value, dict):
        for name, below in value.items():
            yield name
            yield from (
                () if (*place, name) == ("message", "data") else strings(below, *place, name)
            )


def is_printable(text: str) -> bool:
    return not {"Cc", "Cs", "Zl", "Zp"} & set(map(unicodedata.category, text))


def is_right(document: Document) -> bool:
    """Tell whether no rule of the schemas sees a fault, or something that it cannot read."""
    states = {clause: RULES[clause](document) for clause in IN_SCHEMA}
    if document.kind is Kind.EXTENSION_HEADER:
        states = {name: sight for name, sight in states.items() if ".message." not in name}
    return not any(sight.faults or sight.state == UNREADABLE for sight in states.values())


@each_kind
@given(data=st.data())
def test_a_valid_document_is_right_however_it_is_written(data: st.DataObject, kind: Kind) -> None:
    value = data.draw(strategies.valid(SCHEMAS[kind]))
    text = data.draw(strategies.texts(value))
    assert is_valid(text, kind)
    assert is_right(read(text, kind))


@pytest.mark.slow
@each_kind
@given(data=st.data())
def test_an_invalid_document_is_wrong_for_both_readers(data: st.DataObject, kind: Kind) -> None:
    value = data.draw(strategies.invalid(SCHEMAS[kind]))
    text = data.draw(strategies.texts(value))
    document = read(text, kind)
    assert not is_valid(text, kind)
    assert json_schema.check(SCHEMAS[kind], document.value)
    assert not is_right(document)


SOME = st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats(-1e9, 1e9)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
ANYTHING = st.recursive(
    SOME | WORDS,
    lambda inside: st.lists(inside, max_size=2) | st.dictionaries(NAMES, inside, max_size=5),
    max_leaves=14,
)


@each_kind
@given(value=ANYTHING)
def test_the_readers_agree_on_any_document(value: object, kind: Kind) -> None:
    around = value if kind is Kind.EXTENSION_HEADER else {"message": value}
    text = json.dumps(around).encode()
    assert is_right(read(text, kind)) is is_valid(text, kind)


@given(data=st.data())
def test_the_readers_agree_on_a_message_with_anything_in_one_place(data: st.DataObject) -> None:
    whole = cast(dict[str, Any], data.draw(strategies.valid("oms/message")))
    message = whole["message"]
    parts = [message, message["header"], message["properties"], message.get("extensionHeader", {})]
    data.draw(st.sampled_from(parts))[data.draw(NAMES)] = data.draw(ANYTHING)
    text = json.dumps(whole).encode()
    assert is_right(read(text, Kind.MESSAGE)) is is_valid(text, Kind.MESSAGE)


def test_a_string_where_no_schema_looks_is_wrong_for_both_readers() -> None:
    header = {"messageId": "0", "bornTimestamp": 0, "bornHost": "0", "destination": ""}
    message = {"version": "", "header": header, "properties": {}, "x-other": ["\x1f"]}
    text = json.dumps({"message": message}).encode()
    assert validator(Kind.MESSAGE).is_valid({"message": message})
    assert not is_valid(text, Kind.MESSAGE)
    assert not is_right(read(text, Kind.MESSAGE))


@pytest.mark.slow
@each_kind
def test_a_fault_is_made_for_every_rule_that_a_parsed_value_can_break(kind: Kind) -> None:
    seen: set[str] = set()

    def look(value: object) -> None:
        document = read(json.dumps(value).encode(), kind)
        seen.update(clause for clause in IN_SCHEMA if RULES[clause](document).faults)

    for made in strategies.faults(SCHEMAS[kind]):
        settings(max_examples=4, derandomize=True, database=None)(given(made)(look))()
    due = {name for name in IN_SCHEMA if ".message." not in name or kind is Kind.MESSAGE}
    assert due - seen == {"oms.document.unique-name"}
