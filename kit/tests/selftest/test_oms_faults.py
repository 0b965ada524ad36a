"""Faulty documents turn exactly their clause red; legal differences turn nothing red.

Every clause that is more than observed has three faults of different kinds or more. All documents
lie in one folder and go through session, engine and judge as in any run.
"""

import json
import operator
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from check_each import check_each
from oms_documents import (
    ALL_ATTRIBUTES,
    BORN,
    EXT,
    HEADER,
    MESSAGE,
    again,
    changed,
    ext,
    raw,
    text,
    without,
)

from wireproof_kit.runner.collect import collect
from wireproof_kit.runner.engine import Engine
from wireproof_kit.runner.request import RunOptions
from wireproof_kit.runner.run import Run, RunPlan
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.record import CaseRecord

D, X, M = "oms.document.", "oms.extension-header.", "oms.message."
LONG, INTEGER = 2**63, 2**31

FAULTS: dict[str, dict[str, bytes]] = {
    D + "unique-name": {
        "attribute": again(EXT + "priority", '"priority": 9'),
        "in-other-spelling": again(EXT + "priority", r'"\u0070riority": 1'),
        "part": again("message/version", '"version": "1.0.0"'),
        "property": again("message/properties/service", '"service": "helloService"'),
    },
    D + "printable": {
        "nul": text(changed(EXT + "messageKey", "a\x00b")),
        "line-feed": text(changed(HEADER + "destination", "orders\n")),
        "in-a-name": text(changed("message/properties/a\x1b", "v")),
        "c1": text(changed(EXT + "x-vendor", "a\x85")),
        "line-separator": text(changed("message/version", "1\u20280")),
        "lone-surrogate": raw(EXT + "traceId", r'"a\ud800"'),
        "raw-control-byte": raw(EXT + "traceId", '"a\tb"'),
        "bad-utf8": raw(EXT + "traceId", '"a\udcff"'),
    },
    X + "dictionary": {
        "list": text(changed("message/extensionHeader", [{"priority": 1}])),
        "string": text(changed("message/extensionHeader", "priority=1")),
        "null": text(changed("message/extensionHeader", None)),
        "number": text(changed("message/extensionHeader", 1)),
    },
    X + "value": {
        "null": text(changed(EXT + "correlationId", None)),
        "null-for-a-number": text(changed(EXT + "expireTime", None)),
        "boolean-of-a-vendor": text(changed(EXT + "x-flag", False)),
        "list-of-a-vendor": text(changed(EXT + "x-list", [1])),
        "dictionary": text(changed(EXT + "x-map", {})),
        "not-a-number-of-a-vendor": raw(EXT + "x-number", "NaN"),
    },
    X + "number": {
        "string": text(changed(EXT + "storeTimestamp", str(BORN))),
        "boolean": text(changed(EXT + "delayTime", True)),
        "list": text(changed(EXT + "priority", [1])),
        "dictionary": text(changed(EXT + "expireTime", {})),
        "fraction": text(changed(EXT + "delayTime", 1.5)),
        "not-a-number": raw(EXT + "delayTime", "NaN"),
        "infinite": raw(EXT + "expireTime", "-Infinity"),
        "above-long": text(changed(EXT + "storeTimestamp", LONG)),
        "below-long": text(changed(EXT + "expireTime", -LONG - 1)),
        "above-integer": text(changed(EXT + "partition", INTEGER)),
        "below-integer": text(changed(EXT + "priority", -INTEGER - 1)),
        "far-above": raw(EXT + "deliveryCount", "1e400"),
        "beyond-any-number": raw(EXT + "priority", "1e9999999999999999999"),
    },
    X + "text": {
        "number": text(changed(EXT + "storeHost", 12345)),
        "zero": text(changed(EXT + "correlationId", 0)),
        "fraction": text(changed(EXT + "messageKey", 0.5)),
        "boolean": text(changed(EXT + "traceId", True)),
        "list": text(changed(EXT + "messageKey", ["a", "b"])),
        "dictionary": text(changed(EXT + "correlationId", {"id": "a"})),
        "not-a-number": raw(EXT + "storeHost", "NaN"),
        "trace-id-as-number": text(changed(EXT + "traceId", 7)),
        "transaction-id-as-number": text(changed(EXT + "transactionId", 7)),
    },
    X + "delivery-count": {
        "minus-one": text(changed(EXT + "deliveryCount", -1)),
        "lowest": text(changed(EXT + "deliveryCount", -INTEGER)),
        "with-a-fraction-of-zero": raw(EXT + "deliveryCount", "-2.0"),
    },
    M + "wrapper": {
        "cut": text(MESSAGE)[:-1],
        "comma-too-many": text(MESSAGE)[:-1] + b",}",
        "two": text(MESSAGE) * 2,
        "nothing": b"",
        "no-text": b"\x89PNG\r\n\x1a\n\x00",
        "too-deep": b"[" * 100_000,
        "list": text([MESSAGE]),
        "parts-alone": text(MESSAGE["message"]),
        "string": text({"message": "hello"}),
        "null": text({"message": None}),
    },
    M + "version": {
        "missing": text(without("message/version")),
        "number": text(changed("message/version", 1)),
        "null": text(changed("message/version", None)),
    },
    M + "header": {
        "missing": text(without("message/header")),
        "list": text(changed("message/header", [])),
        "null": text(changed("message/header", None)),
    },
    M + "properties": {
        "missing": text(without("message/properties")),
        "list": text(changed("message/properties", [])),
        "string": text(changed("message/properties", "a=b")),
    },
    M + "value": {
        "null-in-the-header": text(changed(HEADER + "x-vendor", None)),
        "boolean-in-the-header": text(changed(HEADER + "durable", True)),
        "null-in-the-properties": text(changed("message/properties/a", None)),
        "dictionary-in-the-properties": text(changed("message/properties/a", {"b": "c"})),
    },
    M + "data": {
        "number": text(changed("message/data", 1)),
        "null": text(changed("message/data", None)),
        "list": text(changed("message/data", [104, 101])),
        "dictionary": text(changed("message/data", {"a": 1})),
    },
    M + "message-id": {
        "missing": text(without(HEADER + "messageId")),
        "empty": text(changed(HEADER + "messageId", "")),
        "number": text(changed(HEADER + "messageId", 7)),
        "null": text(changed(HEADER + "messageId", None)),
    },
    M + "born-timestamp": {
        "missing": text(without(HEADER + "bornTimestamp")),
        "string": text(changed(HEADER + "bornTimestamp", str(BORN))),
        "fraction": text(changed(HEADER + "bornTimestamp", BORN + 0.5)),
        "above-long": text(changed(HEADER + "bornTimestamp", LONG)),
    },
    M + "born-host": {
        "missing": text(without(HEADER + "bornHost")),
        "empty": text(changed(HEADER + "bornHost", "")),
        "number": text(changed(HEADER + "bornHost", 127)),
    },
    M + "qos": {
        "three": text(changed(HEADER + "qos", 3)),
        "negative": text(changed(HEADER + "qos", -1)),
        "string": text(changed(HEADER + "qos", "1")),
        "fraction": text(changed(HEADER + "qos", 1.5)),
        "null": text(changed(HEADER + "qos", None)),
    },
    M + "destination": {
        "missing": text(without(HEADER + "destination")),
        "number": text(changed(HEADER + "destination", 1)),
        "list": text(changed(HEADER + "destination", ["orderQueue"])),
    },
    M + "compression": {
        "number": text(changed(HEADER + "compression", 8)),
        "null": text(changed(HEADER + "compression", None)),
        "boolean": text(changed(HEADER + "compression", False)),
    },
}

UNDECIDED: dict[str, dict[str, bytes]] = {
    D + "known-name": {
        "other-letters": text(ext(DelayTime=1000)),
        "as-a-constant": text(ext(DELAY_TIME=1000)),
        "letter-lost": text(ext(partiton=1)),
        "born-time-stamp": text(changed(HEADER + "bornTimeStamp", BORN)),
        "part": text(changed("message/extensionheader", "")),
        "in-the-other-header": text(changed(HEADER + "priority", 3)),
        "core-name-in-the-extension": text(ext(bornTimestamp=BORN)),
    },
    X + "expiry": {
        "at-birth": text(ext(expireTime=BORN)),
        "before-it-is-due": text(ext(delayTime=30000, expireTime=BORN + 2176)),
        "when-it-is-due": text(ext(delayTime=5000, expireTime=BORN + 5000)),
        "due-beyond-all-time": text(ext(delayTime=LONG - 1, expireTime=LONG - 1)),
    },
    M + "data": {
        "sample": text(changed("message/data", {})),
        "plain-text": text(changed("message/data", "hello, world")),
        "base64-cut": text(changed("message/data", "aGVsbG8")),
    },
}

ESCAPED = "".join(f"\\u{ord(sign):04x}" for sign in "priority")


def reordered(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return {name: reordered(below) for name, below in reversed(value.items())}


VARIANTS: dict[str, bytes] = {
    "as-it-is": text(MESSAGE),
    "other-order": text(reordered(MESSAGE)),
    "no-blanks": json.dumps(MESSAGE, separators=(",", ":")).encode(),
    "indented": json.dumps(MESSAGE, indent=3).encode(),
    "carriage-returns": json.dumps(MESSAGE, indent=1).replace("\n", "\r\n\t").encode(),
    "blanks-around": b"\n \t" + text(MESSAGE) + b"\r\n\n",
    "escaped-names": text(MESSAGE).replace(b"priority", ESCAPED.encode()),
    "escaped-values": text(MESSAGE).replace(b"gzip", rb"\u0067z\u0069p").replace(b":", rb":", 1),
    "escaped-solidus": raw(EXT + "storeHost", r'"\/127.0.0.1:19886"'),
    "byte-order-mark": b"\xef\xbb\xbf" + text(MESSAGE),
    "not-ascii": text(changed(EXT + "messageKey", "订单-42 é")),
    "not-ascii-unescaped": json.dumps(ext(messageKey="订单 é"), ensure_ascii=False).encode(),
    "outside-the-basic-plane": raw(EXT + "traceId", r'"\ud83d\ude00"'),
    "no-break-space": text(changed(EXT + "correlationId", "a\u00a0b")),
    "zero-width-joiner": text(changed(EXT + "correlationId", "a\u200db")),
    "no-extension-header": text(without("message/extensionHeader")),
    "no-attribute": text(ext()),
    "no-data": text(without("message/data")),
    "empty-data": text(changed("message/data", "")),
    "no-qos": text(without(HEADER + "qos")),
    "no-compression": text(without(HEADER + "compression")),
    "empty-properties": text(changed("message/properties", {})),
    "empty-strings": text(ext(messageKey="", traceId="", correlationId="")),
    "empty-destination": text(changed(HEADER + "destination", "")),
    "names-of-a-vendor": text(ext(**{"x-vendor": "a", "x-number": 1.5, "offset": 3})),
    "header-of-a-vendor": text(changed(HEADER + "x-vendor", 2)),
    "part-of-a-vendor": text(changed("message/x-vendor", {"a": [None, True]})),
    "beside-the-message": text({**MESSAGE, "received": None}),
    "whole-number-with-a-fraction": raw(EXT + "delayTime", "1000.0"),
    "whole-number-with-an-exponent": raw(EXT + "delayTime", "1e3"),
    "minus-zero": raw(EXT + "deliveryCount", "-0"),
    "beyond-2-to-the-53": text(changed(EXT + "storeTimestamp", 2**53 + 1)),
    "highest-long": text(ext(storeTimestamp=LONG - 1, delayTime=LONG - 1)),
    "lowest-long": text(ext(storeTimestamp=-LONG, delayTime=-LONG, expireTime=-LONG)),
    "highest-integer": text(ext(deliveryCount=INTEGER - 1, partition=INTEGER - 1)),
    "priority-too-low": text(ext(priority=0)),
    "priority-too-high": text(ext(priority=11)),
    "priority-lowest-integer": text(ext(priority=-INTEGER)),
    "partition-minus-one": text(ext(partition=-1)),
    "expires-at-the-epoch": text(ext(expireTime=0)),
    "expires-a-moment-after-birth": text(ext(expireTime=BORN + 1)),
    "stored-before-birth": text(ext(storeTimestamp=BORN - 1)),
} | {f"{name}-alone": text(ext(**{name: value})) for name, value in ALL_ATTRIBUTES.items()}

Named = tuple[str, str, bytes]


def named(table: Mapping[str, Mapping[str, bytes]]) -> list[Named]:
    """Return clause, name and text of each document of a table."""
    return [
        (clause, f"{clause.removeprefix('oms.')}.{name}", data)
        for clause, documents in table.items()
        for name, data in documents.items()
    ]


Verdicts = dict[str, dict[str, CaseRecord]]


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Verdicts:
    """What a run makes of all documents: document → clause → record."""
    folder = tmp_path_factory.mktemp("documents")
    variants = ((None, f"variant.{name}", data) for name, data in VARIANTS.items())
    documents = [*named(FAULTS), *named(UNDECIDED), *variants]
    for _, name, data in documents:
        (folder / f"{name}.json").write_bytes(data)
    return judged(folder, [name for _, name, _ in documents])


def judged(folder: Path, names: Iterable[str]) -> Verdicts:
    cases = [case for case in collect("oms") if case.clause.id in OF_DOCUMENTS]
    run = Run.open(RunPlan(url=f"oms+file:{folder}"))
    engine = Engine(run.session, run.bench, RunOptions(repeats=2))
    found: Verdicts = {}
    for name in names:
        bound = {"document_name": f"{name}.json"}
        own = [replace(case, parameters=bound, arguments=("capture",)) for case in cases]
        records = [engine.run(case) for case in own]
        found[name] = {record.clause: record for record in records}
    run.close()
    return found


def of(kind: str, records: Mapping[str, CaseRecord]) -> set[str]:
    return {clause for clause, record in records.items() if record.verdict == kind}


NAME = operator.itemgetter(1)
OF_DOCUMENTS = {each.id for each in load_catalogue("oms").clauses() if each.role == "document"}


@pytest.mark.slow
@check_each(named(FAULTS), NAME)
def test_a_fault_turns_its_clause_red_and_no_other(fault: Named, verdicts: Verdicts) -> None:
    clause, name, data = fault
    assert of("fail", verdicts[name]) == {clause}
    assert not of("error", verdicts[name])
    record = verdicts[name][clause]
    assert record.difference is not None
    assert record.difference.offset is not None
    assert record.difference.offset <= len(data)
    assert f"{name}.json line " in record.note
    assert "expected " in record.note


@pytest.mark.slow
@check_each(named(UNDECIDED), NAME)
def test_what_the_text_leaves_open_decides_nothing_and_is_pointed_out(
    document: Named, verdicts: Verdicts
) -> None:
    clause, name, _ = document
    assert not of("fail", verdicts[name])
    assert of("inconclusive", verdicts[name]) == {clause}
    assert "expected " in verdicts[name][clause].note


@pytest.mark.slow
@check_each(VARIANTS)
def test_a_legal_difference_turns_nothing_red(name: str, verdicts: Verdicts) -> None:
    records = verdicts[f"variant.{name}"]
    assert {record.verdict for record in records.values()} == {"pass"}, of("fail", records)


def test_binding_clauses_of_documents_have_three_faults_and_others_an_open_document() -> None:
    clauses = load_catalogue("oms").clauses()
    tested = [each for each in clauses if each.status == "tested" and each.role == "document"]
    observed = {clause.id for clause in tested if clause.level == "observed"}
    assert FAULTS.keys() == {clause.id for clause in tested} - observed
    assert min(map(len, FAULTS.values())) >= 3
    assert observed <= UNDECIDED.keys()
