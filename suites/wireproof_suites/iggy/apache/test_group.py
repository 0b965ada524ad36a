"""Consumer groups: replies about them, members, their partitions and their offsets."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import pytest

from wireproof_kit.case import case
from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.iggy.apache import requests
from wireproof_kit.iggy.apache.answers import Answer, Replied, read_payload, read_result
from wireproof_kit.iggy.apache.batches import message
from wireproof_kit.iggy.apache.connection import Connection
from wireproof_kit.iggy.apache.observe import Polled, observe, observe_unread, read_polled
from wireproof_kit.iggy.apache.requests import UNSET, Polling, Topic
from wireproof_kit.iggy.apache.server import ApacheServer
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import PUSH, machine_load
from wireproof_kit.wire.waiting import until
from wireproof_spec.decoding import Schema, decode
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.bodies.groups import ASSIGNMENT, GROUP_DETAILS, GROUPS, Group
from wireproof_spec.iggy.apache.bodies.groups import GROUP as GROUP_OF_REPLY
from wireproof_spec.iggy.apache.bodies.messages import CONSUMER_OFFSET
from wireproof_spec.iggy.bodies.identifier import Identifier, make_named
from wireproof_spec.iggy.kinds import AUTO_COMMIT, GROUP_KIND, NEXT
from wireproof_spec.wire_error import WireError

Body = TypeVar("Body")

NAME: Final = "wp_group"
GROUP: Final = make_named(NAME)
NOBODY: Final = make_named("wp_nobody")
WHO: Final = requests.consumer(NAME, GROUP_KIND)
PLACES: Final = range(3)
CREATE, DELETE = operations.CREATE_CONSUMER_GROUP, operations.DELETE_CONSUMER_GROUP
JOIN, LEAVE = operations.JOIN_CONSUMER_GROUP, operations.LEAVE_CONSUMER_GROUP


@case("iggy/apache/group/result", clause="iggy.apache.group.result")
@pytest.mark.parametrize(
    "operation", [CREATE, JOIN, LEAVE, DELETE], ids=["create", "join", "leave", "delete"]
)
def test_result(apache: ApacheServer, apache_topic: Topic, operation: int) -> Observation:
    """The reply to a request about a consumer group begins with an empty result section."""
    if operation != CREATE:
        _create(apache, apache_topic)
    if operation == LEAVE:
        _ask(apache.client, JOIN, apache_topic)
    answer = _ask(apache.client, operation, apache_topic)
    result = read_result(answer)
    is_done = result is not None and not result.rejections
    return observed("result:done").on(answer) if is_done else observe(answer, framed=True)


@case("iggy/apache/group/result-rejected", clause="iggy.apache.group.result-rejected")
@pytest.mark.parametrize("kind", ["created-twice", "joined-nowhere", "deleted-nowhere"])
def test_result_rejected(apache: ApacheServer, apache_topic: Topic, kind: str) -> Observation:
    """A request about a consumer group that is rejected is answered with one entry, or denied."""
    _create(apache, apache_topic)
    operation = {"created-twice": CREATE, "joined-nowhere": JOIN}.get(kind, DELETE)
    group = GROUP if operation == CREATE else NOBODY
    answer = _ask(apache.client, operation, apache_topic, group)
    if isinstance(answer, Replied) and not answer.is_accepted:
        return observed("refused", note=observe(answer).value).on(answer)
    result = read_result(answer)
    if result is None:
        return observe(answer, framed=True)
    entries = [(each.index, bool(each.result)) for each in result.rejections]
    is_right = entries == [(0, True)] and not result.payload
    return observed("result:rejected" if is_right else "result:other").on(answer)


@case("iggy/apache/group/member", clause="iggy.apache.group.member")
@pytest.mark.parametrize("members", [1, 2, 3])
def test_member(apache: ApacheServer, members: int) -> Observation:
    """Members of a consumer group poll each message of all partitions, once."""
    topic = apache.new_topic(len(PLACES))
    _create(apache, topic)
    joined = [_join(apache, topic) for _ in range(members)]
    return _share(apache, topic, joined, _fill(apache, topic))


@case("iggy/apache/group/unset", clause="iggy.apache.group.unset")
@pytest.mark.parametrize("partitions", [1, 3])
def test_unset(apache: ApacheServer, partitions: int) -> Observation:
    """A member that names no partition polls the messages of all its partitions."""
    topic = apache.new_topic(partitions)
    _create(apache, topic)
    member = _join(apache, topic)
    sent = _fill(apache, topic)

    def is_vain() -> bool:
        named = (_poll(apache, topic, member, place, commit=0) for place in range(partitions))
        return any(polled.frames for polled in named)

    return _poll_in_turns(apache, topic, [(member, UNSET)] * partitions, sent, is_vain)


@case("iggy/apache/group/left", clause="iggy.apache.group.left")
@pytest.mark.parametrize("how", ["leaves", "closes", "logs-out"])
def test_left(apache: ApacheServer, how: str) -> Observation:
    """When one of two members is gone, the other one polls the messages of all partitions."""
    topic = apache.new_topic(len(PLACES))
    _create(apache, topic)
    first, second = (_join(apache, topic) for _ in range(2))
    if how == "leaves":
        _ask(first, LEAVE, topic)
    elif how == "logs-out":
        first.ask(first.request(operations.LOGOUT))
    if how != "leaves":
        first.close()
    return _share(apache, topic, [second], _fill(apache, topic))


@case("iggy/apache/group/offset", clause="iggy.apache.group.offset")
@pytest.mark.parametrize("kind", ["other-member", "by-number", "next-member"])
def test_offset(apache: ApacheServer, apache_topic: Topic, kind: str) -> Observation:
    """An offset that a member stores is that of its group."""
    number = _create(apache, apache_topic)
    member = _join(apache, apache_topic)
    sent = _fill(apache, apache_topic, 3)
    offsets = apache.poll_all(apache_topic).offsets
    if len(offsets) != len(sent):
        return observed("missing", overdue=True)
    _store(member, apache_topic, offsets[1])
    other = _join(apache, apache_topic)
    if kind == "next-member":
        _ask(member, LEAVE, apache_topic)
        return _share(apache, apache_topic, [other], sent[2:])
    answer = _ask_offset(other, apache_topic, number if kind == "by-number" else NAME)
    return _observe_offset(answer, (0, offsets[2], offsets[1]))


@case("iggy/apache/group/own-offset", clause="iggy.apache.group.own-offset")
@pytest.mark.parametrize("kind", ["consumer", "other-group", "deleted"])
def test_own_offset(apache: ApacheServer, apache_topic: Topic, kind: str) -> Observation:
    """A consumer and a group of the same name, and two groups, share no stored offset."""
    _create(apache, apache_topic)
    member = _join(apache, apache_topic)
    _fill(apache, apache_topic, 3)
    _store(member, apache_topic, apache.poll_all(apache_topic).offsets[1])
    if kind == "consumer":
        return _observe_offset(apache.ask_offset(apache_topic, consumer=NAME), None)
    if kind == "deleted":
        _ask(member, DELETE, apache_topic)
    name = NAME if kind == "deleted" else f"{NAME}_2"
    _create(apache, apache_topic, name)
    return _observe_offset(_ask_offset(member, apache_topic, name), None)


@case("iggy/apache/group/stranger", clause="iggy.apache.group.stranger")
@pytest.mark.parametrize("kind", ["never-joined", "left"])
def test_stranger(apache: ApacheServer, apache_topic: Topic, kind: str) -> Observation:
    """A client that is no member of a consumer group polls nothing in its name."""
    _create(apache, apache_topic)
    _fill(apache, apache_topic, 2)
    stranger = apache.client
    if kind == "left":
        stranger = _join(apache, apache_topic)
        _ask(stranger, LEAVE, apache_topic)
    polled = _poll(apache, apache_topic, stranger, 0)
    if polled.body is None:
        return observe(polled.answer)
    return observed("delivered:some" if polled.frames else "delivered:none").on(polled)


@case("iggy/apache/group/described", clause="iggy.apache.group.described")
@pytest.mark.parametrize("kind", ["one", "all"])
def test_described(apache: ApacheServer, kind: str) -> Observation:
    """A consumer group is described by its name, its partitions, and its members."""
    topic = apache.new_topic(len(PLACES))
    _create(apache, topic)
    _join(apache, topic)
    if kind == "all":
        body = requests.topic_body(*topic.by_number)
        answer = apache.read(operations.GET_CONSUMER_GROUPS, body)
        every = _decoded(_body_of(answer), GROUPS)
        return _observe_groups(answer, [*every.groups] if every else [])
    answer = apache.read(operations.GET_CONSUMER_GROUP, requests.group_body(topic, GROUP))
    details = _decoded(_body_of(answer), GROUP_DETAILS)
    shares = [sorted(each.partitions) for each in details.members] if details else []
    if shares != [[*PLACES]]:
        return observed("group:other", note=f"members with the partitions {shares}").on(answer)
    return _observe_groups(answer, [details.group] if details else [])


def _observe_groups(answer: Answer, groups: Sequence[Group]) -> Observation:
    found = [(each.name, each.partitions_count, each.members_count) for each in groups]
    is_right = found == [(NAME, len(PLACES), 1)]
    return observed("group:right" if is_right else "group:other", note=f"{found}").on(answer)


def _body_of(answer: Answer) -> bytes | None:
    return answer.body if isinstance(answer, Replied) and answer.is_accepted else None


@case("iggy/apache/group/sync", clause="iggy.apache.group.sync")
@pytest.mark.parametrize("members", [1, 2])
def test_sync(apache: ApacheServer, members: int) -> Observation:
    """A member that asks for its partitions is told them: each partition has one member."""
    topic = apache.new_topic(len(PLACES))
    _create(apache, topic)
    joined = [_join(apache, topic) for _ in range(members)]
    body = requests.group_body(topic, GROUP)
    answers = [each.ask(each.read(operations.SYNC_CONSUMER_GROUP, body)) for each in joined]
    shares = [_decoded(_body_of(each), ASSIGNMENT) for each in answers]
    every = sorted(number for share in shares if share for number in share.partitions)
    return observed("shares:right" if every == [*PLACES] else "shares:other").on(*answers)


def _ask(client: Connection, operation: int, topic: Topic, group: Identifier = GROUP) -> Answer:
    body = requests.group_body(topic, group)
    if operation == CREATE:
        body = requests.create_group_body(topic, group.name or NAME)
    return client.ask(client.request(operation, body))


def _create(apache: ApacheServer, topic: Topic, name: str = NAME) -> int:
    """Create a group and return its number; 0 if the reply does not tell it."""
    answer = apache.ask_settled(CREATE, requests.create_group_body(topic, name))
    seen = observe(answer, framed=True).value
    if seen != "ok":
        raise ArrangementFailed(f"create_consumer_group was answered {seen}")
    made = _decoded(read_payload(answer), GROUP_OF_REPLY)
    return made.id if made is not None else 0


def _join(apache: ApacheServer, topic: Topic) -> Connection:
    """Return a new connection that is a member of the group."""
    member = apache.connect()
    seen = observe(_ask(member, JOIN, topic), framed=True).value
    if seen != "ok":
        raise ArrangementFailed(f"join_consumer_group was answered {seen}")
    return member


def _fill(apache: ApacheServer, topic: Topic, each: int = 2) -> list[bytes]:
    """Send messages to each partition; return their payloads."""
    sent: list[bytes] = []
    for partition in range(topic.partitions):
        payloads = [b"message %d of %d" % (number, partition) for number in range(each)]
        apache.send_accepted(topic, *map(message, payloads), partition=partition)
        apache.poll_until(topic, each, Polling(partition=partition))
        sent += payloads
    return sent


def _poll(
    apache: ApacheServer, topic: Topic, member: Connection, place: int, commit: int = AUTO_COMMIT
) -> Polled:
    """Poll the next message of a partition for the group, and store its offset."""
    polling = Polling(NEXT, 0, 1, commit, NAME, GROUP_KIND, place)
    body = requests.poll_body(topic.by_number, 0, polling)
    answer = member.ask(member.read(operations.POLL_MESSAGES, body))
    return read_polled(answer, apache.access.envelope)


def _share(
    apache: ApacheServer, topic: Topic, members: Sequence[Connection], sent: Sequence[bytes]
) -> Observation:
    """Let members poll each partition in turns until each message came, and once more."""
    turns = [(member, place) for place in range(topic.partitions) for member in members]
    return _poll_in_turns(apache, topic, turns, sent, lambda: False)


def _poll_in_turns(
    apache: ApacheServer,
    topic: Topic,
    turns: Sequence[tuple[Connection, int]],
    sent: Sequence[bytes],
    is_vain: Callable[[], bool],
) -> Observation:
    """Poll in turns until each message came, or until a round without any is known to be vain."""
    found: list[bytes] = []

    def look() -> Observation | bool | None:
        before = len(found)
        for member, place in turns:
            polled = _poll(apache, topic, member, place)
            unread = observe_unread(polled)
            if unread is not None:
                return unread
            found.extend(polled.payloads)
        if set(sent) <= set(found):
            return True
        return False if len(found) == before and is_vain() else None

    seen = until(look, seconds=_seconds(apache), every=0.02)
    if seen is True:
        # What comes behind the last message is a message that came before.
        seen = look()
    if isinstance(seen, Observation):
        return seen
    note = f"{len(set(found))} of {len(sent)} came"
    if seen:
        return observed("delivered:all" if len(found) == len(sent) else "delivered:twice")
    value = "delivered:fewer" if found else "delivered:none"
    return observed(value, note=note, overdue=seen is None)


def _seconds(apache: ApacheServer) -> float:
    return apache.patience.seconds(PUSH) * machine_load()


def _store(member: Connection, topic: Topic, offset: int) -> None:
    """Store the offset of the group in partition 0."""
    body = requests.store_offset_body(topic, WHO, 0, offset)
    answer = member.ask(member.request(operations.STORE_CONSUMER_OFFSET, body))
    seen = observe(answer, framed=True).value
    if seen != "ok":
        raise ArrangementFailed(f"store_consumer_offset of a member was answered {seen}")


def _ask_offset(client: Connection, topic: Topic, name: int | str) -> Answer:
    body = requests.get_offset_body(topic, requests.consumer(name, GROUP_KIND), 0)
    return client.ask(client.read(operations.GET_CONSUMER_OFFSET, body))


def _observe_offset(answer: Answer, due: tuple[int, int, int] | None) -> Observation:
    """Return ``offset:right``, ``offset:other`` or ``offset:none``, or what was answered."""
    seen = observe(answer)
    if not isinstance(answer, Replied) or seen.value != "ok":
        return seen
    told = _decoded(answer.body, CONSUMER_OFFSET) if answer.body else None
    if told is None:
        return observed("undecodable" if answer.body else "offset:none").on(answer)
    fields = told.partition_id, told.current_offset, told.stored_offset
    return observed("offset:right" if fields == due else "offset:other", note=f"{fields}").on(
        answer
    )


def _decoded(body: bytes | None, schema: Schema[Body]) -> Body | None:
    try:
        return None if body is None else decode(schema, body)
    except WireError:
        return None
