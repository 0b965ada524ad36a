"""A fuzz session with a server of generation apache: streams for the cases, and one to watch."""

import contextlib
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, cast

import msgspec

from wireproof_kit.errors import ArrangementFailed, TargetUnreachable, UsageFault
from wireproof_kit.fuzz.campaign.session import OpenTarget
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import (
    FLAWS_APART,
    Answer,
    Choice,
    Expectation,
    FuzzSessionOptions,
    Generation,
    LogIn,
    Sentinel,
    Volume,
)
from wireproof_kit.iggy.apache import requests
from wireproof_kit.iggy.apache.answers import Answer as Replied
from wireproof_kit.iggy.apache.answers import read_payload
from wireproof_kit.iggy.apache.observe import observe
from wireproof_kit.iggy.apache.requests import Topic
from wireproof_kit.iggy.apache.server import ApacheServer
from wireproof_kit.iggy.apache.session import SERVER, ApacheSession, open_apache_session
from wireproof_kit.iggy.fuzz.answers import OK_KIND, payload_of
from wireproof_kit.iggy.fuzz.apache.answers import AnswerReader, body
from wireproof_kit.iggy.fuzz.apache.frames import GROUP
from wireproof_kit.iggy.fuzz.apache.health import Bystanders, CaseLogin
from wireproof_kit.iggy.fuzz.apache.owed import Homes, expect, find_flaws
from wireproof_kit.iggy.fuzz.apache.sealing import seal_sends
from wireproof_kit.iggy.fuzz.flaws import divisions
from wireproof_kit.iggy.fuzz.fuzz_session import TRIES
from wireproof_kit.iggy.fuzz.names import Names
from wireproof_kit.targets.session import SessionOptions
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.address import Address
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.decoding import decode, encode
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.bodies.resources import TOPIC_DETAILS
from wireproof_spec.iggy.apache.frames import encode_request, make_request
from wireproof_spec.iggy.apache.header import RequestHeader
from wireproof_spec.iggy.bodies.identifier import IDENTIFIER, Identifier, numeric
from wireproof_spec.wire_error import WireError

NO_HTTP: Final = "requests over HTTP, which are not known of generation apache"
TOPIC: Final = "wp_fuzz"
_OTHER_SESSION: Final = (1 << 62) + 1


@dataclass(frozen=True, slots=True)
class ApacheOracle:
    """Knows the valid answers of a server to fuzz cases.

    `twins` has, for each way to name the topic of cases, the bytes that name the watched one.
    `volume` counts at least the bytes that cases sent to be stored: one poll may ask for all.
    """

    tcp: Address
    login: LogIn
    homes: Homes
    twins: tuple[tuple[bytes, bytes], ...]
    volume: Volume = field(default_factory=Volume)

    def address(self, case: Case) -> Address:
        """Return the address that a case connects to."""
        return self.tcp

    def reader(self, case: Case) -> AnswerReader:
        """Return an answer reader for a new connection of a case."""
        return AnswerReader(self.volume)

    def expect(self, case: Case | None, before: bytes, data: bytes) -> Expectation:
        """Return the valid answers to `data`, sent on a connection after `before`."""
        self.volume.sent += len(data)
        return expect(self.homes, before, data)

    def is_pushed(self, kind: str) -> bool:
        """Return False: a server sends nothing without a request."""
        return False

    def reply_to_unrequested(self, answer: Answer) -> bytes:
        """Return no bytes: a server sends nothing that needs a reply."""
        return b""

    def flaw_of(self, case: Case) -> str:
        """Return what is wrong in the requests of a case, and how they are divided."""
        sent: dict[int, bytes] = {}
        for step in case.steps:
            sent[step.connection] = sent.get(step.connection, b"") + step.data
        flaws = (flaw for data in sent.values() for flaw in find_flaws(self.homes, data))
        return FLAWS_APART.join(dict.fromkeys((*flaws, *divisions(case))))

    def sentinel(self, case: Case, number: int) -> Sentinel | None:
        """Return a ping whose answer shows that earlier requests were handled."""
        header = RequestHeader(
            client=1,
            session=1,
            request=(1 << 63) + number,
            operation=operations.NON_REPLICATED,
            code=operations.PING,
        )
        echo = header.request.to_bytes(8, "little")

        def is_its(answer: Answer) -> bool:
            return answer.kind == OK_KIND and not body(answer) and echo in answer.data

        return Sentinel(encode_request(make_request(header)), is_its)

    def use_watched_names(self, case: Case) -> Case:
        """Return the case with its topic replaced by the one from which the kit consumes.

        What it sends has right checksums, so that more is stored.
        """
        steps = list(case.steps)
        for old, new in self.twins:
            steps = [replace(step, data=step.data.replace(old, new)) for step in steps]
        sealed = (replace(step, data=seal_sends(step.data)) for step in steps)
        return replace(case, steps=tuple(sealed))

    def body_of(self, stored: bytes) -> bytes:
        """Return the payload of a message from the bytes that identify it when it is stored."""
        return payload_of(stored)


def open_apache_fuzz_session(target: Target, options: FuzzSessionOptions) -> OpenTarget:
    """Create streams on a running target, and measure its time limits.

    Raises:
        UsageFault: the target cannot be fuzzed.
        TargetUnreachable: the target accepts no connection.
        TargetSilent: the target does not let the kit in.
        ArrangementFailed: a stream could not be made.
    """
    for more in TRIES[:-1]:
        try:
            return _open_target(target, options, options.token + more)
        except ArrangementFailed:
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
    session = open_apache_session(target, chosen)
    server = cast(ApacheServer, session.arguments((SERVER,), Transcript())[SERVER])
    try:
        return _fuzz_session(session, server, target, options)
    except BaseException:
        server.close()
        session.close()
        raise


def _fuzz_session(
    session: ApacheSession, server: ApacheServer, target: Target, options: FuzzSessionOptions
) -> OpenTarget:
    session.prepare(Counter())
    own, twin, scratch, beside = (_make_topic(server, *server.new_stream()) for _ in range(4))
    if own.id != twin.id:
        raise ArrangementFailed("the first topics of two streams have different numbers")
    for topic in (own, twin):
        body = requests.create_group_body(topic, GROUP)
        server.ask_settled(operations.CREATE_CONSUMER_GROUP, body)
    _refuse_other_sessions(server, own)
    access = server.access
    login = CaseLogin(access, session.patience)
    there = Names(
        own.stream_id, own.stream_name, own.id, own.name, 0, scratch.stream_id, scratch.stream_name
    )
    homes = {
        (stream, topic): each is twin
        for each in (own, twin)
        for stream in (each.by_number[0], each.by_name[0])
        for topic in (each.by_number[1], each.by_name[1])
    }
    return OpenTarget(
        session,
        ApacheOracle(access.address, login, homes, _twins(own, twin)),
        Bystanders(login, beside, twin, options.token),
        {
            "stream": own.stream_name,
            "stream_id": str(own.stream_id),
            "topic": own.name,
            "topic_id": str(own.id),
            "watched": twin.stream_name,
            "watched_id": str(twin.stream_id),
            "scratch": scratch.stream_name,
            "scratch_id": str(scratch.stream_id),
        },
        partial(_generation, there),
        partial(_end, session, server, options.passing),
        not_tried=NO_HTTP,
    )


def _make_topic(server: ApacheServer, stream: int, stream_name: str) -> Topic:
    body = requests.create_topic_body(numeric(stream), TOPIC, 1)
    answer = server.ask_settled(operations.CREATE_TOPIC, body)
    payload = read_payload(answer)
    try:
        number = None if payload is None else decode(TOPIC_DETAILS, payload).topic.id
    except WireError:
        number = None
    if number is None:
        raise ArrangementFailed(f"create_topic was answered {_told(answer)}")
    return Topic(stream, stream_name, number, TOPIC)


def _told(answer: Replied) -> str:
    return observe(answer, framed=True).value


def _refuse_other_sessions(server: ApacheServer, topic: Topic) -> None:
    """Refuse a server that compares the session of requests: cases cannot know theirs.

    Raises:
        UsageFault: it does.
    """
    client = server.client
    header = client.header(operations.NON_REPLICATED, code=operations.GET_STREAM)
    asked = msgspec.structs.replace(header, session=_OTHER_SESSION, client=1)
    answer = client.ask_before(requests.frame(asked, requests.stream_body(topic.by_number[0])))
    if observe(answer).value != "ok":
        raise UsageFault(
            "fuzzing generation apache needs a server that knows a client by its connection; this "
            f"one answers a request of another session with {observe(answer).value}"
        )


def _twins(own: Topic, twin: Topic) -> tuple[tuple[bytes, bytes], ...]:
    """Return the bytes of the pairs of stream and topic that cases name, and of the twin's.

    Streams have small numbers here, so that one alone may be anything.
    """
    topics = (own.by_number[1], own.by_name[1])
    streams = (
        (own.by_number[0], twin.by_number[0]),
        (own.by_name[0], twin.by_name[0]),
    )
    return tuple(
        (_pair(old, topic), _pair(new, topic)) for old, new in streams for topic in topics
    )


def _pair(stream: Identifier, topic: Identifier) -> bytes:
    return encode(IDENTIFIER, stream) + encode(IDENTIFIER, topic)


def _generation(there: Names, choice: Choice) -> Generation:
    # Hypothesis takes longer to import than many a command runs.
    from wireproof_kit.fuzz.generate.case_sources import make_generation
    from wireproof_kit.iggy.fuzz.apache.grammar import grammar

    return make_generation(grammar(there), choice)


def _end(session: ApacheSession, server: ApacheServer, passing: bool, leave: bool) -> None:
    """Delete the streams if the server is alive and does not stop by itself."""
    with contextlib.suppress(TargetUnreachable, ArrangementFailed):
        server.close(leave=leave or passing)
    if not leave:
        session.close()
