"""The JSON Schemas of Iggy against bodies recorded from a real server."""

import json
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator

import pytest

from wireproof_spec import strict_json
from wireproof_spec.iggy import golden, statuses
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_spec.iggy.golden import HttpScenario, HttpStep
from wireproof_spec.iggy.header_kinds import HEADER_KINDS
from wireproof_spec.iggy.names import MESSAGE_FIELDS
from wireproof_spec.json_schema import check
from wireproof_spec.strict_json import JsonValue
from wireproof_spec.wire_error import WireError

SCENARIOS = {scenario.name: scenario for scenario in golden.http()}
JSON = "application/json"

RESOURCES = [
    (r"GET /stats", "iggy/stats"),
    (r"GET /streams", "iggy/streams"),
    (r"GET /streams/[^/]+", "iggy/stream"),
    (r"GET /streams/[^/]+/topics", "iggy/topics"),
    (r"GET /streams/[^/]+/topics/[^/]+", "iggy/topic"),
    (r"GET .*/messages", "iggy/polled-messages"),
    (r"GET .*/consumer-offsets", "iggy/consumer-offset"),
    (r"GET .*/consumer-groups", "iggy/consumer-groups"),
    (r"GET .*/consumer-groups/[^/]+", "iggy/consumer-group"),
    (r"POST /streams", "iggy/create-stream"),
    (r"POST /streams/[^/]+/topics", "iggy/create-topic"),
    (r"POST .*/partitions", "iggy/partitions-request"),
    (r"POST .*/messages", "iggy/send-messages"),
    (r"PUT .*/consumer-offsets", "iggy/store-consumer-offset"),
    (r"POST .*/consumer-groups", "iggy/create-consumer-group"),
]


def exchanges(scenario: HttpScenario) -> Iterator[tuple[HttpStep, HttpStep]]:
    steps = iter(scenario.steps)
    return zip(steps, steps, strict=True)


def every_exchange() -> Iterator[tuple[str, HttpStep, HttpStep]]:
    for scenario in SCENARIOS.values():
        for request, answer in exchanges(scenario):
            yield scenario.name, request, answer


def schema_of(request: HttpStep) -> str | None:
    line = f"{request.method} {request.path.partition('?')[0]}"
    return next((name for pattern, name in RESOURCES if re.fullmatch(pattern, line)), None)


def value_of(body: str) -> JsonValue:
    read = strict_json.read(body.encode())
    assert read.faults == ()
    return read.value


def messages() -> Iterator[tuple[str, dict[str, JsonValue]]]:
    for name, request, answer in every_exchange():
        if schema_of(request) == "iggy/polled-messages" and answer.status == 200:
            value = value_of(answer.body)
            assert isinstance(value, list)
            for message in value:
                assert isinstance(message, dict)
                yield name, message


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_every_answer_follows_its_schema(scenario: HttpScenario) -> None:
    for request, answer in exchanges(scenario):
        assert (request.direction, answer.direction) == ("c2s", "s2c")
        if answer.headers.get("content-type") != JSON:
            continue
        schema = schema_of(request) if answer.status == 200 else "iggy/error-answer"
        assert schema is not None
        assert check(schema, value_of(answer.body)) == ()


def test_every_kind_of_answer_was_compared() -> None:
    compared = Counter(
        schema_of(request)
        for _, request, answer in every_exchange()
        if answer.status == 200 and answer.headers.get("content-type") == JSON
    )
    answers = {name for pattern, name in RESOURCES if pattern.startswith("GET")}
    assert answers - set(compared) == {"iggy/topics"}
    assert compared["iggy/polled-messages"] > 50


def test_a_request_that_is_done_follows_its_schema() -> None:
    done = 0
    for name, request, answer in every_exchange():
        if request.body and answer.status in (201, 204):
            schema = schema_of(request)
            assert schema is not None
            value = value_of(request.body)
            assert check(schema, value) == (), name
            done += 1
    assert done > 100


def test_a_request_refused_for_its_form_breaks_its_schema() -> None:
    broken = 0
    for name, request, answer in every_exchange():
        plain = answer.headers.get("content-type") != JSON
        if not (request.body and plain and answer.status in (400, 422)):
            continue
        schema = schema_of(request)
        assert schema is not None
        try:
            faults = check(schema, strict_json.read(request.body.encode()).value)
        except WireError:
            broken += 1
            continue
        assert faults != (), (name, request.body)
        broken += 1
    assert broken > 8


def test_errors_bear_the_name_and_the_status_of_their_code() -> None:
    compared = 0
    for name, _, answer in every_exchange():
        if answer.status < 400 or answer.headers.get("content-type") != JSON:
            continue
        error = json.loads(answer.body)
        assert statuses.STATUSES[error["id"]] == error["code"], name
        assert statuses.http_status(error["id"]) == answer.status, name
        compared += 1
    assert compared > 30


def test_messages_have_the_published_fields_in_their_order() -> None:
    orders = {tuple(message) for _, message in messages()}

    assert orders == {MESSAGE_FIELDS}


def test_checksums_are_those_of_the_payloads_unless_they_were_changed() -> None:
    changed = {"checksum-from-disk-wrong", "payload-from-disk-changed"}
    seen = 0
    for name, message in messages():
        payload = message["payload"]
        assert isinstance(payload, str)
        right = payload_checksum(b64decode(payload)) == message["checksum"]
        assert right == (name not in changed), name
        seen += 1
    assert seen > 60


def test_states_bear_their_names() -> None:
    states = {
        (name.removeprefix("state-from-disk-"), message["state"])
        for name, message in messages()
        if name.startswith("state-from-disk-")
    }
    assert states == {(name, name) for name in ("unavailable", "poisoned", "marked_for_deletion")}


def test_an_unknown_state_on_disk_is_refused() -> None:
    ((_, answer),) = exchanges(SCENARIOS["state-from-disk-unknown-code-2"])

    assert answer.status == 400
    assert json.loads(answer.body)["id"] == statuses.INVALID_COMMAND


def test_headers_are_null_or_empty_or_of_the_known_kinds() -> None:
    kinds: set[JsonValue] = set()
    forms: set[str] = set()
    for _, message in messages():
        headers = message["headers"]
        assert headers is None or isinstance(headers, dict)
        forms.add("null" if headers is None else "some" if headers else "empty")
        for header in (headers or {}).values():
            assert isinstance(header, dict)
            assert list(header) == ["kind", "value"]
            kinds.add(str(header["kind"]))
    assert forms == {"null", "empty", "some"}
    assert kinds == set(HEADER_KINDS.values())
