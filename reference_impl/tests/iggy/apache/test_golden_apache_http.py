"""What a real server of generation `apache` was recorded to do over HTTP, the reference does too.

Plain texts that describe malformed JSON are not compared: their words are those of a JSON library.
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from apache_bench import Bench
from iggy_bench import Response, exchange

from wireproof_reference_impl.iggy.apache.http import routes
from wireproof_spec.iggy import golden
from wireproof_spec.iggy.golden import HttpScenario, HttpStep

LOGIN = {"username": "iggy", "password": "iggy"}
TIMES = ("created_at", "timestamp", "origin_timestamp", "expiry", "token")
WITH_RANDOM_ID = "send-no-id"


def ask(bench: Bench, method: str, path: str, body: str, headers: Mapping[str, str]) -> Response:
    connection = routes.connection(bench.node)
    data = body.encode()
    return exchange(connection, method, path, data, headers, now_us=bench.tick())


def masked(value: Any, *also: str) -> Any:
    """Return a JSON value without what varies from run to run."""
    if isinstance(value, dict):
        hidden = {*TIMES, *also}
        return {key: 0 if key in hidden else masked(part, *also) for key, part in value.items()}
    if isinstance(value, list):
        return [masked(part, *also) for part in value]
    return value


@pytest.mark.parametrize("scenario", golden.apache_http(), ids=lambda each: each.name)
def test_http_scenario_is_repeated(scenario: HttpScenario) -> None:
    bench = Bench()
    answer = ask(
        bench, "POST", "/users/login", json.dumps(LOGIN), {"Content-Type": "application/json"}
    )
    token = json.loads(answer.body)["access_token"]["token"]
    found: Response | None = None
    for step in scenario.steps:
        if step.direction == "c2s":
            headers = {key: value.replace("TOKEN", token) for key, value in step.headers.items()}
            found = ask(bench, step.method, step.path, step.body, headers)
            continue
        assert found is not None
        check(found, step, scenario.name)


def check(found: Response, step: HttpStep, scenario: str) -> None:
    assert found.status == step.status, found.body
    assert found.headers.get("content-type") == step.headers.get("content-type")
    assert found.headers.get("iggy-durability") == step.headers.get("iggy-durability")
    if step.headers.get("content-type") == "application/json":
        also = ("id", "checksum") if scenario == WITH_RANDOM_ID else ()
        assert masked(json.loads(found.body), *also) == masked(json.loads(step.body), *also)
