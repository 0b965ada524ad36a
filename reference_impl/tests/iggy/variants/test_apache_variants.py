"""Alternatives of generation `apache`: each shows, in the way that its sentence says."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from apache_bench import Bench, Client, login_body, message, messages, polling, sending

from wireproof_reference_impl.iggy.presets import overrides
from wireproof_reference_impl.overrides import apply_overrides
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.apache import operations, statuses
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_spec.iggy.apache.frames import Eviction

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
    client.produce(*messages(b"one", b"two"))
    return len(client.poll().batches)


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


@pytest.mark.parametrize(
    ("name", "seen", "usual", "other"),
    [
        ("unknown-operations-evicted", operation_255, None, 4),
        ("user-headers-checked", odd_headers, 0, statuses.RESOURCE_NOT_FOUND),
        ("unreadable-polls-refused", unreadable_poll, 0, statuses.INVALID_COMMAND),
        ("sessions-compared", another_session, 0, statuses.UNAUTHENTICATED),
        ("one-record-per-message", records, 1, 2),
        ("replies-of-release-zero", release, 5, 0),
        ("replies-of-another-view", view, 0, 7),
        ("replies-echo-all", echoed, (False, False), (True, True)),
        ("sessions-from-a-billion", session, False, True),
        ("reserved-bytes-of-requests-checked", reserved, False, True),
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
