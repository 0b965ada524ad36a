"""What a story shows, in the words that the cases for clients share."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from wireproof_kit.clients.client import COURSE_S
from wireproof_kit.clients.events import (
    Connected,
    Disconnected,
    Event,
    Greeted,
    Malformed,
)
from wireproof_kit.clients.observe import any_of, gave_up, if_came, is_marked, list_told, unless
from wireproof_kit.clients.part import Role
from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients import heartbeats
from wireproof_kit.nsq.clients.client import Client
from wireproof_kit.nsq.clients.events import (
    PUBLISHES,
    SUBSCRIPTIONS,
    Commanded,
    Magic,
    Requested,
    Sent,
)
from wireproof_kit.nsq.clients.script import (
    NODE_1,
    NODE_2,
    After,
    Bytes,
    Close,
    Lead,
    Note,
    Rule,
    Script,
    Silence,
    once,
)
from wireproof_kit.nsq.observe.observations import find_difference
from wireproof_kit.observation import Observation
from wireproof_spec.decoding import encode
from wireproof_spec.driver.lines import from_base64
from wireproof_spec.nsq import error_codes, names
from wireproof_spec.nsq.frame import (
    FRAME_TYPE_ERROR,
    FRAME_TYPE_RESPONSE,
    SERVER_FRAME,
    ServerFrame,
    error_frame,
)

Question: TypeAlias = Callable[[Story], bool]

NODES = "nsqd"
HOT = 20
"""More attempts in a second than this are a loop, if few publishes are asked for."""
MOST_CALM = 5 * HOT
"""The same for a client that publishes twenty times a second; a loop made 17,000 attempts."""
REOPEN_S = 2.0
REOPENING = tuple(
    once(event, Close(), After(REOPEN_S, (Note(),))) for event in ("PUBLISH", "SUBSCRIBE")
)
"""Rules of a node that closes the first connection with work on it, and a time to open others."""
NEXT_LOOKUP = (
    "the client has not looked up since its connection was closed, and may wait for its next "
    "lookup before it connects again; --timeout SEC gives it longer"
)

ONE_ROUND = (
    "the client has looked up once, and may be waiting for its next lookup; --timeout SEC gives "
    "it longer"
)
SELDOM = {"lookup_interval_ms": "60000"}
"""The next lookup by the interval is far away: one that comes has been asked for."""
_ORIGINAL = (
    "the client names no partition, so it uses the original protocol, which does not require what "
    "this case checks"
)
_NOT_FOLLOWED = (
    "the client does not look up the new leader after the error code alone, so the case cannot "
    "show how it reads the same code with a text behind it"
)


def move_and_back(event: str, *, stays: int) -> tuple[Rule, ...]:
    """Return rules by which the leader moves to the second node, and then back to the first.

    The error frame of the first move has only a code, that of the second a text behind it.

    ``stays`` is how many commands of the kind the new leader answers as usual in between.
    """
    code = error_codes.E_FAILED_ON_NOT_LEADER
    # Without a text, error_frame leaves a blank behind the code, as nodes do.
    bare = Bytes(encode(SERVER_FRAME, ServerFrame(FRAME_TYPE_ERROR, code.encode())))
    with_text = Bytes(error_frame(code, "no leader here"))
    return (
        once(event, Silence(), Lead({0: NODE_2}), bare, peer=NODE_1),
        Rule(event, (Silence(), Lead({0: NODE_1}), with_text), peer=NODE_2, first=stays + 1),
    )


def has_looked_again(story: Story) -> bool:
    """Return True if a lookup followed the first error of the second node."""
    error = story.first(
        Sent, lambda each: each.frame_type == FRAME_TYPE_ERROR and _is_second(each)
    )
    return error is not None and any(
        comes_before(error, lookup, story) for lookup in lookups(story)
    )


def not_followed(story: Story, sent: Iterable[Commanded]) -> Observation | None:
    """Return the observation of a client that has not followed the first of two moves, or None."""
    if any(map(_is_second, sent)):
        return None
    value = "inconclusive:starved" if story.is_starved() else "unsupported"
    return unless(story, value, note=_NOT_FOLLOWED)


def _is_second(event: Event) -> bool:
    return event.peer == NODE_2


def _is_original(story: Story) -> bool:
    """Return True for a client of the original NSQ: it did its work, and named no partition.

    Its guide says that a client library *should* read the answer to IDENTIFY before it goes on,
    and its protocol lets a client leave IDENTIFY out. Document 004 binds clients that know
    partitions.
    """
    work = (*publishes(story), *subscriptions(story))
    return bool(work) and all(each.partition is None for each in work)


def unless_original(seen: Observation, story: Story, broken: str) -> Observation:
    """Return ``unsupported`` if an original client does what only document 004 forbids."""
    if seen.value == broken and _is_original(story):
        return unless(story, "unsupported", note=_ORIGINAL)
    return seen


def commands(story: Story, *called: str) -> list[Commanded]:
    """Return the commands with these names that the client sent, in order."""
    return story.of(Commanded, lambda event: event.name in called)


def publishes(story: Story) -> list[Commanded]:
    """Return the publish commands that the client sent, in order."""
    return commands(story, *PUBLISHES)


def subscriptions(story: Story) -> list[Commanded]:
    """Return the subscribe commands that the client sent, in order."""
    return commands(story, *SUBSCRIPTIONS)


def finishes(story: Story) -> list[Commanded]:
    """Return the FIN commands that the client sent, in order."""
    return commands(story, "FIN")


def lookups(story: Story, peer: str | None = None) -> list[Requested]:
    """Return the client's /lookup requests, to one lookup server or to all."""
    return requests(story, "/lookup", peer)


def requests(story: Story, path: str, peer: str | None = None) -> list[Requested]:
    """Return the client's HTTP requests for a path, to one lookup server or to all."""
    return story.of(Requested, lambda event: event.path == path and peer in (None, event.peer))


def node_connections(story: Story) -> list[Connected]:
    """Return the client's connections to nodes, in order."""
    return story.of(Connected, lambda event: event.peer.startswith(NODES))


def is_success(event: Event) -> bool:
    """Return True for a node's answer OK; after it, a trace answer has the message's place."""
    return (
        isinstance(event, Sent)
        and event.frame_type == FRAME_TYPE_RESPONSE
        and event.data.startswith(names.OK)
    )


def closed_by_client(story: Story, conn: str) -> bool:
    """Return True if the client closed the connection with this name."""
    return bool(story.of(Disconnected, lambda event: event.conn == conn and event.by == "client"))


def awaits_lookup(story: Story) -> bool:
    """Return True if a client has lost a node, and may be waiting for its next round of lookups.

    The original guide lets a client connect again only to a node that a later round names. A
    driver was given the interval, and a client that has asked a server twice keeps a short one.
    """
    rounds, lost = lookups(story), story.first(Disconnected, lambda e: e.peer.startswith(NODES))
    if lost is None or not rounds:
        return False
    return looks_up_once(story) and comes_before(rounds[-1], lost, story)


def looks_up_once(story: Story) -> bool:
    """Return True if a client asked each server once at most, and its interval is not known."""
    rounds = lookups(story)
    return not story.first(Greeted) and len(rounds) <= distinct(each.peer for each in rounds)


def is_reopened(story: Story) -> bool:
    """Return True if three connections were used, or the time to open them is over."""
    work = (*publishes(story), *subscriptions(story))
    return is_marked(story) or distinct(event.conn for event in work) >= 3


def begin_in_order(story: Story) -> bool:
    """Return True if each connection to a node that was used began with magic and IDENTIFY."""
    return all(_begins_in_order(story, connection.conn) for connection in node_connections(story))


def _begins_in_order(story: Story, conn: str) -> bool:
    said = story.of(Event, lambda each: each.conn == conn and isinstance(each, _SAID))[:2]
    names = [each.name if isinstance(each, Commanded) else type(each).__name__ for each in said]
    return names == ["Magic", "IDENTIFY"][: len(said)]


_SAID = (Magic, Commanded, Malformed)


def list_ready(story: Story) -> list[tuple[str, int]]:
    """Return connection and count of each RDY that the client sent; the count is 1 if left out."""
    sent = commands(story, "RDY")
    return [(event.conn, int(event.words[0]) if event.words else 1) for event in sent]


def answers_after(seconds: float, *called: str) -> Question:
    """Return the condition that a heartbeat is answered so long after one of these commands."""
    return lambda story: heartbeats.is_answered(story, *called, after=seconds)


def at_least(count: int, find: Callable[[Story], list[Commanded]]) -> Callable[[Story], bool]:
    """Return the condition that the client sent at least this number of commands."""
    return lambda story: len(find(story)) >= count


def comes_before(first: Event | None, second: Event | None, story: Story) -> bool:
    """Return True if the first event happened before the second, or without it."""
    if first is None:
        return False
    return second is None or story.index(first) < story.index(second)


def error_sent(story: Story) -> Sent | None:
    """Return the first error that the kit sent to the client, or None."""
    return story.first(Sent, lambda event: event.frame_type == 1)


def most_calm(story: Story, role: Role) -> int:
    """Return how many attempts in a second are no loop yet.

    A producer without a driver publishes about twenty times a second, as docs/clients.md asks. For
    each publish it may look up or connect, and do so again.
    """
    return HOT if role == "consumer" or story.first(Greeted) else MOST_CALM


def distinct(values: Iterable[object]) -> int:
    """Return the number of different values."""
    return len(set(values))


def play(
    client: Client,
    script: Script,
    ends: Mapping[str, Question],
    otherwise: str,
    *,
    within: float = COURSE_S,
    given_up: str = "",
) -> Observation:
    """Play a script to the client until a condition holds; its word is the observation.

    ``otherwise`` is the word if patience runs out first, ``given_up`` the one that says that the
    client's own patience did.
    """
    story = client.play(script, any_of(*ends.values()), within=within)
    return end_of(story, ends, otherwise, given_up)


def play_beats(client: Client, script: Script, answered: Question) -> Observation:
    """Play a script until heartbeats are answered; the observation rests on one of them."""
    story = client.play(script, answered)
    return heartbeats.rest_on_beat(story, end_of(story, {"answered": answered}, "silent"))


def end_of(
    story: Story, ends: Mapping[str, Question], otherwise: str, given_up: str = ""
) -> Observation:
    """Return the word of the first condition that holds for what the client did."""
    for value, question in ends.items():
        if question(story):
            return (gave_up if value == given_up else unless)(story, value)
    return unless(story, otherwise, seen=False)


def observe_body(story: Story, due: bytes, *, otherwise: str) -> Observation:
    """Compare the body of the first message that the user was given with the body due."""
    message = next(iter(list_told(story, "message")), None)
    body = from_base64(str(message.event.fields.get("body"))) if message else b""
    if body == due:
        return if_came(story, "as-delivered", came=message is not None)
    difference = find_difference("body", expected=due, found=body)
    return if_came(story, otherwise, came=message is not None, difference=difference)
