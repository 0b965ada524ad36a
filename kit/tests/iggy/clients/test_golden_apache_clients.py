"""What a real SDK sent to a server, judged by the law of clients, and read as its requests."""

import json
from collections.abc import Iterator
from importlib.resources import files

import pytest

from wireproof_kit.clients.events import Malformed
from wireproof_kit.iggy.clients.apache.law import RequestLaw
from wireproof_kit.iggy.clients.decoder import IggyDecoder
from wireproof_kit.iggy.clients.events import Asked
from wireproof_kit.ledger.outcomes import Finding

GOLDEN = files("wireproof_spec.iggy.golden").joinpath("iggy-apache-client.jsonl")
SCENARIOS = {
    row["scenario"]: row["steps"]
    for row in map(json.loads, GOLDEN.read_text("utf-8").splitlines())
}
OVER_TCP = [name for name in SCENARIOS if not name.startswith("http-")]
INSIDE = {"iggy.apache.client.login-first"}
"""What a recording that begins behind the login cannot show."""


def judged(steps: list[dict[str, str]]) -> Iterator[Finding | Malformed]:
    """Yield what the requests of a recording show."""
    decoder, laws = IggyDecoder(), dict[str, RequestLaw]()
    for step in steps:
        conn = f"tcp.{step.get('conn')}"
        law = laws.setdefault(conn, RequestLaw())
        data = bytes.fromhex(step.get("hex", ""))
        if step["dir"] == "s2c":
            law.see_answer(data)
        elif step["dir"] == "c2s":
            for event in decoder.decode_received(0.0, conn, data):
                if isinstance(event, Malformed):
                    yield event
                elif isinstance(event, Asked) and event.request is not None:
                    yield from law.see_request(event.request)


@pytest.mark.parametrize("name", OVER_TCP)
def test_a_real_sdk_breaks_nothing(name: str) -> None:
    found = list(judged(SCENARIOS[name]))
    assert [each for each in found if isinstance(each, Malformed)] == []
    broken = [each for each in found if isinstance(each, Finding) and each.value]
    assert [each for each in broken if each.clause not in INSIDE] == []


def test_the_recordings_show_requests_of_every_sort() -> None:
    clauses = {
        each.clause.rpartition(".")[2]
        for name in OVER_TCP
        for each in judged(SCENARIOS[name])
        if isinstance(each, Finding)
    }
    assert {"session", "numbers", "checksums", "deltas", "fields", "version", "stamp"} <= clauses
