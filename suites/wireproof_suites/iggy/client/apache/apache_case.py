"""The decorator of cases for clients of generation apache, and what such cases share."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pytest

from wireproof_kit.case import case
from wireproof_kit.clients.events import Event
from wireproof_kit.clients.observe import any_of, failures, shown, unless
from wireproof_kit.clients.part import Role, Until
from wireproof_kit.clients.pieces import Pieces
from wireproof_kit.clients.story import Story
from wireproof_kit.iggy.apache import APACHE
from wireproof_kit.iggy.clients.apache.decoder import LOGIN, read_headers
from wireproof_kit.iggy.clients.apache.law import LAW, RequestLaw
from wireproof_kit.iggy.clients.client import Client
from wireproof_kit.iggy.clients.driver_requests import POLL, SEND, ask_poll, ask_send
from wireproof_kit.iggy.clients.events import Asked, Replied
from wireproof_kit.iggy.clients.probes import ONE, polls, sends
from wireproof_kit.iggy.clients.script import (
    Batches,
    Operation,
    Reply,
    Script,
    Transport,
)
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.observation import Observation, observed
from wireproof_spec.driver.lines import in_base64
from wireproof_spec.iggy.apache.batch import Batch
from wireproof_spec.iggy.header_kinds import HEADER_KINDS
from wireproof_spec.iggy.headers import Header
from wireproof_suites.iggy.client.seen import answered, is_malformed, observe_members

Case: TypeAlias = Callable[..., Observation]
LONG = 12.0
MANY = 10_000
"""More requests than a client repeats while a case lasts, however short its pauses."""
FIELDS = ("offset", "timestamp", "origin_timestamp", "id", "checksum", "headers", "payload")


def client_case(subject: str, clause: str, *needs: str) -> Callable[[Case], Case]:
    """Return a decorator that makes a function the case ``iggy/apache/client-SUBJECT``.

    ``needs`` are the capabilities that the client must have, without ``client-``.
    """
    return _mark(subject, clause, needs)


def in_each_role(subject: str, clause: str, *needs: str) -> Callable[[Case], Case]:
    """Return a decorator for a case that runs in each role that the client plays."""
    roles: tuple[Role, ...] = ("consumer", "producer")
    mark = _mark(subject, clause, needs, {role: (f"client-{role}",) for role in roles})
    return lambda function: pytest.mark.parametrize("role", roles)(mark(function))


def _mark(
    subject: str,
    clause: str,
    needs: Sequence[str],
    needs_of: Mapping[str, tuple[str, ...]] | None = None,
) -> Callable[[Case], Case]:
    return case(
        f"iggy/apache/client-{subject}",
        clause=f"iggy.apache.client.{clause}",
        needs=tuple(f"client-{need}" for need in needs),
        waiting=True,
        needs_of=needs_of,
    )


@dataclass(frozen=True, slots=True)
class Due:
    """A message as the user of a client is to be given it."""

    offset: int
    timestamp: int
    origin_timestamp: int
    id: int
    checksum: int
    headers: tuple[Header, ...]
    payload: bytes


MEMBERS: Mapping[str, Callable[[Due], object]] = {
    "offset": lambda due: str(due.offset),
    "timestamp": lambda due: str(due.timestamp),
    "origin_timestamp": lambda due: str(due.origin_timestamp),
    "id": lambda due: str(due.id),
    "checksum": lambda due: str(due.checksum),
    "headers": lambda due: {
        header.key: {"kind": HEADER_KINDS.get(header.kind), "value": in_base64(header.value)}
        for header in due.headers
    },
    "payload": lambda due: in_base64(due.payload),
}
"""The members that a driver may tell of a message, and what they are."""


def due_of(batches: Sequence[Batch]) -> list[Due]:
    """Return the messages of batches as the user of a client is to be given them."""
    return [
        Due(
            offset=batch.header.base_offset + frame.offset_delta,
            timestamp=batch.header.base_timestamp,
            origin_timestamp=batch.header.origin_timestamp + frame.timestamp_delta,
            id=frame.id,
            checksum=frame.checksum,
            headers=read_headers(frame.user_headers),
            payload=frame.payload,
        )
        for batch in batches
        for frame in batch.frames
    ]


def make_script(
    role: Role,
    transport: Transport = "tcp",
    *,
    asks: Sequence[Operation],
    polls: Sequence[Reply] = (),
    sends: Sequence[Reply] = (),
    logins: Sequence[Reply] = (),
    creations: Sequence[Reply] = (),
    sessions: Sequence[int] = (),
    pieces: Pieces | None = None,
) -> Script:
    """Return a script for a client of generation apache."""
    return Script(
        role,
        transport,
        asks=tuple(asks),
        polls=tuple(polls),
        sends=tuple(sends),
        logins=tuple(logins),
        creations=tuple(creations),
        sessions=tuple(sessions),
        pieces=pieces,
        generation=APACHE,
    )


def observe_polled(
    client: Client,
    *batches: Batch,
    transport: Transport = "tcp",
    pieces: Pieces | None = None,
    members: Sequence[str] = FIELDS,
) -> Observation:
    """Let a client poll these batches, and compare what its user is given with them."""
    script = make_script(
        "consumer",
        transport,
        polls=[Batches(batches)],
        asks=[ask_poll(count=30)],
        pieces=pieces,
    )
    story = client.play(script, answered(1))
    return observe_members(story, due_of(batches), MEMBERS, members)


def ordinary(
    role: Role, asks: Sequence[Operation] = (), *, sessions: Sequence[int] = ()
) -> tuple[Script, Until]:
    """Return a script in which a client polls or sends twice, and the condition that ends it."""
    is_consumer = role == "consumer"
    usual = [ask_poll(), ask_poll(10)] if is_consumer else [ask_send([ONE]), ask_send([ONE])]
    find, op = (polls, POLL) if is_consumer else (sends, SEND)
    asked = list(asks or usual)
    script = make_script(role, asks=asked, sessions=sessions)
    return script, any_of(
        lambda story: len(find(story)) >= len(asked) and answered(len(asked), op)(story),
        lambda story: len(find(story)) >= len(asked) and not story.conversation.hello,
        is_malformed,
    )


def observe_law(
    client: Client,
    clause: str,
    role: Role,
    asks: Sequence[Operation] = (),
    *,
    sessions: Sequence[int] = (),
    only: str = "",
) -> Observation:
    """Return what the client's requests in an ordinary course show of a clause.

    ``only`` is the one value by which a request can break it here.
    """
    script, until = ordinary(role, asks, sessions=sessions)
    story = client.play(script, until)
    return judge_story(story, clause, seen=until(story), only=only)


def judge_story(story: Story, clause: str, *, seen: bool, only: str = "") -> Observation:
    """Return what the requests of a story show of a clause: the first that breaks it, or right."""
    found = [
        finding for finding in findings_of(story.events) if finding.clause == f"{LAW}{clause}"
    ]
    broken = [each for each in found if each.value and only in ("", each.value)]
    if broken:
        return observed(broken[0].value, note=broken[0].note, difference=broken[0].difference)
    return shown(story, "right", seen=seen and bool(found) and not is_malformed(story))


def findings_of(events: Sequence[Event]) -> Iterator[Finding]:
    """Yield what the requests of all TCP connections show, in their order."""
    laws: dict[str, RequestLaw] = {}
    for event in events:
        law = laws.setdefault(event.conn, RequestLaw())
        if isinstance(event, Asked) and event.request is not None:
            yield from law.see_request(event.request)
        elif isinstance(event, Replied):
            law.see_answer(event.data)


def logins_of(story: Story) -> list[Asked]:
    """Return the logins of a story over TCP."""
    return story.of(Asked, lambda each: each.command == LOGIN and each.request is not None)


def is_settled(op: str) -> Until:
    """Return the condition that the user was answered, or that the client repeats itself."""
    return any_of(answered(1, op), lambda story: _asked_for(story, op) > 1)


def observe_trouble(story: Story, op: str, *, done: bool) -> Observation:
    """Return whether the user was told of an error; a client may repeat its requests before.

    ``done`` says whether the client has got from a later answer what its user asked for.
    """
    if failures(story, op):
        return unless(story, "told")
    if not answered(1, op)(story) and _asked_for(story, op) > 1:
        return unless(story, "repeats")
    value = "repeats" if done else "reported-success"
    return shown(story, value, seen=answered(1, op)(story))


def _asked_for(story: Story, op: str) -> int:
    """Return how often the client has sent what it does for an operation, or has logged in."""
    commands = {POLL: "poll_messages", SEND: "send_messages"}
    name = commands.get(op, op)
    own = len(story.of(Asked, lambda each: each.command == name))
    return max(own, len(logins_of(story)))
