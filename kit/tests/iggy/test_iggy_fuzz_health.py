"""Messages of one number: a server may keep the first alone, and must keep that."""

import itertools
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from wireproof_kit.fuzz.campaign.target import open_fuzz_session, start_alone
from wireproof_kit.fuzz.driver import FuzzSessionOptions
from wireproof_kit.fuzz.send.connection import CaseConnection
from wireproof_kit.iggy import binding
from wireproof_kit.iggy.fuzz import health as health_module
from wireproof_kit.iggy.fuzz.answers import fingerprint_stored
from wireproof_kit.iggy.fuzz.health import Bystanders
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import FIRST_PARTITION
from wireproof_kit.iggy.wire import requests
from wireproof_kit.protocols import read_target
from wireproof_kit.targets.opening import open_session
from wireproof_kit.targets.session import SessionOptions
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.partitioning import partition_id
from wireproof_spec.iggy.bodies.send_messages import SendMessages, SentMessage
from wireproof_spec.iggy.bodies.streams import StreamRequest
from wireproof_spec.iggy.generation import CreateForm
from wireproof_spec.iggy.message import Message

pytestmark = pytest.mark.process

DROPPED = ("--variant", "repeated-ids-dropped")
GREATEST = (1 << 128) - 1


@contextmanager
def opened(*options: str) -> Iterator[Bystanders]:
    running = start_alone("iggy", options)
    try:
        fuzz_session = open_fuzz_session(
            read_target(running.url), FuzzSessionOptions("t", timeout_s=1.0)
        )
        yield cast(Bystanders, fuzz_session.health)
        fuzz_session.close()
    finally:
        running.close()


def publish(health: Bystanders, *messages: tuple[int, bytes]) -> list[bytes]:
    """Send messages to the watched topic; return what they are known by."""
    topic = health.places.watched
    sent = tuple(SentMessage(number, (), payload) for number, payload in messages)
    request = SendMessages(topic.stream.id, topic.id, partition_id(FIRST_PARTITION), sent)
    with socket.create_connection(health.places.address) as sock:
        sock.sendall(requests.request(commands.SEND_MESSAGES, request).data)
        assert sock.recv(8) == bytes(8)
    return [fingerprint_stored(number, (), payload) for number, payload in messages]


@pytest.mark.parametrize("number", [7, GREATEST])
def test_a_server_may_drop_what_has_a_number_that_was_there_before(number: int) -> None:
    with opened(*DROPPED) as health:
        for payload in (b"a", b"b"):
            assert health.begin_watch() is None
            assert health.end_watch(publish(health, (number, payload))) is None


def test_a_server_may_drop_the_second_of_one_request() -> None:
    with opened(*DROPPED) as health:
        assert health.begin_watch() is None
        assert health.end_watch(publish(health, (7, b"a"), (7, b"b"), (8, b"c"))) is None


def test_numbers_that_the_server_makes_are_never_dropped() -> None:
    with opened(*DROPPED) as health:
        assert health.begin_watch() is None
        there = publish(health, (0, b"a"), (0, b"b"))
        trouble = health.end_watch([*there, fingerprint_stored(0, (), b"c")])
        assert trouble is not None
        assert trouble.lost == fingerprint_stored(0, (), b"c")


def test_the_first_of_a_number_must_come() -> None:
    with opened("--fault", "parser-ones-lost") as health:
        assert health.begin_watch() is None
        publish(health, (7, b"a"))
        trouble = health.end_watch(publish(health, (GREATEST, b"b")))
        assert trouble is not None
        assert "1 of 1" in trouble.words


def test_what_does_not_come_soon_after_a_message_behind_it_is_lost() -> None:
    with opened("--fault", "parser-ones-lost") as health:
        health.places = replace(health.places, push_s=3600.0)
        assert health.begin_watch() is None
        there = publish(health, (7, b"a"), (8, b"b"))
        lost = publish(health, (GREATEST, b"b"))
        trouble = health.end_watch([*there, *lost])
        assert trouble is not None
        assert "1 of 3 acknowledged messages were not delivered;" in trouble.words
        assert "others were" not in trouble.words


def test_a_server_that_hands_out_one_at_a_time_has_as_much_time_again_for_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    minutes = itertools.count()
    now = [0.0]

    def polled(health: Bystanders, client: CaseConnection) -> tuple[Message, ...]:
        now[0] = 60.0 * next(minutes)
        return at_once(health, client)

    at_once = Bystanders._poll_watched
    clock = SimpleNamespace(monotonic=lambda: now[0] + time.monotonic(), sleep=time.sleep)
    monkeypatch.setattr(health_module, "AT_ONCE", 1)
    monkeypatch.setattr(health_module, "time", clock)
    monkeypatch.setattr(Bystanders, "_poll_watched", polled)
    with opened() as health:
        health.places = replace(health.places, push_s=100.0)
        assert health.begin_watch() is None
        there = publish(health, *((number, b"a") for number in range(1, 11)))
        assert health.end_watch(there) is None


def test_beside_another_content_of_its_number_none_is_due_where_the_first_stays() -> None:
    with opened(*DROPPED) as health:
        assert health.begin_watch() is None
        publish(health, (7, b"of a case that nobody can be sure of"))
        assert health.end_watch(publish(health, (7, b"a"))) is None


def test_a_server_that_keeps_all_of_a_number_is_owed_nothing_less() -> None:
    with opened() as health:
        for _ in range(2):
            assert health.begin_watch() is None
            publish(health, (7, b"changed"))
            trouble = health.end_watch([fingerprint_stored(7, (), b"as sent")])
            assert trouble is not None
            assert "1 others were" in trouble.words


def test_no_change_of_one_character_of_the_scratch_name_names_another_stream() -> None:
    running = start_alone("iggy")
    try:
        fuzz_session = open_fuzz_session(read_target(running.url), FuzzSessionOptions("t"))
        names = fuzz_session.names
        watched = cast(Bystanders, fuzz_session.health).places.watched.stream.name
        fuzz_session.close()
    finally:
        running.close()
    for other in (names["stream"], watched):
        assert len(other) == len(names["scratch"])
        assert sum(a != b for a, b in zip(other, names["scratch"], strict=True)) > 1


def test_a_stream_of_an_earlier_opening_does_not_make_the_server_another_generation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name that is taken is refused in its own form; by chance another form is accepted then."""
    create = binding.create_in_form

    def create_by_chance(server: Server, form: CreateForm) -> binding.Created:
        created = create(server, form)
        is_by_chance = form == "schema" and "x" not in created.stream.name
        return replace(created, seen="ok,not-found") if is_by_chance else created

    monkeypatch.setattr(binding, "create_in_form", create_by_chance)
    running = start_alone("iggy")
    target = read_target(running.url)
    try:
        earlier = open_session(target, SessionOptions(seed=0, run_token="t"))
        fuzz_session = open_fuzz_session(target, FuzzSessionOptions("t"))
        earlier.close()
        fuzz_session.close()
    finally:
        running.close()

    assert fuzz_session.names["stream"].startswith("wp_tx")


SHOWN_LATE = ("messages-shown-later", "empty-partitions-refused", "beyond-the-end-refused")


@pytest.mark.parametrize("refusals", ["refusals-end-connections", "refusals-close-only"])
def test_a_server_may_show_messages_late_and_refuse_polls_before(refusals: str) -> None:
    with opened(*(f"--variant={name}" for name in (*SHOWN_LATE, refusals))) as health:
        for payload in (b"a", b"b"):
            assert health.begin_watch() is None
            assert health.check() is None
            assert health.end_watch(publish(health, (7, payload))) is None


@pytest.mark.parametrize(
    ("options", "ends"),
    [
        ((), "no"),
        (("--variant", "refusals-close-only"), "may"),
        (("--variant", "refusals-end-connections"), "may"),
    ],
)
def test_a_target_shows_whether_it_closes_a_connection_with_a_refusal(
    options: tuple[str, ...], ends: str
) -> None:
    running = start_alone("iggy", options)
    try:
        fuzz_session = open_fuzz_session(read_target(running.url), FuzzSessionOptions("t"))
        request = requests.request(commands.GET_STREAM, StreamRequest(numeric(99))).data
        (owed,) = fuzz_session.oracle.expect(None, b"", request).owed
        fuzz_session.close()
    finally:
        running.close()
    assert owed.ends == ends
