"""Recorded conversations of go-nsq with real servers: the story of each shows what was recorded.

The recorder read the bytes without our grammar; its words for each step stand in the recording.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from wireproof_kit.clients.events import Connected, Disconnected, Event, Malformed
from wireproof_kit.clients.story import BY_CLIENT, Story
from wireproof_kit.nsq.clients.decoder import NsqDecoder
from wireproof_kit.nsq.clients.events import (
    PUBLISHES,
    Commanded,
    Magic,
    Requested,
    Responded,
    Sent,
)
from wireproof_kit.wire.transcript import Step
from wireproof_spec.nsq.frame import FRAME_TYPE_ERROR, FRAME_TYPE_MESSAGE

RECORDING = Path(__file__).parents[1] / "golden" / "client-go-nsq.jsonl"
PEERS = {
    "lookupd:15401": "lookupd1",
    "lookupd:15402": "lookupd2",
    "nsqd:15410": "nsqd1",
    "nsqd:15420": "nsqd2",
}
KINDS = {
    ("client", "nsqd"): "send",
    ("server", "nsqd"): "receive",
    ("client", "lookupd"): "request",
    ("server", "lookupd"): "response",
}
CLOSED = "closed its side"
_CONNECTIONS = (Connected, Disconnected)
_NUMBERS, _ID, _TRACED = (slice(8), slice(8, 10)), slice(10, 26), 30
SHOWN = {
    "p-trace": "PUB_TRACE plain2 ",
    "p-ordered-trace": "PUB_TRACE ord1 ",
    "p-mpub": "MPUB plain2 ",
    "p-heartbeat": "NOP",
    "p-ext-ordered": "PUB_EXT ordext1 ",
    "p-ext-on-plain": "error E_EXT_NOT_SUPPORT ",
    "c-trace": "SUB_ADVANCED plain2 ",
    "c-ordered": "SUB_ORDERED ord1 ",
    "c-ordered-without-flag": "error E_SUB_ORDER_IS_MUST ",
    "c-ordered-on-plain": "SUB_ORDERED plain2 ",
}
"""What a scenario was recorded to show."""


@cache
def recordings() -> Mapping[str, list[dict[str, Any]]]:
    """Return the recorded steps of each scenario, by name."""
    rows = map(json.loads, RECORDING.read_text("utf-8").splitlines())
    return {row["scenario"]: row["steps"] for row in rows}


def steps(rows: list[dict[str, Any]]) -> Iterator[Step]:
    """Yield the recorded steps as those of a case."""
    opened: set[str] = set()
    closed: set[str] = set()
    for row in rows:
        conn = f"{PEERS[row['peer']]}.{row['conn']}"
        at_us = row["t_ms"] * 1000
        if conn not in opened:
            opened.add(conn)
            yield Step(at_us, conn, "open")
        if not row["note"].endswith(CLOSED):
            kind = KINDS[row["dir"], row["peer"].partition(":")[0]]
            yield Step(at_us, conn, kind, bytes.fromhex(row["hex"]))
        elif conn not in closed:
            closed.add(conn)
            yield Step(at_us, conn, "close", note=BY_CLIENT)


def describe(event: Event) -> str:
    """Return an event in the words of the recorder."""
    if isinstance(event, Requested):
        pairs = [f"{name}={each}" for name, values in event.query.items() for each in values]
        return f"HTTP {event.method} {'?'.join([event.path, *filter(None, ['&'.join(pairs)])])}"
    if isinstance(event, Responded):
        head, _, body = event.data.partition(b"\r\n\r\n")
        return f"HTTP {head.splitlines()[0].decode()} | {body[:60].decode()}"
    if isinstance(event, Magic):
        return "magic"
    return _command(event) if isinstance(event, Commanded) else _frame(event)


def _command(event: Commanded) -> str:
    words = [event.name, *event.words]
    if event.message_id:
        words.append(f"id={event.message_id.hex()}")
    body = event.body
    if event.name == "IDENTIFY":
        words.append(body.decode())
    if event.name == "PUB_TRACE":
        words.append(f"trace_id={int.from_bytes(body[:8], 'big')}")
        body = body[8:]
    if event.name == "PUB_EXT":
        length = int.from_bytes(body[:2], "big")
        words += [f"header_len={length}", f"header={body[2 : 2 + length].decode()}"]
        body = body[2 + length :]
    if event.name in PUBLISHES - {"MPUB"}:
        words.append(f"body={body!r}")
    return " ".join(words)


def _frame(event: Event) -> str:
    assert isinstance(event, Sent)
    if event.frame_type == FRAME_TYPE_MESSAGE:
        timestamp, attempts = (int.from_bytes(event.data[at], "big") for at in _NUMBERS)
        rest = len(event.data) - _ID.stop
        found = f"ts={timestamp} attempts={attempts} id={event.data[_ID].hex()}"
        return f"message {found} rest={rest} bytes"
    if event.frame_type == FRAME_TYPE_ERROR:
        return f"error {event.text}"
    if len(event.data) == _TRACED:
        ends = (2, 10, 18, 26, 30)
        numbers = [int.from_bytes(event.data[begin:end], "big") for begin, end in pairwise(ends)]
        return "response OK + internal_id={} trace_id={} offset={} size={}".format(*numbers)
    return f"response {event.text}"


@pytest.mark.parametrize("scenario", recordings())
def test_a_recorded_conversation_is_read_as_the_recorder_read_it(scenario: str) -> None:
    rows = recordings()[scenario]
    story = Story(NsqDecoder())
    for step in steps(rows):
        story.add(step)

    assert story.of(Malformed) == []
    told = [describe(each) for each in story.events if not isinstance(each, _CONNECTIONS)]
    notes = [row["note"].partition("] ")[2] for row in rows]
    recorded = [note.removesuffix(" HTTP/1.1") for note in notes if not note.endswith(CLOSED)]
    assert told == recorded
    assert any(each.startswith(SHOWN.get(scenario, "")) for each in told)


def test_the_scenarios_with_a_purpose_are_recorded() -> None:
    assert recordings().keys() >= SHOWN.keys()
