"""A fuzz session with an Iggy server: streams for the cases, and one copy to watch."""

import contextlib
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

from wireproof_kit import pcap
from wireproof_kit.errors import ArrangementFailed, TargetUnreachable, UsageFault
from wireproof_kit.fuzz.campaign.session import OpenTarget
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import (
    FLAWS_APART,
    Answer,
    AnswerReader,
    Choice,
    Expectation,
    FuzzSessionOptions,
    Generation,
    Sentinel,
    Volume,
)
from wireproof_kit.fuzz.oracle.bystanders import wait
from wireproof_kit.fuzz.oracle.http_owed import (
    NO_HTTP,
    choose_address,
    expect_http,
    is_http,
    reader,
)
from wireproof_kit.fuzz.oracle.http_posts import add_promise
from wireproof_kit.fuzz.send.connection import CaseConnection
from wireproof_kit.iggy.forms import SHORT, Forms
from wireproof_kit.iggy.fuzz.answers import OK_KIND, ResponseReader, body, payload_of
from wireproof_kit.iggy.fuzz.flaws import divisions
from wireproof_kit.iggy.fuzz.health import ATTENTIVE, Bystanders, BystanderSettings
from wireproof_kit.iggy.fuzz.names import Names
from wireproof_kit.iggy.fuzz.owed import WritableStreams, expect, find_flaws, homes
from wireproof_kit.iggy.fuzz.posts import read_promise
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.session import IggySession, open_session
from wireproof_kit.iggy.topics import Stream
from wireproof_kit.iggy.wire import requests
from wireproof_kit.iggy.wire.answers import Done
from wireproof_kit.targets.session import SessionOptions
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.address import Address
from wireproof_kit.wire.http import address_of
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.consumer_groups import GroupRequest
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.partitioning import partition_id
from wireproof_spec.iggy.bodies.send_messages import SendMessages, SentMessage

_SENDING = commands.SEND_MESSAGES.to_bytes(4, "little")
_POSTING = "POST /streams/{s}/topics/{t}/messages"
GROUP = 1
NO_STREAM = numeric(4_000_000_000)
TRIES = ("", "x", "y", "z")
"""Suffixes of a campaign's token, tried in turn if streams of that name exist already."""


@dataclass(frozen=True, slots=True)
class IggyOracle:
    """Knows the valid answers of an Iggy server to fuzz cases.

    ``twin`` is the stream from which the kit consumes stored messages. `volume` counts at least
    the bytes that cases sent to be stored: such a server deletes nothing, and a poll may ask for
    all of it.
    """

    tcp: Address
    http: Address | None
    names: Names
    twin: Stream
    homes: WritableStreams
    volume: Volume = field(default_factory=Volume)
    login: None = None

    def address(self, case: Case) -> Address:
        """Return the address that a case connects to."""
        return choose_address(case, self.tcp, self.http)

    def reader(self, case: Case) -> AnswerReader:
        """Return a response reader for a new connection of a case."""
        return reader(case, self.volume) if is_http(case) else ResponseReader(self.volume)

    def expect(self, case: Case | None, before: bytes, data: bytes) -> Expectation:
        """Return the valid answers to `data`, sent on a connection after `before`."""
        if _SENDING in data or (case is not None and case.frame_kind == _POSTING):
            self.volume.sent += len(data)
        if case is not None and is_http(case):
            return add_promise(expect_http(data, case), read_promise(self.homes, data), case)
        return expect(self.homes, data)

    def is_pushed(self, kind: str) -> bool:
        """Return False: an Iggy server sends nothing without a request."""
        return False

    def reply_to_unrequested(self, answer: Answer) -> bytes:
        """Return no bytes: an Iggy server sends nothing that needs a reply."""
        return b""

    def flaw_of(self, case: Case) -> str:
        """Return what is wrong in the requests of a case over TCP, and how they are divided."""
        if is_http(case):
            return ""
        sent: dict[int, bytes] = {}
        for step in case.steps:
            sent[step.connection] = sent.get(step.connection, b"") + step.data
        flaws = (flaw for data in sent.values() for flaw in find_flaws(self.homes, data))
        return FLAWS_APART.join(dict.fromkeys((*flaws, *divisions(case))))

    def sentinel(self, case: Case, number: int) -> Sentinel | None:
        """Return a ping whose answer shows that earlier requests were handled."""
        if is_http(case):
            return None
        data = requests.ping().data
        return Sentinel(data, lambda answer: answer.kind == OK_KIND and not body(answer))

    def use_watched_names(self, case: Case) -> Case:
        """Return the case with its stream replaced by the one from which the kit consumes."""
        there = self.names
        pairs = [(str(there.stream_id).encode(), str(self.twin.number).encode())]
        if not is_http(case):
            number = there.stream_id.to_bytes(4, "little")
            pairs = [(number, self.twin.number.to_bytes(4, "little"))]
        pairs.append((there.stream.encode(), self.twin.name.encode()))
        steps = list(case.steps)
        for old, new in pairs:
            steps = [replace(step, data=step.data.replace(old, new)) for step in steps]
        return replace(case, steps=tuple(steps))

    def body_of(self, stored: bytes) -> bytes:
        """Return the payload of a message from the bytes that identify it when it is stored."""
        return payload_of(stored)


def open_fuzz_session(target: Target, options: FuzzSessionOptions) -> OpenTarget:
    """Create streams on a running target, and measure its time limits.

    Raises:
        UsageFault: the target cannot be fuzzed.
        TargetUnreachable: the target accepts no connection.
        TargetSilent: the target does not speak Iggy.
        ArrangementFailed: a stream could not be made.
    """
    for more in TRIES[:-1]:
        try:
            return _open_target(target, options, options.token + more)
        except (ArrangementFailed, UsageFault):
            # A stream of that name is refused in its own form, and another one was then taken.
            continue
    return _open_target(target, options, options.token + TRIES[-1])


def _open_target(target: Target, options: FuzzSessionOptions, token: str) -> OpenTarget:
    chosen = SessionOptions(
        seed=0,
        run_token=token,
        timeout=options.timeout_s,
        patience=options.patience,
        passing=options.passing,
    )
    session = open_session(target, chosen)
    if replace(session.forms, stored_offset=SHORT) != Forms():
        session.close()
        raise UsageFault(
            f"{target.url}: fuzzing knows the published generation of Iggy alone, in the forms of "
            "its server"
        )
    server = cast(Server, session.arguments(("server",), Transcript())["server"])
    try:
        return _fuzz_session(session, server, target, options)
    except BaseException:
        server.close()
        session.close()
        raise


def _fuzz_session(
    session: IggySession, server: Server, target: Target, options: FuzzSessionOptions
) -> OpenTarget:
    session.prepare(Counter())
    # Cases change the scratch stream; a case may change its name as well, by a character.
    own, twin, scratch, beside = (server.new_stream(apart=number == 2) for number in range(4))
    topics = [server.new_topic(stream=stream) for stream in (own, twin, scratch, beside)]
    first = topics[0]
    for stream, topic in zip((own, twin), topics, strict=False):
        if topic is not first:
            server.delete_topic(topic)
            payload = server.topic_to_create(replace(first, stream=stream))
            if not isinstance(server.ask(commands.CREATE_TOPIC, payload), Done):
                raise ArrangementFailed("the twin of a topic could not be made")
        group = GroupRequest(stream.id, first.id, GROUP)
        if not isinstance(server.ask(commands.CREATE_CONSUMER_GROUP, group), Done):
            raise ArrangementFailed("a consumer group could not be made")
    there = Names(
        own.number, own.name, first.number, first.name, GROUP, scratch.number, scratch.name
    )
    numbers = {(own.number, own.name): False, (twin.number, twin.name): True}
    address, patience = (target.host, target.port), session.patience
    oracle = IggyOracle(
        address,
        address_of(target.http) if target.http else None,
        there,
        twin,
        homes(
            numbers,
            topic=(first.number, first.name),
            closes_refused=_closes_refused(address, patience.answer),
        ),
    )
    watched = replace(first, stream=twin)
    places = BystanderSettings(oracle.tcp, topics[3], watched, patience.answer, patience.push)
    return OpenTarget(
        session,
        oracle,
        Bystanders(places, options.token),
        {
            "stream": own.name,
            "stream_id": str(own.number),
            "topic": first.name,
            "topic_id": str(first.number),
            "group_id": str(GROUP),
            "watched": twin.name,
            "watched_id": str(twin.number),
            "scratch": scratch.name,
            "scratch_id": str(scratch.number),
            "scratch_topic": topics[2].name,
            "scratch_topic_id": str(topics[2].number),
        },
        partial(_generation, there, oracle.http is not None),
        partial(_end, session, server, options.passing),
        not_tried="" if target.http else NO_HTTP,
    )


def _closes_refused(address: Address, seconds: float) -> bool:
    """Return True if the server closes a connection on which it refused a request."""
    nowhere = SendMessages(NO_STREAM, NO_STREAM, partition_id(1), (SentMessage(0, (), b"x"),))
    client = CaseConnection(address, ResponseReader(), ATTENTIVE)
    client.send(requests.request(commands.SEND_MESSAGES, nowhere).data + requests.ping().data)
    deadline = time.monotonic() + seconds
    while len(client.answers) < 2 and not client.ended and time.monotonic() < deadline:
        wait([client], deadline)
    client.close()
    return bool(client.ended)


def _generation(there: Names, http: bool, choice: Choice) -> Generation:
    # Hypothesis takes longer to import than many a command runs.
    from wireproof_kit.fuzz.generate.case_sources import make_reachable
    from wireproof_kit.iggy.fuzz.grammar import grammar

    return make_reachable(grammar(there, scapy=pcap.is_installed()), choice, http=http)


def _end(session: IggySession, server: Server, passing: bool, leave: bool) -> None:
    """Delete the streams if the server is alive and does not stop by itself."""
    with contextlib.suppress(TargetUnreachable):
        server.close(leave=leave or passing)
    if not leave:
        session.close()
