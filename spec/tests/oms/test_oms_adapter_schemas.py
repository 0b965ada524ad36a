"""The JSON Schemas of the adapter protocol take what the page shows, and nothing malformed."""

import pytest

from wireproof_spec.json_schema import check
from wireproof_spec.strict_json import JsonValue

MESSAGE: JsonValue = {"message": {"header": {"destination": "q"}, "extensionHeader": {}}}
RECEIVE: dict[str, JsonValue] = {
    "id": 4,
    "op": "receive",
    "destination": "q",
    "group": "g",
    "max": 1,
    "timeout_ms": 5000,
}

GOOD: list[tuple[str, JsonValue]] = [
    ("request", {"id": 1, "op": "open", "version": 1, "settings": {}}),
    ("request", {"id": 2, "op": "create_destination", "destination": "q", "partitions": 4}),
    ("request", {"id": 3, "op": "send", "message": MESSAGE, "hold_ms": 500}),
    ("request", RECEIVE),
    ("request", {"id": 5, "op": "clock"}),
    ("request", {"id": 6, "op": "wireproof-no-such-operation"}),
    ("sent", {"message": MESSAGE}),
    ("received", {"messages": []}),
    ("received", {"messages": [{"receipt": "1", "message": MESSAGE, "partition": 3}]}),
    ("clock", {"now_ms": 1533780827824}),
]
BAD: list[tuple[str, JsonValue]] = [
    ("request", {"id": 1, "op": "open"}),
    ("request", {"id": 2, "op": "create_destination"}),
    ("request", {"id": 3, "op": "send", "message": {"header": {}}}),
    ("request", {**RECEIVE, "max": 0}),
    ("sent", {}),
    ("sent", {"message": {"message": []}}),
    ("received", {"messages": {}}),
    ("received", {"messages": [{"message": MESSAGE}]}),
    ("received", {"messages": [{"receipt": 1, "message": MESSAGE}]}),
    ("clock", {"now_ms": "1533780827824"}),
    ("clock", {"now_ms": -1}),
]


@pytest.mark.parametrize(("name", "value"), GOOD)
def test_what_the_protocol_allows_fits(name: str, value: JsonValue) -> None:
    assert check(f"oms/adapter-{name}", value) == ()


@pytest.mark.parametrize(("name", "value"), BAD)
def test_what_the_protocol_does_not_allow_is_found(name: str, value: JsonValue) -> None:
    assert check(f"oms/adapter-{name}", value)
