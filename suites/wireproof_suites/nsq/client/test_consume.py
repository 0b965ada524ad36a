"""Consuming: what is acknowledged, how, and what the handler is given."""

import pytest

from wireproof_kit.clients.events import Malformed, Told
from wireproof_kit.clients.observe import any_of, list_told, malformed_observation, shown, unless
from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.client import Client
from wireproof_kit.nsq.clients.events import Commanded
from wireproof_kit.nsq.clients.script import (
    After,
    Beat,
    Delivery,
    Push,
    Script,
    once,
)
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_spec.driver.lines import from_base64
from wireproof_suites.nsq.client.client_case import client_case
from wireproof_suites.nsq.client.seen import Question, at_least, commands, finishes, play

LONG = 15.0
IDS = {
    "line-feed": (0x0A0A0A0A0A0A0A0A, 0x0A),
    "blank": (0x2020202020202020, 0x2020202020202020),
    "zero": (0, 0),
    "ones": (2**64 - 1, 2**64 - 1),
    "words": (int.from_bytes(b"FIN REQ\n", "big"), int.from_bytes(b" TOUCH\r\n", "big")),
}
INTERNAL, TRACE = 0x00040000000186A7, 9007199254740993
HIGH_BITS = 0xA001


def _one(delivery: Delivery, handler: str = "finish", **consume: int) -> Script:
    return Script("consumer", deliveries=(delivery,), handler=handler, consume=dict(consume))


@client_case("consume/finish", "smart.client.finish", "consumer")
def test_finish(client: Client) -> Observation:
    """A consumer finishes a message with FIN."""
    ends: dict[str, Question] = {"finished": at_least(1, finishes)}
    return play(client, _one(Delivery()), ends, "not-finished")


@client_case("consume/id", "smart.client-send.finish", "consumer")
@pytest.mark.parametrize("bits", IDS)
def test_id(client: Client, bits: str) -> Observation:
    """A consumer's FIN has the 16 bytes of the message id as received, whatever their values."""
    internal_id, trace_id = IDS[bits]
    delivery = Delivery(internal_id=internal_id, trace_id=trace_id)
    story = client.play(_one(delivery), any_of(at_least(1, finishes), _is_malformed))
    due = internal_id.to_bytes(8, "big") + trace_id.to_bytes(8, "big")
    sent = next(iter(finishes(story)), None)
    if sent is None or sent.message_id == due:
        return shown(story, "as-received", seen=sent is not None)
    difference = Difference("message_id", 4, due.hex(), sent.message_id.hex())
    return observed("other", difference=difference)


def _is_malformed(story: Story) -> bool:
    return story.first(Malformed) is not None


@client_case("consume/grammar", "smart.client-send.well-formed")
def test_grammar(client: Client) -> Observation:
    """Every command that a client sends while it publishes or consumes is well formed."""
    script = Script(client.role, deliveries=(Delivery(), Delivery()), publishes=5)
    done = any_of(at_least(2, finishes), at_least(5, _all_publishes), _is_malformed)
    story = client.play(script, done)
    malformed = story.first(Malformed)
    if malformed is not None:
        return malformed_observation(malformed)
    return shown(story, "well-formed", seen=done(story))


def _all_publishes(story: Story) -> list[Commanded]:
    return commands(story, "PUB", "PUB_TRACE", "PUB_EXT", "MPUB")


@client_case("consume/handed", "smart.client.handler", "consumer", "driver")
def test_handed(client: Client) -> Observation:
    """A consumer gives its handler the message body exactly as the node delivered it."""
    body = bytes(range(256))
    story = client.play(_one(Delivery(body)), _is_handed)
    message = _find_handed(story)
    right = message is not None and from_base64(str(message.event.fields.get("body"))) == body
    return unless(story, "as-delivered" if right else "other", seen=message is not None)


@client_case("consume/ids-told", "smart.client-consume.ids-told", "consumer", "driver")
def test_ids_told(client: Client) -> Observation:
    """A consumer gives its user the exact internal id and trace id of a message."""
    delivery = Delivery(internal_id=INTERNAL, trace_id=TRACE)
    story = client.play(_one(delivery), _is_handed)
    message = _find_handed(story)
    fields = message.event.fields if message else {}
    found = (fields.get("internal_id"), fields.get("trace_id"))
    if message is not None and None in found:
        return observed("not-told")
    value = "exact" if found == (str(INTERNAL), str(TRACE)) else "other"
    return unless(story, value, seen=message is not None, note=f"told {found}")


def _find_handed(story: Story) -> Told | None:
    return next(iter(list_told(story, "message")), None)


def _is_handed(story: Story) -> bool:
    return _find_handed(story) is not None


@client_case("consume/handler/fails", "smart.client.handler-outcomes", "consumer", "driver")
def test_handler_fails(client: Client) -> Observation:
    """A consumer whose handler fails gives the message back with REQ."""
    ends: dict[str, Question] = {
        "req": lambda s: bool(commands(s, "REQ")),
        "fin": at_least(1, finishes),
    }
    return play(client, _one(Delivery(), "fail"), ends, "silent")


@client_case("consume/handler/touches", "smart.client.handler-outcomes", "consumer", "driver")
def test_handler_touches(client: Client) -> Observation:
    """A consumer whose handler asks for more time sends TOUCH, and FIN later."""
    story = client.play(_one(Delivery(), "touch"), at_least(1, finishes))
    touched = next(iter(commands(story, "TOUCH")), None)
    value = "touch" if touched else "no-touch"
    return unless(story, value, seen=bool(finishes(story)))


@client_case("consume/handler/again", "smart.client.handler-outcomes", "consumer", "driver")
def test_handler_again(client: Client) -> Observation:
    """A consumer gives a redelivered message, with attempts 2, to its handler again."""
    script = _one(Delivery(), "fail")
    story = client.play(script, lambda s: len(list_told(s, "message")) >= 2, within=LONG)
    attempts = [each.event.fields.get("attempts") for each in list_told(story, "message")]
    value = "handed-again" if attempts[:2] == [1, 2] else "other"
    return unless(story, value, seen=len(attempts) >= 2, note=f"attempts {attempts}")


@client_case("consume/late", "smart.client-consume.no-late-finish", "consumer", "driver")
def test_late(client: Client) -> Observation:
    """A consumer sends no FIN for a message whose timeout has passed."""
    script = Script(
        "consumer",
        deliveries=(Delivery(),),
        handler="hold",
        consume={"hold_ms": 2500, "msg_timeout_ms": 1000},
        settings={"msg_timeout_ms": "1000"},
        rules=(once("RDY", After(4.0, (Beat(),))),),
    )
    ends: dict[str, Question] = {
        "late": at_least(1, finishes),
        "not-finished": lambda s: bool(commands(s, "NOP")),
    }
    return play(client, script, ends, "silent", within=LONG)


@client_case("consume/attempts", "ext.client-header.attempts", "consumer", "driver")
def test_attempts(client: Client) -> Observation:
    """A consumer gives its handler a message even if high bits of its attempts field are set."""
    story = client.play(
        _one(Delivery(attempts=HIGH_BITS)), any_of(_is_handed, at_least(1, finishes))
    )
    value = "handed" if _is_handed(story) else "finished-unseen"
    return unless(story, value, seen=_is_handed(story) or bool(finishes(story)))


@client_case("consume/ready/range", "smart.client-send.ready", "consumer")
def test_ready_range(client: Client) -> Observation:
    """The RDY count that a consumer sends is never greater than max_rdy_count."""
    later = once("FIN", Push((Delivery(b"again"),)))
    script = Script("consumer", deliveries=(Delivery(),), rules=(later,))
    story = client.play(script, at_least(2, finishes))
    counts = [int(event.words[0]) for event in commands(story, "RDY") if event.words]
    within = all(0 <= count <= 2500 for count in counts)
    return shown(story, "in-range" if within else "too-many", seen=len(finishes(story)) >= 2)
