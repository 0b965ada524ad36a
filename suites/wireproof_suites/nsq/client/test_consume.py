"""Consuming: what is acknowledged, how, and what the handler is given."""

from dataclasses import replace

import pytest

from wireproof_kit.clients.events import Greeted, Malformed, Told
from wireproof_kit.clients.observe import (
    any_of,
    if_came,
    list_told,
    malformed_observation,
    shown,
    unless,
)
from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.client import Client
from wireproof_kit.nsq.clients.events import Commanded, Sent
from wireproof_kit.nsq.clients.identity import list_identities
from wireproof_kit.nsq.clients.script import (
    After,
    Beat,
    Delivery,
    Expire,
    Push,
    Script,
    once,
)
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_spec.driver.lines import from_base64
from wireproof_spec.nsq.frame import FRAME_TYPE_MESSAGE
from wireproof_suites.nsq.client.client_case import client_case
from wireproof_suites.nsq.client.seen import (
    Question,
    answers_after,
    at_least,
    closed_by_client,
    commands,
    end_of,
    finishes,
    list_ready,
    observe_body,
    play,
)

LONG = 15.0
"""A client may ask for messages seconds after its SUB, and send its FINs in batches."""
TIMEOUT_MS, LATE_S = 1000, 4.0
IDS = {
    "line-feed": (0x0A0A0A0A0A0A0A0A, 0x0A),
    "blank": (0x2020202020202020, 0x2020202020202020),
    "zero": (0, 0),
    "ones": (2**64 - 1, 2**64 - 1),
    "words": (int.from_bytes(b"FIN REQ\n", "big"), int.from_bytes(b" TOUCH\r\n", "big")),
}
HANDLED = {"plain": (1, 0), **IDS}
INTERNAL, TRACE = 0x00040000000186A7, 9007199254740993
HIGH_BITS = 0xA001
EACH = 5
MOST_READY = 2500
"""The max_rdy_count that the nodes announce to a client that negotiates features."""
UNNEGOTIATED = "the client does not negotiate features, and the case asked for more than 2500"


def _one(delivery: Delivery, handler: str = "finish", **consume: int) -> Script:
    return Script("consumer", deliveries=(delivery,), handler=handler, consume=dict(consume))


@client_case("consume/finish", "smart.client.finish", "consumer")
def test_finish(client: Client) -> Observation:
    """A consumer finishes a message with FIN."""
    ends: dict[str, Question] = {"finished": at_least(1, finishes)}
    return play(client, _one(Delivery()), ends, "not-finished", within=LONG)


@client_case("consume/id", "smart.client-send.finish", "consumer")
@pytest.mark.parametrize("bits", IDS)
def test_id(client: Client, bits: str) -> Observation:
    """A consumer's FIN has the 16 bytes of the message id as received, whatever their values."""
    delivery = _with_id(bits)
    story = client.play(_one(delivery), any_of(at_least(1, finishes), _is_malformed), within=LONG)
    sent = finishes(story)
    return _find_altered(sent[:1], delivery) or shown(story, "as-received", seen=bool(sent))


def _is_malformed(story: Story) -> bool:
    return story.first(Malformed) is not None


@client_case("consume/grammar", "smart.client-send.well-formed")
def test_grammar(client: Client) -> Observation:
    """Every command that a client sends while it publishes or consumes is well formed."""
    script = Script(client.role, deliveries=(Delivery(), Delivery()), publishes=5)
    done = any_of(at_least(2, finishes), at_least(5, _all_publishes), _is_malformed)
    story = client.play(script, done, within=LONG)
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
    return observe_body(story, body, otherwise="other")


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
    return if_came(story, value, came=message is not None, note=f"told {found}")


def _find_handed(story: Story) -> Told | None:
    return next(iter(list_told(story, "message")), None)


def _is_handed(story: Story) -> bool:
    return _find_handed(story) is not None


@client_case("consume/handler/fails", "smart.client.handler-outcomes", "consumer", "driver")
@pytest.mark.parametrize("bits", HANDLED)
def test_handler_fails(client: Client, bits: str) -> Observation:
    """A consumer whose handler fails gives the message back with REQ and the id as received."""
    delivery = _with_id(bits)
    ends: dict[str, Question] = {"req": at_least(1, _requeues), "fin": at_least(1, finishes)}
    story = client.play(_one(delivery, "fail"), any_of(*ends.values(), _is_malformed))
    return _find_altered(_requeues(story), delivery) or end_of(story, ends, "silent")


@client_case("consume/handler/touches", "smart.client.handler-outcomes", "consumer", "driver")
@pytest.mark.parametrize("bits", HANDLED)
def test_handler_touches(client: Client, bits: str) -> Observation:
    """A consumer whose handler asks for more time sends TOUCH with the id, and FIN later."""
    delivery = _with_id(bits)
    done = at_least(1, finishes)
    story = client.play(_one(delivery, "touch"), any_of(done, _is_malformed))
    touches = commands(story, "TOUCH")
    value = "touch" if touches else "no-touch"
    return _find_altered(touches, delivery) or unless(story, value, seen=done(story))


def _with_id(bits: str) -> Delivery:
    internal_id, trace_id = HANDLED[bits]
    return Delivery(internal_id=internal_id, trace_id=trace_id)


def _requeues(story: Story) -> list[Commanded]:
    return commands(story, "REQ")


def _find_altered(sent: list[Commanded], delivery: Delivery) -> Observation | None:
    """Return the observation of a command with another message id than delivered, or None."""
    due = (delivery.internal_id or 0).to_bytes(8, "big") + delivery.trace_id.to_bytes(8, "big")
    for event in sent:
        if event.message_id != due:
            difference = Difference("message_id", 4, due.hex(), event.message_id.hex())
            return observed("other", difference=difference)
    return None


@client_case("consume/handler/again", "smart.client.handler-outcomes", "consumer", "driver")
def test_handler_again(client: Client) -> Observation:
    """A consumer gives a redelivered message, with attempts 2, to its handler again."""
    script = _one(Delivery(), "fail")
    story = client.play(script, lambda s: len(list_told(s, "message")) >= 2, within=LONG)
    attempts = [each.event.fields.get("attempts") for each in list_told(story, "message")]
    value = "handed-again" if attempts[:2] == [1, 2] else "other"
    return unless(story, value, seen=len(attempts) >= 2, note=f"attempts {attempts}")


@client_case("consume/handler/each", "smart.client.handler-outcomes", "consumer", "driver")
def test_handler_each(client: Client) -> Observation:
    """A consumer finishes no message that its handler was not given."""
    bodies = [b"message %d" % number for number in range(EACH)]
    # A driver tells of a message before its FIN: what it tells of the last one, it writes later.
    last = once("FIN", Push((Delivery(b"last"),)), at=EACH)
    script = Script("consumer", deliveries=tuple(map(Delivery, bodies)), rules=(last,))

    def has_handed_last(story: Story) -> bool:
        return b"last" in _handed(story)

    story = client.play(script, has_handed_last, within=LONG)
    is_each = all(body in _handed(story) for body in bodies)
    value = "handed" if is_each else "finished-unseen"
    return shown(story, value, seen=has_handed_last(story))


def _handed(story: Story) -> list[bytes]:
    told = list_told(story, "message")
    return [from_base64(str(each.event.fields.get("body"))) for each in told]


@client_case("consume/handler/timed-out", "smart.client-consume.timed-out", "consumer", "driver")
def test_handler_timed_out(client: Client) -> Observation:
    """A consumer handles or finishes a redelivered message that timed out in its handler."""
    script = Script(
        "consumer",
        deliveries=(Delivery(),),
        handler="hold",
        consume={"hold_ms": 1500, "msg_timeout_ms": TIMEOUT_MS},
        settings={"msg_timeout_ms": str(TIMEOUT_MS)},
        # By the time of the heartbeat a handler could have held both deliveries in turn.
        rules=(once("RDY", After(1.2, (Expire(),)), After(LATE_S, (Beat(),))),),
    )
    story = client.play(script, any_of(_answers_last, _has_closed), within=LONG)
    ends: dict[str, Question] = {
        "closed": _has_closed,
        "handed-again": lambda s: _answers_last(s) and len(list_told(s, "message")) >= 2,
        "finished": lambda s: _answers_last(s) and _is_finished_again(s),
        "dropped": _answers_last,
    }
    return _unannounced(story) or end_of(story, ends, "silent")


def _deliveries(story: Story) -> list[Sent]:
    return story.of(Sent, lambda event: event.frame_type == FRAME_TYPE_MESSAGE)


def _is_finished_again(story: Story) -> bool:
    """Return True if a FIN came after the second delivery."""
    later = story.after(_deliveries(story)[1])
    return any(isinstance(event, Commanded) and event.name == "FIN" for event in later)


def _answers_last(story: Story) -> bool:
    return len(_deliveries(story)) >= 2 and _answers_late(story)


_answers_late = answers_after(LATE_S, "RDY")


def _has_closed(story: Story) -> bool:
    return any(closed_by_client(story, event.conn) for event in _deliveries(story))


@client_case("consume/late", "smart.client-consume.no-late-finish", "consumer", "driver")
def test_late(client: Client) -> Observation:
    """A consumer sends no FIN for a message whose timeout has passed."""
    script = Script(
        "consumer",
        deliveries=(Delivery(),),
        handler="hold",
        consume={"hold_ms": 2500, "msg_timeout_ms": TIMEOUT_MS},
        settings={"msg_timeout_ms": str(TIMEOUT_MS)},
        rules=(once("RDY", After(LATE_S, (Beat(),))),),
    )
    ends: dict[str, Question] = {"late": at_least(1, finishes), "not-finished": _answers_late}
    story = client.play(script, any_of(*ends.values()), within=LONG)
    return _unannounced(story) or end_of(story, ends, "silent")


def _unannounced(story: Story) -> Observation | None:
    """Return ``unsupported`` if the client did not ask for the time-out that the case is about.

    The node then holds the client to what it did ask for, or to the usual time-out of a minute.
    """
    asked = [fields.get("msg_timeout") for fields in list_identities(story)]
    if not _deliveries(story) or TIMEOUT_MS in asked:
        return None
    told = ", ".join(f"{each} ms" for each in asked if each is not None) or "none"
    note = f"IDENTIFY announced msg_timeout {told}; the case asked for {TIMEOUT_MS} ms"
    return unless(story, "unsupported", note=note)


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
    script = replace(_one(Delivery(), max_in_flight=2 * MOST_READY), rules=(later,))
    story = client.play(script, at_least(2, finishes))
    within = all(count <= MOST_READY for _, count in list_ready(story))
    announced = any(fields.get("feature_negotiation") is True for fields in list_identities(story))
    if not (within or announced) and story.first(Greeted):
        return unless(story, "unsupported", note=UNNEGOTIATED)
    return shown(story, "in-range" if within else "too-many", seen=len(finishes(story)) >= 2)
