"""Every golden document is decided as recorded, by the strict reader and by the JSON Schema."""

import json
from typing import Any, cast

import pytest
from check_each import check_each
from jsonschema import Draft202012Validator

from wireproof_spec import json_schema
from wireproof_spec.clauses.catalogue import Clause, Law, matches
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.oms import extension_header as effect
from wireproof_spec.oms import golden
from wireproof_spec.oms.document import Document, read
from wireproof_spec.oms.golden import GoldenDocument
from wireproof_spec.oms.names import ATTRIBUTES, Kind, Type
from wireproof_spec.oms.rules import RULES
from wireproof_spec.strict_json import DUPLICATE_NAME

ROWS = golden.documents()
HEADERS = [row for row in ROWS if row.kind is Kind.EXTENSION_HEADER]
CATALOGUE = load_catalogue("oms")
TESTED = {clause.id: clause for clause in CATALOGUE.clauses() if clause.role == "document"}
SCHEMAS = {Kind.MESSAGE: "oms/message", Kind.EXTENSION_HEADER: "oms/extension-header"}
AMBIGUOUS_DATA = "OM-105"
BORN = 1533780827824
NOT_IN_A_MESSAGE = "OMX-116"
"""Its text is no JSON, and so is no message around it either."""

each_row = check_each(ROWS, lambda row: row.id)


def law_of(clause: Clause) -> Law:
    (law,) = clause.case
    return law


def verdicts(document: Document) -> dict[str, str]:
    """Return what each clause that applies makes of a document: pass, fail or undecided."""
    found: dict[str, str] = {}
    for clause_id, rule in RULES.items():
        clause = TESTED[clause_id]
        if document.kind is Kind.EXTENSION_HEADER and "message" in clause.needs:
            continue
        state, law = rule(document).state, law_of(clause)
        decided = "pass" if matches(state, law.accept) else "fail"
        found[clause_id] = "undecided" if matches(state, law.undecided) else decided
    return found


def decided_by(rule: str) -> set[str]:
    """Return the clauses about documents that carry a rule's number."""
    return {clause.id for clause in TESTED.values() if rule in clause.rules}


def of(kind: str, found: dict[str, str]) -> set[str]:
    return {clause for clause, verdict in found.items() if verdict == kind}


def in_a_message(row: GoldenDocument) -> bytes:
    """Return a right message around the text of an extension header."""
    header = {
        "messageId": "7F00000100002873000000000004F49C",
        "destination": "orderQueue",
        "bornTimestamp": row.born,
        "bornHost": "172.24.0.101:10035",
    }
    whole = {"version": "1.0.0", "header": header, "properties": {}, "extensionHeader": 0}
    text = json.dumps({"message": whole})
    return text.replace('"extensionHeader": 0', f'"extensionHeader": {row.data.decode()}').encode()


def test_the_file_is_whole() -> None:
    assert len(ROWS) == 112
    assert {row.verdict for row in ROWS} == {"valid", "invalid", "ambiguous"}
    assert all(decided_by(row.rule) for row in ROWS if row.verdict == "invalid")


def test_there_is_a_rule_for_every_clause_about_documents() -> None:
    assert RULES.keys() == TESTED.keys()


@each_row
def test_a_row_is_decided_by_the_clause_of_its_rule(row: GoldenDocument) -> None:
    found = verdicts(read(row.data, row.kind))
    assert of("fail", found) == (decided_by(row.rule) if row.verdict == "invalid" else set())
    if row.rule == AMBIGUOUS_DATA:
        assert row.verdict == "ambiguous"
        assert of("undecided", found) == decided_by(row.rule)


@check_each([row for row in HEADERS if row.id != NOT_IN_A_MESSAGE], lambda row: row.id)
def test_an_extension_header_is_decided_alike_in_a_message(row: GoldenDocument) -> None:
    found = verdicts(read(in_a_message(row), Kind.MESSAGE))
    assert of("fail", found) == (decided_by(row.rule) if row.verdict == "invalid" else set())
    if row.verdict == "ambiguous":
        assert of("undecided", found) == decided_by(row.rule)


@pytest.mark.parametrize("row", [r for r in ROWS if r.rule == "OM-007"], ids=lambda row: row.id)
def test_names_nearly_known_are_pointed_out(row: GoldenDocument) -> None:
    state = RULES["oms.document.known-name"](read(row.data, row.kind)).state
    quite_other = row.id == "OMX-108"
    assert (state == "unknown-name") is quite_other
    assert (state in ("near-name", "misplaced-name")) is not quite_other


@each_row
def test_the_schema_decides_what_a_parsed_value_shows(row: GoldenDocument) -> None:
    document = read(row.data, row.kind)
    hidden = any(fault.kind == DUPLICATE_NAME for fault in document.liberties)
    if document.refusal is not None or hidden:
        assert row.verdict == "invalid"
        return
    broken = bool(json_schema.check(SCHEMAS[row.kind], document.value))
    assert broken is (row.verdict == "invalid" or row.rule == AMBIGUOUS_DATA)


@pytest.mark.parametrize("row", [r for r in HEADERS if r.effect], ids=lambda row: row.id)
def test_a_conforming_server_makes_of_it_what_is_recorded(row: GoldenDocument) -> None:
    value = read(row.data, row.kind).value
    assert isinstance(value, dict)
    assert row.born is not None
    timing = effect.read_timing(value, row.born)
    told: dict[str, str | int | bool | None] = {
        "priority": effect.effective_priority(value),
        "deliver": "never-in-practice" if timing.due == effect.LATEST else "immediately",
        "deliverAt": timing.due,
        "expires": timing.expiry is not effect.Expiry.NEVER,
        "expiresAt": timing.expires,
        "partition": effect.read_whole_number(value.get("partition"), Type.INTEGER),
    }
    for name, due in row.effect.items():
        if due not in ("overwritten", "server decides"):
            assert told[name] == due
    if row.effect.get("deliver") == "immediately":
        assert timing.due == row.born


@pytest.mark.parametrize("name", ["types", "extension-header", "message"])
def test_the_schemas_are_schemas(name: str) -> None:
    schema = cast(dict[str, Any], json_schema.document(f"oms/{name}"))
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:wireproof:oms/{name}"


def test_the_table_of_attributes_is_the_schemas() -> None:
    schema = json_schema.document("oms/extension-header")
    assert isinstance(schema, dict)
    named = schema["properties"]
    assert isinstance(named, dict)
    types = {
        name: str(below["$ref"]).rpartition("/")[2] if isinstance(below, dict) else ""
        for name, below in named.items()
    }
    assert types == {name: kind.value for name, kind in ATTRIBUTES.items()}
