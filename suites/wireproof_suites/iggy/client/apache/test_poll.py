"""Polled batches of generation apache, as the user of a client is given their messages."""

import pytest

from wireproof_kit.clients.observe import any_of, results, shown, unless
from wireproof_kit.clients.pieces import LENGTHS, Pieces
from wireproof_kit.iggy.clients.apache.changes import DAMAGED
from wireproof_kit.iggy.clients.apache.log import BATCHES, cut, in_order, make_frame, stamp
from wireproof_kit.iggy.clients.client import Client
from wireproof_kit.iggy.clients.driver_requests import SEND, ask_poll, ask_send
from wireproof_kit.iggy.clients.probes import ONE, polls
from wireproof_kit.iggy.clients.script import Batches, Late, Odd
from wireproof_kit.observation import Observation
from wireproof_spec.driver.lines import in_base64
from wireproof_spec.iggy.apache.batch import Batch
from wireproof_spec.iggy.apache.user_headers import text_header
from wireproof_spec.iggy.header_kinds import BOOL, FLOAT32, FLOAT64, STRING, UINT64, header_bytes
from wireproof_suites.iggy.client.apache.apache_case import (
    LONG,
    MANY,
    MEMBERS,
    client_case,
    due_of,
    make_script,
    observe_polled,
)
from wireproof_suites.iggy.client.seen import (
    LATER,
    answered,
    is_given_later,
    is_told,
    not_told,
    observe_members,
    told,
)
from wireproof_suites.iggy.steps.header_kinds import EVERY_KIND

PUBLISHED = (
    text_header("key 1", STRING, b"value1"),
    text_header("key-2", BOOL, b"\x01"),
    text_header("Key_3", UINT64, (123456).to_bytes(8, "little")),
)
FIELDS = in_order(
    40,
    [
        make_frame(b"orders_data_2", id=0x_AE9793D5_4A1C_4E4B_9BBE_2D3B7B4A8F34),
        make_frame(b"orders_data_3", *PUBLISHED, id=3, time=1),
        make_frame(bytes(range(256)), id=7, time=4_000_000_000),
    ],
)
IDS = {
    "zero": 0,
    "one": 1,
    "beyond-53-bits": (1 << 53) + 1,
    "beyond-64-bits": (1 << 64) + 1,
    "highest-bit": (1 << 127) + 5,
    "greatest": (1 << 128) - 1,
}
_GREATEST = (1 << 32) - 1
_INFINITE = tuple(header_bytes(kind, float("inf")) for kind in (FLOAT32, FLOAT64))
NUMBERS = {
    "offset": stamp((1 << 63) + 5, [make_frame(b"high offset", id=1)], time_us=1 << 50),
    "delta": stamp(7, [make_frame(b"high delta", id=1, delta=_GREATEST)]),
    "time": stamp(9, [make_frame(b"high time", id=1, time=_GREATEST)], time_us=(1 << 63) + 7),
}
SLICES: dict[str, tuple[Batch, ...]] = {
    "end": cut(BATCHES, 2, 3),
    "middle": cut(BATCHES, 6, 3),
    "last-message": cut(BATCHES, 4, 1),
    "two-batches": BATCHES[:2],
    "two-parts": cut(BATCHES, 3, 5),
    "single-messages": tuple(
        in_order(at, [make_frame(b"alone %d" % at, id=at + 1)]) for at in range(4)
    ),
    "offsets-between": (BATCHES[0], BATCHES[3], *cut(BATCHES[5:], 27, 2)),
}
FINITE = {
    name: [each for each in headers if each.value not in _INFINITE]
    for name, headers in EVERY_KIND.items()
}
"""User headers of all kinds, but for infinity: no text says that a library must take it."""
KINDS = tuple(
    in_order(
        number,
        [
            make_frame(
                b"kinds",
                *(text_header(each.key, each.kind, each.value) for each in headers),
                id=number + 1,
            )
        ],
    )
    for number, headers in enumerate(FINITE.values())
)
HEADERS: dict[str, tuple[Batch, ...]] = {
    "kinds": KINDS,
    "published": (in_order(0, [make_frame(b"orders_data_3", *PUBLISHED, id=1)]),),
    "between": (
        in_order(
            0,
            [
                make_frame(b"without", id=1),
                make_frame(b"with", *PUBLISHED, id=2),
                make_frame(b"without too", id=3),
            ],
        ),
    ),
}
PIECES = {
    "single": Pieces(single=True),
    "size": Pieces(50),
    "header": Pieces(200),
    "body": Pieces(-3),
}
"""How replies come: cut after so many bytes, within the part that is named."""
UNKNOWN_KINDS = {"16": 16, "255": 255}
OTHERS = in_order(100, [make_frame(b"of another request", id=9)])
LATE_S = 1.0
ENDLESS = 50
SOUND = (FIELDS, *cut(BATCHES, 2, 3), BATCHES[2])
DAMAGED_BATCH = in_order(5, [make_frame(b"damaged", id=6), make_frame(b"behind", id=7)])


@client_case("poll/fields", "messages", "consumer", "driver", "tcp")
def test_fields(client: Client) -> Observation:
    """The user of a consumer is given every polled message with its fields as sent."""
    return observe_polled(client, FIELDS)


@client_case("poll/id", "messages", "consumer", "driver", "tcp")
@pytest.mark.parametrize("name", IDS)
def test_id(client: Client, name: str) -> Observation:
    """The user of a consumer is given the id of a message exactly, however large."""
    return observe_polled(client, in_order(0, [make_frame(b"an id", id=IDS[name])]))


@client_case("poll/numbers", "messages", "consumer", "driver", "tcp")
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(client: Client, name: str) -> Observation:
    """The user of a consumer is given the offset and the times of a message, however large."""
    return observe_polled(client, NUMBERS[name])


@client_case("poll/length", "messages", "consumer", "driver", "tcp")
@pytest.mark.parametrize("length", map(str, LENGTHS))
def test_length(client: Client, length: str) -> Observation:
    """The user of a consumer is given a message of any length, and the one behind it."""
    frames = [make_frame(bytes(int(length)), id=1), make_frame(b"the one behind it", id=2)]
    return observe_polled(client, in_order(0, frames))


@client_case("poll/empty", "messages", "consumer", "driver", "tcp")
def test_empty(client: Client) -> Observation:
    """The user of a consumer is given no message when a poll has none."""
    return observe_polled(client)


@client_case("poll/slices", "slices", "consumer", "driver", "tcp")
@pytest.mark.parametrize("name", SLICES)
def test_slices(client: Client, name: str) -> Observation:
    """The user of a consumer is given every message of several batches, and of parts of them."""
    return observe_polled(client, *SLICES[name])


@client_case("poll/headers", "headers", "consumer", "driver", "tcp")
@pytest.mark.parametrize("name", HEADERS)
def test_headers(client: Client, name: str) -> Observation:
    """The user of a consumer is given the user headers of a message: keys, kinds and values."""
    script = make_script("consumer", polls=[Batches(HEADERS[name])], asks=[ask_poll(count=30)])
    story = client.play(script, answered(1))
    if told(story) and not is_told(story, "headers"):
        return not_told("headers")
    return observe_members(story, due_of(HEADERS[name]), MEMBERS, ("headers", "payload"))


@client_case("poll/headers-unknown", "headers-unknown", "consumer", "driver", "tcp")
@pytest.mark.parametrize("kind", UNKNOWN_KINDS)
def test_headers_unknown(client: Client, kind: str) -> Observation:
    """A user header of an unknown kind costs a consumer neither the message nor its neighbours."""
    odd = text_header("key", UNKNOWN_KINDS[kind], b"value")
    sent = [b"before", b"with an unknown kind", b"behind"]
    frames = [
        make_frame(payload, *([odd] if number == 1 else []), id=number + 1)
        for number, payload in enumerate(sent)
    ]
    script = make_script(
        "consumer", polls=[Batches((in_order(0, frames),))], asks=[ask_poll(count=30)]
    )
    story = client.play(script, answered(1))
    messages = told(story)
    if messages is None:
        return shown(story, "refused", seen=answered(1)(story))
    found = [each.get("payload") for each in messages]
    if found == [in_base64(each) for each in sent]:
        return unless(story, "given")
    return unless(story, "messages:fewer" if len(found) < len(sent) else "other")


@client_case("frames/poll", "framing", "consumer", "driver", "tcp")
@pytest.mark.parametrize("cut_at", PIECES)
def test_pieces(client: Client, cut_at: str) -> Observation:
    """The user of a consumer is given every message of a reply that comes in pieces."""
    return observe_polled(client, FIELDS, pieces=PIECES[cut_at])


@client_case("frames/send", "framing", "producer", "driver", "tcp")
@pytest.mark.parametrize("cut_at", PIECES)
def test_send_pieces(client: Client, cut_at: str) -> Observation:
    """The user of a producer is told of success if the reply comes in pieces."""
    script = make_script("producer", asks=[ask_send([ONE])], pieces=PIECES[cut_at])
    story = client.play(script, answered(1, SEND))
    value = "success" if results(story, SEND) else "not-told"
    return shown(story, value, seen=answered(1, SEND)(story))


@client_case("poll/other-number", "correlate", "consumer", "driver", "tcp")
def test_other_number(client: Client) -> Observation:
    """A consumer does not take a reply with another request number for the answer to its poll."""
    wrong = Odd({"request": 999_999}, Batches((OTHERS,)))
    script = make_script("consumer", polls=[wrong], asks=[ask_poll(LATER, 3)])
    story = client.play(script, answered(1), within=LONG)
    messages = told(story)
    if messages is None:
        return shown(story, "refused", seen=answered(1)(story))
    payload = in_base64(OTHERS.frames[0].payload)
    is_given = any(each.get("payload") == payload for each in messages)
    return unless(story, "given" if is_given else "withheld")


@client_case("poll/late", "correlate", "consumer", "driver", "tcp")
def test_late(client: Client) -> Observation:
    """A consumer gives its user no late reply as the answer to a later poll."""
    late = Late(LATE_S, Batches((OTHERS,)))
    script = make_script("consumer", polls=[late], asks=[ask_poll(), ask_poll(LATER, 3)])
    story = client.play(script, answered(2), within=LONG)
    is_right = is_given_later(story) or told(story, 1) is None
    return shown(story, "in-order" if is_right else "mixed-up", seen=answered(2)(story))


@client_case("checksum/wrong", "verify", "consumer", "driver", "tcp")
@pytest.mark.parametrize("change", DAMAGED)
def test_wrong(client: Client, change: str) -> Observation:
    """A consumer refuses, withholds or marks a message with a wrong checksum."""
    damaged = Batches((DAMAGED_BATCH,), change)
    script = make_script("consumer", polls=(damaged,) * MANY, asks=[ask_poll(5, 2)])
    over = any_of(answered(1), lambda s: len(polls(s)) > ENDLESS)
    story = client.play(script, over, within=LONG)
    if not answered(1)(story) and len(polls(story)) > 1:
        return unless(story, "withheld", note="the client asks for it again")
    messages = told(story)
    if messages is None:
        return shown(story, "refused", seen=answered(1)(story))
    if len(messages) < len(DAMAGED_BATCH.frames):
        return unless(story, "withheld")
    return unless(story, "marked" if messages[0].get("warning") else "given")


@client_case("checksum/right", "verify-right", "consumer", "driver", "tcp")
@pytest.mark.parametrize("number", range(len(SOUND)), ids=map(str, range(len(SOUND))))
def test_right(client: Client, number: int) -> Observation:
    """The user of a consumer is given messages whose checksums are right."""
    return observe_polled(client, SOUND[number], members=("payload",))


@client_case("checksum/later", "verify-right", "consumer", "driver", "tcp")
@pytest.mark.parametrize("change", DAMAGED)
def test_later(client: Client, change: str) -> Observation:
    """A wrong checksum disturbs no later poll of a consumer."""
    damaged = Batches((DAMAGED_BATCH,), change)
    script = make_script("consumer", polls=[damaged], asks=[ask_poll(5, 2), ask_poll(LATER, 3)])
    story = client.play(script, answered(2), within=LONG)
    value = "goes-on" if is_given_later(story) else "stuck"
    return shown(story, value, seen=answered(2)(story))


@client_case("checksum/bounded", "bounded", "consumer", "driver", "tcp")
def test_bounded(client: Client) -> Observation:
    """A consumer stops asking for a message that stays damaged."""
    damaged = Batches((DAMAGED_BATCH,), "payload")
    script = make_script("consumer", polls=(damaged,) * MANY, asks=[ask_poll(5, 2)])
    endless = any_of(answered(1), lambda s: len(polls(s)) > ENDLESS)
    story = client.play(script, endless, within=LONG)
    count = len(polls(story))
    value = "endless" if count > ENDLESS else "bounded"
    return shown(story, value, seen=endless(story), note=f"{count} polls")
