"""What passes a client unaltered: bodies with any bytes, and headers with any strings."""

import json
from dataclasses import replace

import pytest

from wireproof_kit.clients.observe import any_of, failures, if_came, list_told, unless
from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.bodies import messages_of
from wireproof_kit.nsq.clients.client import Client
from wireproof_kit.nsq.clients.driver_requests import PRODUCE
from wireproof_kit.nsq.clients.node import header_of
from wireproof_kit.nsq.clients.script import NODE_1, NODE_2, Delivery, Script
from wireproof_kit.nsq.observe.observations import find_difference
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_spec.driver.lines import Fields, in_base64
from wireproof_spec.nsq import names
from wireproof_spec.nsq.message import Extend
from wireproof_spec.strict_json import JsonValue
from wireproof_suites.nsq.client.client_case import client_case
from wireproof_suites.nsq.client.seen import Question, commands, observe_body, publishes

UNALTERED = "smart.client-publish.unaltered"
TWO = {0: NODE_1, 1: NODE_2}
BODIES = {
    "bytes": bytes(range(256)),
    "blank": b' \t\r\n\\"a\r\nb"\0c\n ',
    "long": bytes(range(251)) * 280,
}
"""Bodies that a client alters which takes them for text, for a line, or for less than 64 KiB."""
HEADERS: dict[str, dict[str, JsonValue]] = {
    "several": {"A-b_1#c": " a ", "b": "", "c": "3", "D": "null", "e": "e", "f": "f", "g": "g"},
    "escaped": {
        "quote": 'a "b"',
        "backslash": "\\n\\u0041",
        "line": "a\nb\tc\r",
        "control": "\x01\x7f",
    },
    "wide": {"accent": "é", "han": "漢字", "clef": "𝄞", "right-to-left": "\u200f"},
    "long": {"k": "v" * 300, "l": "é" * 9000},
}
TAG, TRACE_ID = "tagA", str(2**63 + 5)
TOGETHER: Fields = {"ext": {"k": "v", "other": "a b"}, "tag": TAG, "trace_id": TRACE_ID}
DELIVERIES = 4


@client_case("publish/body", UNALTERED, "producer", "driver")
@pytest.mark.parametrize("kind", BODIES)
def test_body(client: Client, kind: str) -> Observation:
    """A producer publishes a body of any bytes as its user gives it."""
    return _publish_body(client, Script("producer"), kind)


@client_case("publish/body/traced", UNALTERED, "producer", "trace", "driver")
@pytest.mark.parametrize("kind", BODIES)
def test_traced_body(client: Client, kind: str) -> Observation:
    """With tracing on, a producer publishes its user's body unaltered, or reports an error."""
    script = Script("producer", message={"trace_id": "7"}, settings={"trace": "1"})
    return _publish_body(client, script, kind)


@client_case("publish/body/ext", UNALTERED, "producer", "ext-producer", "driver")
@pytest.mark.parametrize("kind", BODIES)
def test_body_behind_header(client: Client, kind: str) -> Observation:
    """A producer publishes a body of any bytes behind a header as its user gives it."""
    script = Script("producer", extend=True, message={"ext": {"k": "v"}})
    return _publish_body(client, script, kind)


def _publish_body(client: Client, script: Script, kind: str) -> Observation:
    due = BODIES[kind]
    message = {**script.message, "body": in_base64(due)}
    story = client.play(replace(script, publishes=1, message=message), _is_published)
    sent = next(iter(publishes(story)), None)
    if sent is None:
        return unless(story, "refused", seen=bool(failures(story, PRODUCE)))
    found = b"".join(messages_of(sent))
    difference = None if found == due else find_difference("body", expected=due, found=found)
    return if_came(story, "other" if difference else "as-given", came=True, difference=difference)


def _is_published(story: Story) -> bool:
    return bool(publishes(story) or failures(story, PRODUCE))


@client_case(
    "ext/publish/headers", "ext.client-header.publish", "producer", "ext-producer", "driver"
)
@pytest.mark.parametrize("kind", HEADERS)
def test_headers(client: Client, kind: str) -> Observation:
    """A producer sends a header of many names, of any strings, or of thousands of bytes."""
    return _publish_header(client, {"ext": HEADERS[kind]}, HEADERS[kind])


@client_case(
    "ext/publish/together", "ext.client-header.publish", "producer", "ext-producer", "driver"
)
def test_together(client: Client) -> Observation:
    """A producer sends a message's header, tag and trace id in one header."""
    own = {names.CLIENT_DISPATCH_TAG: TAG, names.TRACE_ID: TRACE_ID}
    return _publish_header(client, TOGETHER, {"k": "v", "other": "a b", **own})


def _publish_header(client: Client, message: Fields, due: dict[str, JsonValue]) -> Observation:
    script = Script("producer", extend=True, publishes=1, message=message)
    story = client.play(script, _is_published)
    sent = next(iter(commands(story, "PUB_EXT")), None)
    if sent is None:
        return unless(story, "refused", seen=bool(failures(story, PRODUCE)))
    found = header_of(sent)
    whole = found == due and messages_of(sent) == (b"wireproof-000000",)
    difference = Difference("header", 4, str(due)[:200], str(found)[:200])
    return if_came(
        story,
        "as-given" if whole else "other",
        came=True,
        difference=None if whole else difference,
    )


@client_case("consume/body", "smart.client.handler", "consumer", "driver")
@pytest.mark.parametrize("kind", BODIES)
def test_consumed_body(client: Client, kind: str) -> Observation:
    """A consumer gives its handler a body of any bytes as the node delivered it."""
    script = Script("consumer", deliveries=(Delivery(BODIES[kind]),))
    story = client.play(script, lambda s: bool(list_told(s, "message")))
    return observe_body(story, BODIES[kind], otherwise="other")


@client_case("ext/decode/headers", "ext.client.decode", "consumer", "ext-consumer", "driver")
@pytest.mark.parametrize("kind", HEADERS)
def test_decode_headers(client: Client, kind: str) -> Observation:
    """A consumer gives its handler a header of many names, of any strings, or of any length."""
    script = Script("consumer", extend=True, deliveries=(_delivery(HEADERS[kind]),))
    return _decode(client, script, HEADERS[kind], 1)


@client_case(
    "ext/decode/each", "ext.client.decode", "consumer", "ext-consumer", "partition", "driver"
)
def test_decode_each(client: Client) -> Observation:
    """A consumer gives its handler the header of a message of each partition, again each time."""
    header: dict[str, JsonValue] = {"k": "v", "other": "a b"}
    deliveries = tuple(_delivery(header, number) for number in TWO)
    script = Script("consumer", extend=True, leaders=TWO, deliveries=deliveries, handler="fail")
    return _decode(client, script, header, DELIVERIES)


def _delivery(header: dict[str, JsonValue], partition: int = 0) -> Delivery:
    data = json.dumps(header, ensure_ascii=False).encode()
    return Delivery(b"body", partition=partition, extend=Extend(names.EXT_VERSION_JSON, data))


def _decode(client: Client, script: Script, due: dict[str, JsonValue], count: int) -> Observation:
    def has_other(story: Story) -> bool:
        return any(each.event.fields.get("ext") != due for each in list_told(story, "message"))

    def has_all(story: Story) -> bool:
        return len(list_told(story, "message")) >= count

    ends: dict[str, Question] = {"other-header": has_other, "header-told": has_all}
    story = client.play(script, any_of(*ends.values()))
    told = list_told(story, "message")
    found = [each.event.fields.get("ext") for each in told]
    if has_other(story):
        wrong = next(each for each in found if each != due)
        return observed(
            "other-header", difference=Difference("header", None, str(due)[:200], str(wrong)[:200])
        )
    return if_came(story, "header-told", came=has_all(story))
