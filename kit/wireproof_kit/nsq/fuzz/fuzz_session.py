"""A fuzz session with an NSQ broker: topics for the cases, and copies to watch."""

import contextlib
import socket
import time
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from wireproof_kit import pcap
from wireproof_kit.errors import ArrangementFailed, UsageFault
from wireproof_kit.fuzz.campaign.session import OpenTarget
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import (
    Answer,
    AnswerReader,
    Choice,
    Expectation,
    FuzzSessionOptions,
    Generation,
    Sentinel,
)
from wireproof_kit.fuzz.oracle.http_owed import expect_http, is_http, reader
from wireproof_kit.fuzz.oracle.http_posts import add_promise
from wireproof_kit.nsq.fuzz.answers import BEAT, ERRORS, MESSAGE, TRACE, FrameReader
from wireproof_kit.nsq.fuzz.health import Bystanders, BystanderSettings
from wireproof_kit.nsq.fuzz.names import Names
from wireproof_kit.nsq.fuzz.owed import expect
from wireproof_kit.nsq.fuzz.posts import read_promise
from wireproof_kit.nsq.fuzz.request_tracker import TargetState
from wireproof_kit.nsq.services import http_address
from wireproof_kit.nsq.session import NsqSession, open_session
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.targets.session import SessionOptions
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.address import Address
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.nsq import limits, names
from wireproof_spec.nsq.command import command_line

CHUNK = 65536


def send_query(address: Address, data: bytes, seconds: float) -> Answer | None:
    """Send bytes and return the first answer; None when none arrives in the given seconds."""
    deadline = time.monotonic() + seconds
    reader = FrameReader()
    with contextlib.suppress(OSError), socket.create_connection(address, seconds) as sock:
        sock.sendall(data)
        while (left := deadline - time.monotonic()) > 0:
            sock.settimeout(left)
            piece = sock.recv(CHUNK)
            for answer in reader.feed(piece):
                if answer.kind not in (BEAT, MESSAGE):
                    return answer
            if not piece:
                return None
    return None


_TOKENS = 1 << 40
OPENING_DIGITS = 3
OPENINGS = 10**OPENING_DIGITS
GREATER_LIMITS = (1 << 24, 1 << 27, (1 << 30) - 4096, (1 << 31) - 4097)
"""What a broker with another limit than the usual one may have; the last is no limit at all."""


@dataclass(frozen=True, slots=True)
class NsqOracle:
    """Computes the answers required of an NSQ broker; ``twin`` is the topic that is watched."""

    target_state: TargetState
    tcp: Address
    http: Address | None
    names: Names
    twin: str
    can_trace: bool

    def address(self, case: Case) -> Address:
        """Return the address that a case connects to."""
        return self.http if self.http is not None and is_http(case) else self.tcp

    def reader(self, case: Case) -> AnswerReader:
        """Return a frame reader for a new connection of a case."""
        return reader(case) if is_http(case) else FrameReader()

    def expect(self, case: Case | None, before: bytes, data: bytes) -> Expectation:
        """Return the answers required for bytes that follow the opening bytes of a connection."""
        if case is not None and is_http(case):
            return add_promise(
                expect_http(data, case), read_promise(self.target_state, data), case
            )
        return expect(self.target_state, before, data)

    def is_pushed(self, kind: str) -> bool:
        """Return True if a broker pushes frames of this kind."""
        return kind in (BEAT, MESSAGE)

    def reply_to_unrequested(self, answer: Answer) -> bytes:
        """Return no bytes: a reply to a heartbeat would become part of the case."""
        return b""

    def sentinel(self, case: Case, number: int) -> Sentinel | None:
        """Return a publish with its own trace id, whose answer shows the end of earlier ones."""
        if is_http(case) or not self.can_trace:
            return None
        trace_id = (_TOKENS + number).to_bytes(8)
        line = command_line(names.PUB_TRACE, self.names.extended, 0)
        data = line + (12).to_bytes(4) + trace_id + b"step"
        return Sentinel(data, lambda answer: answer.kind == TRACE and trace_id in answer.data)

    def use_watched_names(self, case: Case) -> Case:
        """Return the case with its extended topic replaced by the watched one."""
        old, new = self.names.extended.encode(), self.twin.encode()
        if not any(old in step.data for step in case.steps):
            return case
        steps = tuple(replace(step, data=step.data.replace(old, new)) for step in case.steps)
        return replace(case, steps=steps)


def open_fuzz_session(target: Target, options: FuzzSessionOptions) -> OpenTarget:
    """Create the topics on a running target and measure the patience it needs.

    Raises:
        UsageFault: the target cannot be fuzzed.
        TargetUnreachable: the target accepts no connection.
        TargetSilent: the target does not speak NSQ.
        ArrangementFailed: a topic could not be made.
    """
    if target.tls or target.auth_env is not None:
        raise UsageFault("fuzzing speaks neither TLS nor AUTH; leave out --tls and --auth-env")
    session = open_session(
        target,
        SessionOptions(
            seed=0,
            run_token=f"{options.token}_{options.opening % OPENINGS:0{OPENING_DIGITS}}",
            timeout=options.timeout_s,
            patience=options.patience,
            topics=options.topics,
            passing=options.passing,
        ),
    )
    try:
        return _fuzz_session(session, target, options.token)
    except BaseException:
        session.close()
        raise


def _fuzz_session(session: NsqSession, target: Target, token: str) -> OpenTarget:
    wanted = {"fresh_ext_topic": 1, "other_fresh_ext_topic": 1, "fresh_plain_topic": 1}
    session.prepare(Counter({**wanted, "plain_topic": 1}))
    made = session.arguments((*wanted, "plain_topic"), Transcript())
    ext, twin, plain, neighbour = (cast(Topic, topic) for topic in made.values())
    if len(ext.name) != len(twin.name) or any(each.partition for each in (ext, twin, plain)):
        raise ArrangementFailed("fuzzing needs topics of one form at partition 0; give none")
    http = ext.http_address or http_address(target)
    case_names = Names(ext.name, plain.name, "wp_fuzz_cases")
    patience = session.patience.answer
    target_state = TargetState(
        {ext.name.encode(): True, twin.name.encode(): True, plain.name.encode(): False},
        twin.name.encode(),
        _limit(ext, command_line(names.PUB, ext.name, 0), limits.MAX_MSG_SIZE, patience),
        _limit(ext, command_line(names.IDENTIFY), limits.MAX_BODY_SIZE, patience),
    )
    oracle = NsqOracle(
        target_state,
        ext.address,
        http,
        case_names,
        twin.name,
        _traces(ext, patience),
    )
    places = BystanderSettings(
        neighbour, twin, patience, session.patience.push, session.patience.redelivery
    )
    return OpenTarget(
        session,
        oracle,
        Bystanders(places, token),
        {
            "extended": ext.name,
            "plain": plain.name,
            "channel": case_names.channel,
            "watched": twin.name,
        },
        partial(_generation, case_names),
        lambda leave: None if leave else session.close(),
    )


def _generation(there: Names, choice: Choice) -> Generation:
    # Hypothesis takes longer to import than many a command runs.
    from wireproof_kit.fuzz.generate.case_sources import make_generation
    from wireproof_kit.nsq.fuzz.grammar import grammar

    return make_generation(grammar(there, scapy=pcap.is_installed()), choice)


def _limit(topic: Topic, line: bytes, usual: int, seconds: float) -> int:
    """Return a size limit above which the broker rejects at once; 0 when none is observed.

    The size tried is a little above the limit: a broker may be wrong about the one above it.
    """
    for limit in (usual, *GREATER_LIMITS):
        said = send_query(topic.address, names.MAGIC + line + (limit + 4096).to_bytes(4), seconds)
        if said is not None and said.kind in ERRORS:
            return limit
    return 0


def _traces(topic: Topic, seconds: float) -> bool:
    line = command_line(names.PUB_TRACE, topic.name, 0)
    body = (9).to_bytes(4) + (1).to_bytes(8) + b"t"
    said = send_query(topic.address, names.MAGIC + line + body, seconds)
    return said is not None and said.kind == TRACE
