"""Ext topics: identification, headers sent and read, tags, and headers that are broken."""

import json
import re
from dataclasses import replace

import pytest

from wireproof_kit.clients.observe import failures, if_came, list_told, results, shown, unless
from wireproof_kit.clients.pieces import LENGTHS
from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.bodies import messages_of
from wireproof_kit.nsq.clients.client import Client
from wireproof_kit.nsq.clients.events import Sent
from wireproof_kit.nsq.clients.identity import list_identities
from wireproof_kit.nsq.clients.node import header_of
from wireproof_kit.nsq.clients.script import (
    NODE_1,
    NODE_2,
    Delivery,
    Refuse,
    Reply,
    Script,
    always,
)
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_spec import json_schema, strict_json
from wireproof_spec.decoding import encode
from wireproof_spec.driver.lines import Fields, from_base64
from wireproof_spec.nsq import error_codes, names
from wireproof_spec.nsq.frame import FRAME_TYPE_MESSAGE
from wireproof_spec.nsq.message import Extend
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE
from wireproof_spec.strict_json import JsonValue
from wireproof_spec.wire_error import WireError
from wireproof_suites.nsq.client.client_case import client_case
from wireproof_suites.nsq.client.seen import (
    Question,
    commands,
    observe_body,
    play,
    subscriptions,
)
from wireproof_suites.nsq.client.test_order import HEAD, survival
from wireproof_suites.nsq.client.test_trace import ANSWER

HEADER: dict[str, JsonValue] = {"k": "v", "other": "a b"}
TAG = "tagA"
EXTENDS: dict[str, Extend] = {
    "tag": Extend(names.EXT_VERSION_TAG, TAG.encode()),
    "json": Extend(names.EXT_VERSION_JSON, json.dumps(HEADER).encode()),
}
ILLEGAL: dict[str, dict[str, JsonValue]] = {"name": {"a b": "v"}, "value": {"k": 1}}
LEGAL_NAME = re.compile(r"[0-9a-zA-Z_#-]+")
_EXT_AT = 26
"""Where the ext part of a message begins: after timestamp, attempts and id."""
HEADER_LENGTHS = [each for each in LENGTHS if 100 < each < 1 << 16]
_EMPTY_SIZE = len(json.dumps({"k": ""}))
BROKEN = {
    "length-past-end": b"\x04\xff\xff{}",
    "no-length": b"\x04",
    "nothing": b"",
    "not-json": b"\x04\x00\x04nullx",
    "cut-json": b'\x04\x00\x05{"k":body',
    "not-utf8": b"\x04\x00\x08" + b'{"\xff":1}' + b"b",
    "json-of-no-bytes": b"\x04\x00\x00body",
    "tag-of-no-bytes": b"\x02\x00\x00body",
    "unknown-version": b"\xff\x00\x02{}body",
}


def _last_identified(story: Story) -> dict[str, JsonValue]:
    """Return what the client last said of itself; nothing if it did not."""
    found = list(list_identities(story))
    return found[-1] if found else {}


def _has_published(story: Story) -> bool:
    return bool(commands(story, "PUB_EXT"))


def _publish_script(message: Fields) -> Script:
    return Script("producer", extend=True, publishes=1, message=message)


@client_case("ext/identify/ext", "ext.client.identify", "consumer", "ext-consumer")
def test_identify_ext(client: Client) -> Observation:
    """A consumer of an ext topic identifies itself with extend_support true."""
    return _identify(client, extend=True)


@client_case("ext/identify/plain", "ext.client-header.identify-plain", "consumer", "partition")
def test_identify_plain(client: Client) -> Observation:
    """A consumer of a plain topic does not identify itself with extend_support true."""
    return _identify(client, extend=False)


def _identify(client: Client, *, extend: bool) -> Observation:
    story = client.play(Script("consumer", extend=extend), lambda s: bool(subscriptions(s)))
    last = _last_identified(story)
    value = "extend" if last.get(names.EXTEND_SUPPORT) is True else "plain"
    return shown(story, value, seen=bool(subscriptions(story)))


@client_case(
    "ext/tag/desired", "ext.client-header.desired-tag", "consumer", "ext-consumer", "driver"
)
def test_desired_tag(client: Client) -> Observation:
    """A consumer identifies itself with the tag that its user desires."""
    script = Script("consumer", extend=True, consume={"tag": TAG}, settings={"tag": TAG})
    story = client.play(script, lambda s: bool(subscriptions(s)))
    last = _last_identified(story)
    value = "desired" if last.get(names.DESIRED_TAG) == TAG else "other"
    return if_came(story, value, came=bool(subscriptions(story)))


@client_case("ext/decode", "ext.client.decode", "consumer", "ext-consumer", "driver")
@pytest.mark.parametrize("kind", EXTENDS)
def test_decode(client: Client, kind: str) -> Observation:
    """A consumer gives its handler the body behind the ext header, whatever the header holds."""
    script = Script("consumer", extend=True, deliveries=(Delivery(b"body", extend=EXTENDS[kind]),))
    story = client.play(script, lambda s: bool(list_told(s, "message")))
    return observe_body(story, b"body", otherwise="other-body")


@client_case("ext/decode/none", "ext.client.decode", "consumer", "ext-consumer", "driver")
def test_decode_none(client: Client) -> Observation:
    """A consumer hands over the body of a message that has no header, read in either layout."""
    # Version 0 alone and a body, or version 0, length 0 and a shorter body: one or the other.
    script = Script("consumer", extend=True, deliveries=(Delivery(b"\0\0body"),))
    story = client.play(script, lambda s: bool(list_told(s, "message")))
    message = next(iter(list_told(story, "message")), None)
    sent = story.first(Sent, lambda event: event.frame_type == FRAME_TYPE_MESSAGE)
    body = from_base64(str(message.event.fields.get("body"))) if message else b""
    rest = sent.data[_EXT_AT:] if sent else b""
    forms = {rest[1:]: "version-alone", rest[3:]: "version-and-length"}
    return if_came(story, forms.get(body, "other-body"), came=message is not None)


@client_case("ext/decode/header", "ext.client.decode", "consumer", "ext-consumer", "driver")
def test_decode_header(client: Client) -> Observation:
    """A consumer gives its handler the names and values of a message's JSON header."""
    delivery = Delivery(b"body", extend=EXTENDS["json"])
    script = Script("consumer", extend=True, deliveries=(delivery,))
    story = client.play(script, lambda s: bool(list_told(s, "message")))
    message = next(iter(list_told(story, "message")), None)
    found = message.event.fields.get("ext") if message else None
    if found == HEADER:
        return if_came(story, "header-told", came=True)
    difference = Difference("header", None, str(HEADER), str(found))
    return if_came(story, "other-header", came=message is not None, difference=difference)


@client_case("ext/decode/length", "ext.client.decode", "consumer", "ext-consumer", "driver")
@pytest.mark.parametrize("length", HEADER_LENGTHS)
def test_decode_length(client: Client, length: int) -> Observation:
    """A consumer gives its handler the body behind a header of any length."""
    header = json.dumps({"k": "v" * (length - _EMPTY_SIZE)}).encode()
    delivery = Delivery(b"body", extend=Extend(names.EXT_VERSION_JSON, header))
    script = Script("consumer", extend=True, deliveries=(delivery,))
    story = client.play(script, lambda s: bool(list_told(s, "message")))
    return observe_body(story, b"body", otherwise="other-body")


@client_case("ext/publish/grammar", "ext.client-header.publish", "producer", "ext-producer")
def test_grammar(client: Client) -> Observation:
    """A producer sends PUB_EXT with a header length that fits, and a JSON object as header."""
    story = client.play(_publish_script({"ext": HEADER}), _has_published)
    sent = next(iter(commands(story, "PUB_EXT")), None)
    if sent is None:
        return unless(story, "no-pub-ext", seen=False)
    length = int.from_bytes(sent.body[:2], "big")
    if length > len(sent.body) - 2:
        return observed("length-past-end")
    try:
        header = strict_json.read(sent.body[2 : 2 + length])
    except WireError as error:
        return observed("not-json", note=str(error))
    for fault in json_schema.check("nsq/ext-header", header.value):
        difference = Difference(fault.pointer, None, fault.expected, fault.found)
        return observed("other-header", difference=difference)
    return observed("json-object" if not header.faults else f"json:{header.faults[0].kind}")


@client_case(
    "ext/publish/line", "ext.client-header.publish", "producer", "ext-producer", "partition"
)
def test_line(client: Client) -> Observation:
    """A producer sends PUB_EXT with topic and partition to the node that leads the partition."""
    leaders = {0: NODE_1, 1: NODE_2}
    script = replace(_publish_script({"ext": HEADER}), leaders=leaders)
    story = client.play(script, _has_published)
    sent = next(iter(commands(story, "PUB_EXT")), None)
    right = (
        sent is not None
        and sent.words[:1] == (story.find_given("topic"),)
        and leaders.get(-1 if sent.partition is None else sent.partition) == sent.peer
    )
    line = sent.line.decode("latin-1") if sent else ""
    return if_came(story, "as-published" if right else "other", came=sent is not None, note=line)


@client_case(
    "ext/publish/header", "ext.client-header.publish", "producer", "ext-producer", "driver"
)
def test_header(client: Client) -> Observation:
    """A producer sends the header's names and values and the body as its user gave them."""
    story = client.play(_publish_script({"ext": HEADER}), _has_published)
    sent = next(iter(commands(story, "PUB_EXT")), None)
    right = (
        sent is not None
        and {k: v for k, v in header_of(sent).items() if not k.startswith("##")} == HEADER
        and messages_of(sent) == (b"wireproof-000000",)
    )
    return if_came(story, "as-given" if right else "other", came=sent is not None)


@client_case("ext/publish/tag", "ext.client-header.tag", "producer", "ext-producer", "driver")
def test_tag(client: Client) -> Observation:
    """A producer sends the tag as a string named ##client_dispatch_tag."""
    return _internal(client, {"tag": TAG}, names.CLIENT_DISPATCH_TAG, TAG)


@client_case("ext/publish/trace", "ext.client-header.trace", "producer", "ext-producer", "driver")
def test_trace(client: Client) -> Observation:
    """A producer sends the trace id as a string of decimal digits named ##trace_id."""
    trace_id = str(2**64 - 1)
    return _internal(client, {"ext": HEADER, "trace_id": trace_id}, names.TRACE_ID, trace_id)


def _internal(client: Client, message: Fields, name: str, due: str) -> Observation:
    story = client.play(_publish_script(message), _has_published)
    sent = next(iter(commands(story, "PUB_EXT")), None)
    found = header_of(sent).get(name) if sent else None
    kind = "absent" if found is None else "string" if isinstance(found, str) else "other-type"
    value = "as-given" if found == due else f"not-so:{kind}"
    return if_came(story, value, came=sent is not None)


@client_case(
    "ext/publish/receipt", "ext.client-header.receipt", "producer", "ext-producer", "driver"
)
@pytest.mark.parametrize("traced", [True, False], ids=["traced", "untraced"])
def test_receipt(client: Client, *, traced: bool) -> Observation:
    """A producer treats OK to PUB_EXT as success, with and without a trace id in the answer."""
    trace: Fields = {"trace_id": str(ANSWER.trace_id)} if traced else {}
    answered = always("PUB_EXT", Reply(encode(TRACE_RESPONSE, ANSWER)))
    script = _publish_script({"ext": HEADER, **trace})
    script = replace(script, rules=(answered,) if traced else ())
    ends: dict[str, Question] = {
        "success": lambda s: bool(results(s, "produce")),
        "failure": lambda s: bool(failures(s, "produce")),
    }
    return play(client, script, ends, "not-told", given_up="failure")


@client_case(
    "ext/publish/refused", "ext.client-header.refused", "producer", "ext-producer", "driver"
)
def test_refused(client: Client) -> Observation:
    """A producer reports to its user that the topic does not support headers."""
    rules = (always("PUB_EXT", Refuse(error_codes.E_EXT_NOT_SUPPORT, "not an ext topic")),)
    script = Script("producer", extend=True, publishes=1, message={"ext": HEADER}, rules=rules)
    ends: dict[str, Question] = {
        "failure": lambda s: bool(failures(s, "produce")),
        "success": lambda s: bool(results(s, "produce")),
    }
    return play(client, script, ends, "not-told", within=15.0)


@client_case(
    "ext/publish/reserved", "ext.client-header.reserved", "producer", "ext-producer", "driver"
)
def test_reserved(client: Client) -> Observation:
    """A producer refuses a header name that begins with ## when its user gives one."""
    ends: dict[str, Question] = {
        "published": _has_published,
        "refused": lambda s: bool(failures(s, "produce")),
    }
    return play(client, _publish_script({"ext": {"##x": "1"}}), ends, "not-told")


@client_case("ext/publish/legal", "ext.client-header.legal", "producer", "ext-producer", "driver")
@pytest.mark.parametrize("header", ILLEGAL.values(), ids=ILLEGAL)
def test_legal(client: Client, header: dict[str, JsonValue]) -> Observation:
    """A producer sends only headers of legal names whose values are strings."""
    story = client.play(
        _publish_script({"ext": header}),
        lambda s: _has_published(s) or bool(failures(s, "produce")),
    )
    sent = next(iter(commands(story, "PUB_EXT")), None)
    if sent is None:
        return unless(story, "refused", seen=bool(failures(story, "produce")))
    fields = header_of(sent)
    if not all(LEGAL_NAME.fullmatch(name) for name in fields):
        return observed("illegal-name", note=str(fields))
    strings = all(isinstance(value, str) for value in fields.values())
    return observed("legal" if strings else "not-a-string", note=str(fields))


@client_case("ext/survives", "ext.client-header.broken", "consumer", "ext-consumer")
@pytest.mark.parametrize("broken", BROKEN)
def test_survives(client: Client, broken: str) -> Observation:
    """A consumer of an ext topic survives a message whose ext header is malformed."""
    return survival(client, extend=True, raw=HEAD + BROKEN[broken])


@client_case("ext/no-loop", "ext.client-header.no-loop", "consumer", "ext-consumer")
@pytest.mark.parametrize("broken", ["length-past-end", "not-json"])
def test_no_loop(client: Client, broken: str) -> Observation:
    """A consumer does not reconnect for ever because of a message with a malformed header."""
    delivery = Delivery(raw=HEAD + BROKEN[broken])
    script = Script("consumer", extend=True, deliveries=(delivery,))
    ends: dict[str, Question] = {
        "loops": lambda s: len(subscriptions(s)) >= 4,
        "goes-on": lambda s: bool(commands(s, "FIN", "REQ")),
    }
    return play(client, script, ends, "inconclusive:no-more", within=15.0)
