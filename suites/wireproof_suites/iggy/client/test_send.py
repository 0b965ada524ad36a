"""What a client sends: its requests, the messages in them, and what its user is told."""

from collections.abc import Sequence

from wireproof_kit.clients.observe import any_of, failures, results, shown, unless
from wireproof_kit.clients.part import Until
from wireproof_kit.clients.story import Story
from wireproof_kit.iggy.clients.client import Client
from wireproof_kit.iggy.clients.driver_requests import POLL, SEND, ask_poll, ask_send
from wireproof_kit.iggy.clients.probes import ONE, polls, sends
from wireproof_kit.iggy.clients.script import Raw, Refuse, Script, Transport
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_spec.iggy.bodies.partitioning import (
    Partitioning,
    make_balanced,
    messages_key,
    partition_id,
)
from wireproof_spec.iggy.bodies.send_messages import SendMessages, SentMessage
from wireproof_spec.iggy.kinds import BALANCED
from wireproof_suites.iggy.client.client_case import client_case, over_both
from wireproof_suites.iggy.client.seen import answered, is_malformed, observe_place
from wireproof_suites.iggy.client.test_poll import PUBLISHED
from wireproof_suites.iggy.steps.header_kinds import EVERY_KIND

MESSAGES: dict[str, list[SentMessage]] = {
    "one": [SentMessage(0, (), b"orders_data_2")],
    "bytes": [SentMessage(0, (), bytes(range(256)))],
    "several": [SentMessage(0, (), b"wireproof-%d" % number) for number in range(5)],
    "id": [SentMessage(2**128 - 1, (), b"greatest id"), SentMessage(1, (), b"least id")],
    "headers": [SentMessage(0, PUBLISHED, b"orders_data_3"), SentMessage(0, (), b"no header")],
    "kinds": [SentMessage(0, tuple(each), b"kinds") for each in EVERY_KIND.values()],
}
PARTITIONINGS: dict[str, Partitioning] = {
    "balanced": make_balanced(),
    "partition-id": partition_id(1),
    "messages-key": messages_key(b"wireproof-key"),
}
REFUSALS = {"partition": 3007, "topic": 2010, "count": 4009, "slice": 204, "unknown": 99_999}
MANY = 10_000
"""More requests than a client repeats while a case lasts, however short its pauses."""
REPEATS = 2
LONG = 12.0
SERVERS_OWN = frozenset({"state", "checksum", "offset", "timestamp"})


@over_both("send/layout", "send-layout", "producer", "driver", each=MESSAGES)
def test_layout(client: Client, transport: Transport, name: str) -> Observation:
    """A client sends messages with the payloads, ids and headers that its user gave."""
    given = MESSAGES[name]
    story = _send(client, Script("producer", transport, asks=(ask_send(given),)))
    return compare_sent(story, given)


def compare_sent(story: Story, given: Sequence[SentMessage]) -> Observation:
    """Compare the messages in a client's requests to send with those that its user gave."""
    found = [each for request in sent_of(story) for each in request.messages]
    if found and len(found) != len(given):
        return unless(story, "messages:more" if len(found) > len(given) else "messages:fewer")
    for number, (due, sent) in enumerate(zip(given, found, strict=False)):
        difference = _differ(number, due, sent)
        if difference is not None:
            return observed("other", difference=difference)
    if not found and (failed := failures(story, SEND)):
        return unless(story, "refused", note=failed[0].words)
    return shown(story, "as-given", seen=bool(found))


@over_both("send/place", "place", "producer")
def test_place(client: Client, transport: Transport) -> Observation:
    """A client sends messages to the stream and the topic that its user named."""
    asks = (ask_send([ONE]), ask_send([ONE]))
    story = client.play(
        Script("producer", transport, asks=asks),
        any_of(lambda s: len(sends(s)) >= 2, is_malformed),
    )
    return observe_place(story, sent_of(story))


@over_both("send/partitioning", "partitioning", "producer", "driver", each=PARTITIONINGS)
def test_partitioning(client: Client, transport: Transport, name: str) -> Observation:
    """A client sends the kind and value by which its user chose the partition."""
    due = PARTITIONINGS[name]
    story = _send(client, Script("producer", transport, asks=(ask_send([ONE], due),)))
    found = [each.partitioning for each in sent_of(story)]
    right = all(each == due or each.kind == due.kind == BALANCED for each in found)
    return shown(story, "as-given" if right else "other", seen=bool(found), note=f"{found}")


@over_both("send/well-formed", "well-formed")
def test_well_formed(client: Client, transport: Transport) -> Observation:
    """Every request that a client sends in an ordinary course is well formed."""
    op = POLL if client.role == "consumer" else SEND
    asks = (ask_poll(), ask_poll(10)) if op == POLL else (ask_send([ONE]), ask_send([ONE]))
    story = client.play(
        Script(client.role, transport, asks=asks), any_of(_has_asked_twice, is_malformed)
    )
    return shown(story, "well-formed", seen=_has_asked_twice(story))


@client_case("send/own-fields", "servers-fields", "producer", "driver", "http")
def test_own_fields(client: Client) -> Observation:
    """A client leaves the state, checksum, offset and time of a message to the server."""
    story = _send(client, Script("producer", "http", asks=(ask_send([ONE]),)))
    found = {name for event in sends(story) for name in event.members if name in SERVERS_OWN}
    value = "sent" if found else "left-out"
    return shown(story, value, seen=bool(sends(story)), note=", ".join(sorted(found)))


@over_both("send/refused", "refusal-told", "producer", "driver", each=REFUSALS)
def test_refused(client: Client, transport: Transport, name: str) -> Observation:
    """The user of a client is told that the server refused the messages."""
    refusals = (Refuse(REFUSALS[name]),) * MANY
    script = Script("producer", transport, sends=refusals, asks=(ask_send([ONE]),))
    return _observe_refusal(client.play(script, _is_settled(SEND)), SEND)


@over_both("poll/refused", "refusal-told", "consumer", "driver", each=REFUSALS)
def test_poll_refused(client: Client, transport: Transport, name: str) -> Observation:
    """The user of a client is told that the server refused the poll."""
    refusals = (Refuse(REFUSALS[name]),) * MANY
    script = Script("consumer", transport, polls=refusals, asks=(ask_poll(),))
    return _observe_refusal(client.play(script, _is_settled(POLL)), POLL)


@over_both("send/unanswered", "unanswered", "producer", "driver")
def test_unanswered(client: Client, transport: Transport) -> Observation:
    """A client does not report success for messages that the server has not answered."""
    unanswered = (Raw(b""),) * MANY
    script = Script("producer", transport, sends=unanswered, asks=(ask_send([ONE]),))
    return observe_outcome(client.play(script, answered(1, SEND), within=LONG), SEND)


def _is_settled(op: str) -> Until:
    """Return the condition that the user was answered, or that the client repeats itself."""
    return any_of(answered(1, op), lambda story: len(polls(story)) + len(sends(story)) >= REPEATS)


def _observe_refusal(story: Story, op: str) -> Observation:
    """Return whether the user was told; a client may repeat a request before it gives up."""
    if not answered(1, op)(story) and len(polls(story)) + len(sends(story)) > 1:
        return unless(story, "repeats")
    return observe_outcome(story, op)


def observe_outcome(story: Story, op: str) -> Observation:
    """Return whether the user of a client was told of an error, or of success."""
    if failures(story, op):
        return unless(story, "told")
    return shown(story, "reported-success", seen=bool(results(story, op)))


def _send(client: Client, script: Script) -> Story:
    return client.play(script, any_of(answered(1, SEND), is_malformed))


def sent_of(story: Story) -> list[SendMessages]:
    """Return the requests to send of a client case, in order."""
    return [event.sending for event in sends(story) if event.sending is not None]


def _has_asked_twice(story: Story) -> bool:
    return len(polls(story)) + len(sends(story)) >= 2


def _differ(number: int, due: SentMessage, found: SentMessage) -> Difference | None:
    """Return the first member of a sent message that is not as given; any id may be generated."""
    pairs = {
        "payload": (due.payload, found.payload),
        "headers": (set(due.headers), set(found.headers)),
        "id": (due.id, found.id if due.id else 0),
    }
    for member, (wanted, sent) in pairs.items():
        if wanted != sent:
            return Difference(f"message {number} {member}", None, f"{wanted!r}", f"{sent!r}")
    return None
