"""What a client does with checksums: it may compare them, and may ask again."""

from wireproof_kit.clients.observe import any_of, shown, unless
from wireproof_kit.clients.story import Story
from wireproof_kit.iggy.clients.client import Client
from wireproof_kit.iggy.clients.driver_requests import ask_poll
from wireproof_kit.iggy.clients.events import Asked
from wireproof_kit.iggy.clients.log import LOG, make_message
from wireproof_kit.iggy.clients.probes import polls
from wireproof_kit.iggy.clients.script import Messages, Script, Transport
from wireproof_kit.observation import Observation
from wireproof_spec.driver.lines import in_base64
from wireproof_spec.iggy.header_kinds import STRING
from wireproof_spec.iggy.headers import Header
from wireproof_suites.iggy.client.client_case import over_both
from wireproof_suites.iggy.client.seen import (
    LATER,
    answered,
    is_given_later,
    observe_given,
    play_poll,
    told,
)

RIGHT = (
    make_message(0, b"orders_data_3", headers=(Header("key", STRING, b"value"),)),
    make_message(1, bytes(range(256))),
    make_message(2, b"\x00" * 64),
    make_message(3, b"123456789"),
)
"""Payloads whose checksum another polynomial, or another range of bytes, does not give."""
PLACE = 5
WRONG = make_message(PLACE, b"damaged", checksum=1)
LATER_POLL = ask_poll(LATER, 3)
ENDLESS = 50
LONG = 12.0


@over_both("checksum/right", "verify", "consumer", "driver")
def test_right(client: Client, transport: Transport) -> Observation:
    """A message whose checksum matches its payload is given to the user."""
    return observe_given(play_poll(client, transport, Messages(RIGHT)), RIGHT, ("payload",))


@over_both("checksum/wrong", "verify", "consumer", "driver")
def test_wrong(client: Client, transport: Transport) -> Observation:
    """A wrong checksum disturbs no later poll, whether the message is given or refused."""
    script = Script(
        "consumer", transport, stored=(WRONG,), asks=(ask_poll(PLACE - 1, 3), LATER_POLL)
    )
    story = client.play(script, answered(2), within=LONG)
    value = _describe_first(story)
    after = "" if is_given_later(story) else ",stuck"
    return shown(story, f"{value}{after}", seen=answered(2)(story))


def _describe_first(story: Story) -> str:
    """Return what became of the damaged message: given, marked, withheld or refused."""
    messages = told(story)
    if messages is None:
        return "refused"
    damaged = next((each for each in messages if each.get("offset") == str(PLACE)), None)
    if damaged is None:
        return "withheld"
    return "marked" if damaged.get("warning") else "given"


@over_both("checksum/asks-again", "ask-again", "consumer", "driver")
def test_asks_again(client: Client, transport: Transport) -> Observation:
    """A client that polls a damaged message again gives its user what then comes."""
    script = Script("consumer", transport, polls=(Messages((WRONG,)),), asks=(ask_poll(PLACE, 1),))
    story = client.play(script, answered(1), within=LONG)
    further = polls(story)[1:]
    if not any(map(_covers, further)):
        # Who was given the damaged message may well poll what comes after it.
        value = "elsewhere" if further and not _is_given(story, WRONG.payload) else "not-asked"
        return shown(story, value, seen=answered(1)(story))
    if told(story) is None:
        return shown(story, "refused-again", seen=answered(1)(story))
    right = _is_given(story, LOG[PLACE].payload)
    return unless(story, "given-again" if right else "damaged")


def _is_given(story: Story, payload: bytes) -> bool:
    """Return True if the first poll of the user was answered with this payload, and no other."""
    return [each.get("payload") for each in told(story) or ()] == [in_base64(payload)]


def _covers(event: Asked) -> bool:
    poll = event.poll
    return poll is not None and poll.value <= PLACE < poll.value + poll.count


@over_both("checksum/bounded", "bounded", "consumer", "driver")
def test_bounded(client: Client, transport: Transport) -> Observation:
    """A client stops asking for a message that stays damaged."""
    script = Script("consumer", transport, stored=(WRONG,), asks=(ask_poll(PLACE, 1),))
    endless = any_of(answered(1), lambda s: len(polls(s)) > ENDLESS)
    story = client.play(script, endless, within=LONG)
    count = len(polls(story))
    value = "endless" if count > ENDLESS else "bounded"
    return shown(story, value, seen=endless(story), note=f"{count} polls")
