"""Alternatives of generation `apache`: each shows, in the way that its sentence says."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from apache_bench import (
    ME,
    ZERO,
    Bench,
    Client,
    login_body,
    message,
    messages,
    polling,
    sending,
    sending_batch,
)
from apache_group_sessions import about, around, create

from wireproof_reference_impl.iggy.apache.topics import Group
from wireproof_reference_impl.iggy.presets import overrides
from wireproof_reference_impl.overrides import apply_overrides
from wireproof_spec.decoding import decode, encode
from wireproof_spec.iggy.apache import operations, statuses
from wireproof_spec.iggy.apache.batch import BatchHeader, make_batch
from wireproof_spec.iggy.apache.bodies.messages import GET_CONSUMER_OFFSET, GetConsumerOffset
from wireproof_spec.iggy.apache.bodies.places import one_partition
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_spec.iggy.apache.frames import Eviction, Request, encode_request
from wireproof_spec.iggy.apache.header import HEADER_SIZE, RequestHeader
from wireproof_spec.iggy.apache.user_headers import USER_HEADERS, UserHeader, text_header
from wireproof_spec.iggy.header_kinds import STRING, UINT32
from wireproof_spec.iggy.kinds import OFFSET

READ = operations.NON_REPLICATED


@contextmanager
def variant(name: str) -> Iterator[None]:
    with apply_overrides(overrides((), (name,))):
        yield


def operation_255(client: Client) -> object:
    answer = client.ask(255)
    return answer.header.reason if isinstance(answer, Eviction) else answer


def odd_headers(client: Client) -> object:
    return client.status(operations.SEND_MESSAGES, sending(message(b"x", user_headers=b"\x10")))


def unreadable_poll(client: Client) -> object:
    return client.status(READ, b"\x09", code=operations.POLL_MESSAGES)


def another_session(client: Client) -> object:
    return client.status(READ, polling(), code=operations.POLL_MESSAGES, session=999)


def records(client: Client) -> object:
    client.produce(*messages(b"one", b"two", b"three"))
    assert len(client.poll().batches) == 1
    return len(client.poll(strategy=OFFSET, value=1).batches)


def release(client: Client) -> object:
    return client.reply(READ, code=operations.PING, release=5).header.release


def view(client: Client) -> object:
    return client.reply(READ, code=operations.PING).header.view


def echoed(client: Client) -> object:
    header = client.reply(operations.SEND_MESSAGES, sending(message(b"x")), timestamp=5).header
    return (header.client == client.number, header.timestamp == 5)


def reserved(client: Client) -> object:
    return client.ask(READ, code=operations.PING, reserved=bytes(55) + b"\1") is None


def session(client: Client) -> object:
    return client.session > 10**9


def bad_size(client: Client) -> object:
    header = RequestHeader(client=1, operation=READ, size=5)
    client.send(encode_request(Request(header, b"")))
    assert client.closed
    return len(client.take())


def foreign(client: Client) -> object:
    client.ask(READ, code=operations.PING, command=6)
    return client.closed


def without_client(client: Client) -> object:
    answer = client.ask(READ, code=operations.PING, client=0)
    return answer.header.reason if isinstance(answer, Eviction) else answer


def login_again(client: Client) -> object:
    return client.ask(operations.REGISTER, login_body(), session=0, request=0) is not None


def login_with_more(client: Client) -> object:
    other = client.bench.connect()
    answer = other.ask(operations.REGISTER, login_body() + b"x", session=0, request=0)
    return answer.header.reason if isinstance(answer, Eviction) else None


def _with_headers(client: Client, *headers: UserHeader) -> object:
    block = encode(USER_HEADERS, headers)
    return client.status(operations.SEND_MESSAGES, sending(message(b"x", user_headers=block)))


def narrow_header(client: Client) -> object:
    return _with_headers(client, text_header("k", UINT32, b"123"))


def key_twice(client: Client) -> object:
    return _with_headers(client, *[text_header("k", STRING, b"v")] * 2)


def empty_payload(client: Client) -> object:
    return client.status(operations.SEND_MESSAGES, sending(message(b"")))


def server_fields(client: Client) -> object:
    batch = make_batch(BatchHeader(base_offset=5), messages(b"x"))
    return client.status(operations.SEND_MESSAGES, sending_batch(batch))


def never_stored(client: Client) -> object:
    body = encode(GET_CONSUMER_OFFSET, GetConsumerOffset(ME, ZERO, ZERO, one_partition(0)))
    return client.status(READ, body, code=operations.GET_CONSUMER_OFFSET)


def undescribed_group(client: Client) -> object:
    create(client, "g")
    return len(about(client, READ, code=operations.GET_CONSUMER_GROUP)) > HEADER_SIZE


def group_created_twice(client: Client) -> object:
    create(client, "g")
    return len(create(client, "g")) > HEADER_SIZE


def poll_of_stranger(client: Client) -> object:
    create(client, "g")
    return len(around(client)[1]) > HEADER_SIZE


def first_share(client: Client) -> object:
    client.bench.node.streams[0].topics[0].groups[0] = group = Group(0, "g")
    group.join(client.number)
    group.join(0)
    return [*group.share(client.number, 4)]


@pytest.mark.parametrize(
    ("name", "seen", "usual", "other"),
    [
        ("unknown-operations-evicted", operation_255, None, 4),
        ("user-headers-checked", odd_headers, 0, statuses.RESOURCE_NOT_FOUND),
        ("unreadable-polls-refused", unreadable_poll, 0, statuses.INVALID_COMMAND),
        ("sessions-compared", another_session, 0, statuses.UNAUTHENTICATED),
        ("rest-in-single-records", records, 1, 2),
        ("replies-of-release-zero", release, 5, 0),
        ("replies-of-another-view", view, 0, 7),
        ("replies-echo-all", echoed, (False, False), (True, True)),
        ("sessions-from-a-billion", session, False, True),
        ("reserved-bytes-of-requests-checked", reserved, False, True),
        ("bad-sizes-evicted", bad_size, 0, 256),
        ("foreign-commands-end-connections", foreign, False, True),
        ("bad-headers-evicted", without_client, None, 5),
        ("second-login-answered", login_again, False, True),
        ("login-with-more-refused", login_with_more, None, 15),
        ("user-header-widths-checked", narrow_header, 0, statuses.RESOURCE_NOT_FOUND),
        ("user-header-widths-checked", key_twice, 0, statuses.RESOURCE_NOT_FOUND),
        ("empty-payloads-refused", empty_payload, 0, statuses.RESOURCE_NOT_FOUND),
        ("server-fields-refused", server_fields, 0, statuses.RESOURCE_NOT_FOUND),
        ("groups-undescribed", undescribed_group, True, False),
        ("group-rejections-denied", group_created_twice, True, False),
        ("group-strangers-denied", poll_of_stranger, True, False),
        ("group-partitions-in-ranges", first_share, [0, 2], [0, 1]),
        ("never-stored-denied", never_stored, 0, statuses.CONSUMER_OFFSET_NOT_FOUND),
    ],
)
def test_the_alternative_shows(
    name: str, seen: Callable[[Client], object], usual: object, other: object
) -> None:
    assert seen(Bench().with_topic()) == usual
    with variant(name):
        assert seen(Bench().with_topic()) == other


def test_the_reply_to_a_login_is_bare() -> None:
    with variant("login-reply-bare"):
        reply = Bench().connect().reply(operations.REGISTER, login_body(), session=0, request=0)
    assert decode(OWN.login_reply, reply.body).user_id == 0


def test_damage_is_the_end_of_a_partition(tmp_path: Path) -> None:
    client = Bench(data=tmp_path).with_topic()
    client.produce(*messages(b"damaged"))
    log = tmp_path / "streams/0/topics/0/partitions/0" / f"{0:020}.log"
    data = log.read_bytes()
    log.write_bytes(data[:-1] + b"?")
    with variant("damage-ends-polls"):
        polled = Bench(data=tmp_path).login().poll()
    assert (polled.head.count, polled.head.current_offset) == (0, 0)
