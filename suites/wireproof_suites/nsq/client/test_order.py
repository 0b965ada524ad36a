"""Consuming in order: which command, what stands before the body, and nothing skipped."""

from dataclasses import replace

import pytest

from wireproof_kit.clients.observe import any_of, if_came, list_told, shown, unless
from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.client import Client
from wireproof_kit.nsq.clients.events import ORDERED, SUBSCRIPTIONS, Commanded
from wireproof_kit.nsq.clients.logged import is_mentioned, is_number_logged
from wireproof_kit.nsq.clients.script import (
    NODE_1,
    NODE_2,
    After,
    Beat,
    Delivery,
    Push,
    Script,
    always,
    once,
)
from wireproof_kit.observation import Observation, observed
from wireproof_spec.driver.lines import Fields
from wireproof_spec.nsq import names
from wireproof_spec.nsq.message import Extend
from wireproof_suites.nsq.client.client_case import client_case
from wireproof_suites.nsq.client.seen import (
    REOPENING,
    Question,
    answers_after,
    at_least,
    begin_in_order,
    commands,
    distinct,
    end_of,
    finishes,
    is_reopened,
    list_ready,
    observe_body,
    play,
    subscriptions,
)

LONG = 15.0
TWO = {0: NODE_1, 1: NODE_2}
BASE = 70_000_000
"""Internal ids that nothing else in a log is likely to contain."""
ABOVE_ALL = 1000
"""Attempts above the threshold of any client; one that logs each tenth attempt logs it, too."""
OFFSET, SIZE = 2**40 + 7, 12345
LEFT = "the client sends neither FIN nor REQ for a message whose handler failed, as it may"
UNTOLD = "the client's user is not told offset and size, which no text asks for"
OFTEN = Delivery(
    b"attempted-70000041",
    internal_id=BASE + 5,
    trace_id=2**62 + BASE + 42,
    offset=2**40 + BASE + 43,
    attempts=ABOVE_ALL,
)
"""A message that nothing else in a log is likely to name."""
FIRST = Delivery(b"1", internal_id=BASE + 10, offset=1000)
HEADER = Extend(names.EXT_VERSION_JSON, b'{"k":"v"}')
HANDLED_S, LATER_S = 1.5, 3.0
LATER = (always("SUBSCRIBE", After(LATER_S, (Beat(),))),)
"""A heartbeat on each subscription: its answer shows that the client has handled what came."""
_answers_handled = answers_after(HANDLED_S, "FIN")
_answers_later = answers_after(LATER_S, *SUBSCRIPTIONS)


def _order_script(*deliveries: Delivery, handler: str = "finish", extend: bool = False) -> Script:
    return Script("consumer", ordered=True, extend=extend, deliveries=deliveries, handler=handler)


@client_case("order/each", "smart.client.order-each", "consumer", "order")
def test_each(client: Client) -> Observation:
    """An ordered consumer sends SUB_ORDER to both partitions of its topic."""
    script = Script("consumer", ordered=True, leaders=TWO)
    story = client.play(script, lambda s: distinct(e.partition for e in subscriptions(s)) == 2)
    sent = subscriptions(story)
    seen = distinct(event.partition for event in sent) == 2
    used = {event.name for event in sent}
    value = next(iter(used)) if len(used) == 1 and used <= ORDERED else "other"
    return shown(story, value, seen=seen)


@client_case("order/grammar", "smart.client.order-each", "consumer", "order")
def test_grammar(client: Client) -> Observation:
    """An ordered consumer sends SUB_ORDER with topic, channel and partition."""
    story = client.play(Script("consumer", ordered=True), lambda s: bool(commands(s, *ORDERED)))
    sent = next(iter(commands(story, *ORDERED)), None)
    due = (story.find_given("topic"), story.find_given("channel"), "0")
    value = "as-published" if sent and sent.words[:3] == due else "other"
    line = sent.line.decode("latin-1") if sent else ""
    return if_came(story, value, came=sent is not None, note=line)


@client_case("order/handshake", "smart.client.order-handshake", "consumer", "order")
def test_handshake(client: Client) -> Observation:
    """An ordered consumer sends SUB_ORDER after IDENTIFY, on each connection."""
    script = Script("consumer", ordered=True, leaders=TWO, rules=REOPENING)
    story = client.play(script, is_reopened)
    value = "in-order" if begin_in_order(story) else "no-identify"
    return shown(story, value, seen=bool(subscriptions(story)))


@client_case("order/one-by-one", "smart.client-order.one", "consumer", "order")
def test_one_by_one(client: Client) -> Observation:
    """An ordered consumer asks for and handles only one message at a time."""
    ends: dict[str, Question] = {"all": at_least(3, finishes)}
    return play(client, _order_script(*(Delivery(b"%d" % n) for n in range(3))), ends, "stuck")


@client_case("order/ready", "smart.client.order-rdy", "consumer", "order")
def test_ready(client: Client) -> Observation:
    """An ordered consumer sends no RDY count above 1."""
    story = client.play(_order_script(Delivery()), at_least(1, finishes))
    counts = {count for _, count in list_ready(story)}
    value = "rdy:1" if counts <= {0, 1} else "rdy:other"
    return shown(story, value, seen=bool(finishes(story)), note=f"RDY {sorted(counts)}")


@client_case("order/place/plain", "smart.client-order.place", "consumer", "order", "driver")
def test_place(client: Client) -> Observation:
    """An ordered consumer gives its user offset, size and body of a message as delivered."""
    return _place(client, extend=False)


@client_case("order/place/ext", "smart.client-order.ext-place", "consumer", "order", "driver")
def test_place_behind_header(client: Client) -> Observation:
    """An ordered consumer of an ext topic finds offset and size behind the header."""
    return _place(client, extend=True)


def _place(client: Client, *, extend: bool) -> Observation:
    # Where a message without a header ends its ext part, the text leaves open.
    delivery = Delivery(b"body", offset=OFFSET, size=SIZE, extend=HEADER)
    script = _order_script(delivery, extend=extend)
    story = client.play(script, lambda s: bool(list_told(s, "message")))
    message = next(iter(list_told(story, "message")), None)
    fields = message.event.fields if message else {}
    seen = observe_body(story, b"body", otherwise="other-body")
    if seen.value == "other-body":
        return seen
    due: Fields = {"offset": str(OFFSET), "size": SIZE}
    if any(fields.get(name, value) != value for name, value in due.items()):
        return observed("other-place")
    if message is not None and not due.keys() <= fields.keys():
        return unless(story, "unsupported", note=UNTOLD)
    return if_came(story, "as-delivered", came=message is not None)


@client_case("order/validate", "smart.client.order-validate", "consumer", "order", "driver")
@pytest.mark.parametrize("what", ["internal-id", "offset"])
def test_validate(client: Client, what: str) -> Observation:
    """An ordered consumer reports or refuses a message whose id or offset is out of order."""
    return _validate(client, what, Script("consumer", ordered=True))


@client_case("order/validate/second", "smart.client.order-validate", "consumer", "order", "driver")
@pytest.mark.parametrize("what", ["internal-id", "offset"])
def test_validate_second(client: Client, what: str) -> Observation:
    """An ordered consumer reports or refuses what is out of order in its second partition."""
    return _validate(client, what, Script("consumer", ordered=True, leaders=TWO))


def _validate(client: Client, what: str, script: Script) -> Observation:
    by_id = what == "internal-id"
    early = BASE + 9 if by_id else BASE + 11
    offset = 1030 if by_id else 500
    places = ((BASE + 10, 1000), (early, offset), (BASE + 12, 1060))
    deliveries = tuple(
        Delivery(b"%d" % id, internal_id=id, offset=offset, partition=len(script.leaders) - 1)
        for id, offset in places
    )
    ends: dict[str, Question] = {
        "noticed": lambda s: (
            is_number_logged(s, early)
            or bool(list_told(s, "error"))
            or _is_refused(s, early, len(script.leaders))
        ),
        "unnoticed": at_least(3, finishes),
    }
    # The FIN of the first message brings the early one; the heartbeat comes when that is handled.
    later = once("FIN", After(HANDLED_S, (Beat(),)))
    return play(client, replace(script, deliveries=deliveries, rules=(later,)), ends, "stopped")


@client_case("order/partitions", "smart.client.order-validate", "consumer", "order", "driver")
def test_partitions(client: Client) -> Observation:
    """An ordered consumer compares ids and offsets of one partition alone."""
    deliveries = tuple(
        Delivery(b"%d" % id, internal_id=id, offset=offset, partition=partition)
        for partition, id, offset in (
            (0, BASE + 50, 5000),
            (0, BASE + 60, 6000),
            (1, BASE + 10, 1000),
            (1, BASE + 20, 2000),
        )
    )
    script = Script("consumer", ordered=True, leaders=TWO, deliveries=deliveries)
    # What comes of the second partition first is lower than all that comes after it.
    again = tuple(
        replace(each, internal_id=(each.internal_id or 0) + 100, offset=(each.offset or 0) + 9000)
        for each in deliveries
    )
    later = once("FIN", Push(again))
    ends: dict[str, Question] = {
        "refused": lambda s: bool(list_told(s, "error") or commands(s, "REQ")),
        "all": at_least(2 * len(deliveries), finishes),
    }
    return play(client, replace(script, rules=(later,)), ends, "stuck", within=LONG)


def _is_refused(story: Story, internal_id: int, partitions: int) -> bool:
    """Return True if a client gave a message back, or keeps it unfinished and goes on."""
    id = internal_id.to_bytes(8, "big")
    acknowledged = [each for each in commands(story, "FIN", "REQ") if each.message_id[:8] == id]
    if acknowledged:
        return acknowledged[0].name == "REQ"
    comes_again = len(subscriptions(story)) > partitions
    return bool(finishes(story)) and (_answers_handled(story) or comes_again)


@client_case("order/again", "smart.client.order-validate", "consumer", "order", "driver")
def test_again(client: Client) -> Observation:
    """An ordered consumer gives its handler a message again that the handler has given back."""
    script = _order_script(FIRST, handler="fail")
    ends: dict[str, Question] = {
        "finished-unseen": at_least(1, finishes),
        "handed-again": lambda story: len(list_told(story, "message")) >= 2,
    }
    story = client.play(script, any_of(*ends.values()), within=LONG)
    if not any(question(story) for question in ends.values()) and not _given_back(story):
        # Allowed, and the played nodes time messages out only where a script says so.
        return unless(story, "unsupported", note=LEFT)
    return end_of(story, ends, "dropped")


@client_case("order/again/finished", "smart.client.order-validate", "consumer", "order")
def test_again_finished(client: Client) -> Observation:
    """An ordered consumer finishes a message that comes a second time, and the one after it."""
    later = Delivery(b"2", internal_id=BASE + 11, offset=1030)
    script = _order_script(FIRST, replace(FIRST, attempts=2), later)
    return play(client, script, {"all": at_least(3, finishes)}, "stuck")


@client_case("order/attempts", "smart.client.order-log", "consumer", "order", "driver")
def test_attempts(client: Client) -> Observation:
    """An ordered consumer logs a message that has been attempted a thousand times."""
    script = _order_script(OFTEN, Delivery(), handler="fail")
    ends: dict[str, Question] = {
        "logged": _names_often,
        "unlogged": lambda s: len(list_told(s, "message")) >= 3 or bool(finishes(s)),
    }
    return play(client, script, ends, "unlogged", within=LONG)


def _names_often(story: Story) -> bool:
    """Return True if the log names the message: by an id, its offset or its body."""
    numbers = (OFTEN.internal_id, OFTEN.trace_id, OFTEN.offset)
    return any(is_number_logged(story, number or 0) for number in numbers) or is_mentioned(
        story, OFTEN.body.decode()
    )


@client_case("order/no-skip", "smart.client.order-no-skip", "consumer", "order", "driver")
def test_no_skip(client: Client) -> Observation:
    """An ordered consumer does not finish a message that its handler could not process."""
    script = Script(
        "consumer",
        ordered=True,
        deliveries=(Delivery(attempts=ABOVE_ALL),),
        handler="fail",
        rules=LATER,
    )
    ends: dict[str, Question] = {"skipped": at_least(1, finishes), "kept": _answers_later}
    return play(client, script, ends, "silent", within=LONG)


@client_case("order/policy", "smart.client.order-policy", "consumer", "order", "driver")
def test_policy(client: Client) -> Observation:
    """An ordered consumer does not finish a message as long as its handler reports failure."""
    script = Script(
        "consumer", ordered=True, deliveries=(Delivery(),), handler="fail", rules=LATER
    )
    given_back = at_least(3, _given_back)
    over = any_of(at_least(1, finishes), given_back, _answers_later)
    story = client.play(script, over, within=LONG)
    # A busy client may have given the message back only once by then.
    ends: dict[str, Question] = {
        "finished": at_least(1, finishes),
        "req": lambda s: given_back(s) or (_answers_later(s) and bool(_given_back(s))),
        "unfinished": _answers_later,
    }
    return end_of(story, ends, "silent")


def _given_back(story: Story) -> list[Commanded]:
    return commands(story, "REQ")


@client_case("order/survives", "smart.client-robust.prefix", "consumer", "order")
@pytest.mark.parametrize("size", [0, 5, 11])
def test_survives(client: Client, size: int) -> Observation:
    """An ordered consumer survives a message too short for offset and size."""
    return survival(client, ordered=True, raw=HEAD + b"x" * size)


HEAD = (
    (1_500_000_000_000_000_000).to_bytes(8, "big")
    + (1).to_bytes(2, "big")
    + (BASE).to_bytes(8, "big")
    + (0).to_bytes(8, "big")
)
"""Timestamp, attempts and id of a message, before whatever is left of it."""


def survival(
    client: Client, *, raw: bytes, ordered: bool = False, extend: bool = False, trace: bool = False
) -> Observation:
    """Deliver raw bytes as a message; observe whether the client answers a later heartbeat."""
    # In order no RDY is needed; else it lets the message come, which is to be there before.
    event, names = ("SUBSCRIBE", SUBSCRIPTIONS) if ordered else ("RDY", {"RDY"})
    script = Script(
        "consumer",
        ordered=ordered,
        extend=extend,
        deliveries=(Delivery(raw=raw),),
        settings={"trace": "1"} if trace else {},
        consume={"trace": True} if trace else {},
        rules=(once(event, After(1.0, (Beat(),))),),
    )
    is_alive = any_of(answers_after(1.0, *names), _comes_again)
    story = client.play(script, is_alive)
    alive = is_alive(story)
    return unless(story, "survives" if alive else "silent", seen=alive)


def _comes_again(story: Story) -> bool:
    """Return True if the client has subscribed once more, on a new connection."""
    return len(subscriptions(story)) >= 2
