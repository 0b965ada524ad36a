"""Golden documents sent to the broker: it refuses what is invalid and does what is described."""

from collections.abc import Mapping
from typing import cast

import pytest
from oms_bench import CLIENT, FIRST_MS, Bench, attributes, part

from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.refusal import BAD_PARAMETER, BAD_REQUEST, Refusal
from wireproof_spec import strict_json
from wireproof_spec.oms.document import Document
from wireproof_spec.oms.golden import GoldenDocument, documents
from wireproof_spec.oms.names import Kind
from wireproof_spec.wire_error import WireError

WRAPPED = (
    b'{"message": {"version": "1.0.0", "header": {"destination": "orders"}, '
    b'"properties": {}, "extensionHeader": %b}}'
)
LEFT_TO_CONSUMERS = {"OM-051", "OM-101", "OM-110", "OM-111", "OM-112"}
"""Rules on what the server sets itself, or gives back as it is."""
PARTITIONS = 4
LONG_AFTER_MS = 1 << 40


def read(golden: GoldenDocument) -> Document | None:
    """Return a golden document as a message; None if it is no JSON."""
    data = golden.data if golden.kind is Kind.MESSAGE else WRAPPED % golden.data
    try:
        strict = strict_json.read(data)
    except WireError:
        return None
    return Document(data, Kind.MESSAGE, strict.value, strict.faults)


READABLE = [(each, message) for each in documents() if (message := read(each)) is not None]
REFUSED = [
    (golden, message)
    for golden, message in READABLE
    if golden.verdict == "invalid" and golden.rule not in LEFT_TO_CONSUMERS
]
TAKEN = [(golden, message) for golden, message in READABLE if golden.verdict == "valid"]


def ids(rows: list[tuple[GoldenDocument, Document]]) -> list[str]:
    return [golden.id for golden, _ in rows]


def send(golden: GoldenDocument, message: Document) -> tuple[Bench, str]:
    bench = Bench(partitions=PARTITIONS)
    name = cast(str, cast(Mapping[str, object], message.header)["destination"])
    bench.broker.create_destination(name, PARTITIONS)
    bench.now = golden.born or FIRST_MS
    bench.broker.send(message, client=CLIENT, now=bench.now)
    return bench, name


def test_only_one_golden_document_is_no_json() -> None:
    assert len(documents()) - len(READABLE) == 1
    assert len(REFUSED) > 40


@pytest.mark.parametrize(("golden", "message"), REFUSED, ids=ids(REFUSED))
def test_invalid_documents_are_refused(golden: GoldenDocument, message: Document) -> None:
    bench = Bench(partitions=PARTITIONS)
    bench.broker.create_destination("orderQueue", PARTITIONS)
    with pytest.raises(Refusal) as refused:
        bench.broker.send(message, client=CLIENT, now=bench.now)
    assert refused.value.code == BAD_REQUEST


def wants_a_partition_that_is_not_there(message: Document) -> bool:
    held = cast(Mapping[str, object], message.extension_header or {})
    wanted = held.get("partition", 0) if isinstance(held, Mapping) else 0
    return not (isinstance(wanted, int) and 0 <= wanted < PARTITIONS)


@pytest.mark.parametrize(("golden", "message"), TAKEN, ids=ids(TAKEN))
def test_valid_documents_have_the_effect_described(
    golden: GoldenDocument, message: Document
) -> None:
    if wants_a_partition_that_is_not_there(message):
        with pytest.raises(Refusal) as refused:
            send(golden, message)
        assert refused.value.code == BAD_PARAMETER
        return
    bench, name = send(golden, message)
    effect = {"deliver": "immediately", **golden.effect}
    due = due_of(golden, message, effect)
    assert due == bench.now or delivered(bench, name, due - 1, "early") is None
    told = delivered(bench, name, due, "prompt")
    assert told is not None
    assert attributes(told)["priority"] == effect.get("priority", attributes(told)["priority"])
    assert part(told, "header")["qos"] == effect.get("qos", part(told, "header")["qos"])
    assert attributes(told)["storeTimestamp"] == bench.now
    assert attributes(told)["storeHost"] != "evil:1"
    if "expiresAt" in effect:
        assert delivered(bench, name, cast(int, effect["expiresAt"]), "late") is None
    elif effect.get("expires") is False:
        assert delivered(bench, name, due + LONG_AFTER_MS, "long after") is not None


def due_of(golden: GoldenDocument, message: Document, effect: Mapping[str, object]) -> int:
    """Return the due time that a golden document tells of."""
    if effect["deliver"] == "never-in-practice":
        return 2**63 - 1
    held = cast(Mapping[str, object], message.extension_header or {})
    born = golden.born or FIRST_MS
    if "deliverAt" in effect:
        return cast(int, effect["deliverAt"])
    delay = held.get("delayTime", 0) if isinstance(held, Mapping) else 0
    return born + max(int(cast(int, delay)), 0)


def delivered(bench: Bench, name: str, when: int, group: str) -> JsonObject | None:
    found = bench.broker.receive(name, group, most=10, now=when)
    return found[0].document if found else None
