"""A fuzz session with an NSQ broker: topics for the cases, and copies to watch."""

import time
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from wireproof_kit import pcap
from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.fuzz.campaign.session import OpenTarget
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import (
    Answer,
    AnswerReader,
    Choice,
    Expectation,
    FuzzSessionOptions,
    Generation,
    LogIn,
    Sentinel,
)
from wireproof_kit.fuzz.oracle.bystanders import wait
from wireproof_kit.fuzz.oracle.http_owed import (
    NO_HTTP,
    choose_address,
    expect_http,
    is_http,
    reader,
)
from wireproof_kit.fuzz.oracle.http_posts import add_promise, flaw_of_post
from wireproof_kit.fuzz.send.connection import CaseConnection
from wireproof_kit.nsq.fuzz.answers import (
    ATTENTIVE,
    BEAT,
    ERRORS,
    MESSAGE,
    TRACE,
    FrameReader,
    read_body,
)
from wireproof_kit.nsq.fuzz.health import Bystanders
from wireproof_kit.nsq.fuzz.login import CaseLogin
from wireproof_kit.nsq.fuzz.names import Names
from wireproof_kit.nsq.fuzz.opening import BystanderSettings
from wireproof_kit.nsq.fuzz.owed import expect
from wireproof_kit.nsq.fuzz.posts import FLAGS, read_promise
from wireproof_kit.nsq.fuzz.request_tracker import UNCLEAR, TargetState
from wireproof_kit.nsq.fuzz.states import BEFORE_LOGIN
from wireproof_kit.nsq.services import http_address
from wireproof_kit.nsq.session import NsqSession, open_session
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire import frames
from wireproof_kit.nsq.wire.login import login_of
from wireproof_kit.targets.session import SessionOptions
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.address import Address
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.nsq import limits, names
from wireproof_spec.nsq.command import command_line


@dataclass(frozen=True, slots=True)
class _Asker:
    """Sends single requests on connections of their own, to learn what a target is like.

    `opening` are the first bytes of each connection. An answer is awaited for `seconds`.
    """

    address: Address
    seconds: float
    login: LogIn | None = None
    opening: bytes = names.MAGIC

    @property
    def is_named(self) -> bool:
        """Return True if the connections begin with IDENTIFY."""
        return self.opening != names.MAGIC

    def ask(self, data: bytes) -> Answer | None:
        """Return the answer to a request; None when there is none in time."""
        opening, login = self.opening, self.login
        client = CaseConnection(
            self.address, FrameReader(), ATTENTIVE, opening=opening, login=login
        )
        client.send(client.unsent + data)
        skip = int(self.is_named)
        deadline = time.monotonic() + self.seconds
        while len(client.answers) <= skip and not client.ended and time.monotonic() < deadline:
            wait([client], deadline)
        client.close()
        return client.answers[skip] if len(client.answers) > skip else None

    def publish(
        self, topic: Topic, name: bytes, body: bytes, partition: int | str = 0
    ) -> Answer | None:
        """Return the answer to a publish to a topic."""
        return self.ask(command_line(name, topic.name, partition) + body)


_TOKENS = 1 << 40
OPENING_DIGITS = 3
OPENINGS = 10**OPENING_DIGITS
GREATER_LIMITS = (1 << 24, 1 << 27, (1 << 30) - 4096, (1 << 31) - 4097)
"""Sizes to try as a broker's limit if it is not the usual one; the last is no limit at all."""


@dataclass(frozen=True, slots=True)
class NsqOracle:
    """Knows the valid answers of an NSQ broker to fuzz cases.

    ``twin`` is the topic from which the kit consumes stored messages.
    """

    target_state: TargetState
    tcp: Address
    http: Address | None
    names: Names
    twin: str
    can_trace: bool
    login: LogIn | None = None

    def address(self, case: Case) -> Address:
        """Return the address that a case connects to."""
        return choose_address(case, self.tcp, self.http)

    def reader(self, case: Case) -> AnswerReader:
        """Return a frame reader for a new connection of a case."""
        return reader(case) if is_http(case) else FrameReader()

    def expect(self, case: Case | None, before: bytes, data: bytes) -> Expectation:
        """Return the valid answers to `data`, sent on a connection after `before`."""
        if case is not None and is_http(case):
            return add_promise(
                expect_http(data, case), read_promise(self.target_state, data), case
            )
        found = expect(self.target_state, before, data)
        if self.login is not None and case is not None and case.state in BEFORE_LOGIN:
            return replace(found, owed=(UNCLEAR,), certain=False)
        return found

    def is_pushed(self, kind: str) -> bool:
        """Return True if a broker sends frames of this kind without a request."""
        return kind in (BEAT, MESSAGE)

    def reply_to_unrequested(self, answer: Answer) -> bytes:
        """Return no bytes: a reply to a heartbeat would become part of the case."""
        return b""

    def flaw_of(self, case: Case) -> str:
        """Return which endpoint a case asks without a body; nothing for others.

        The causes of other findings over NSQ are told apart by frame and field.
        """
        return flaw_of_post(case.steps[0].data, FLAGS) if is_http(case) else ""

    def sentinel(self, case: Case, number: int) -> Sentinel | None:
        """Return a traced publish, answered after all before it; None without tracing."""
        if is_http(case) or not self.can_trace:
            return None
        if self.target_state.needs_identify and case.state in BEFORE_LOGIN:
            return None
        trace_id = (_TOKENS + number).to_bytes(8)
        line = command_line(names.PUB_TRACE, self.names.extended, 0)
        data = line + (12).to_bytes(4) + trace_id + b"step"
        return Sentinel(data, lambda answer: answer.kind == TRACE and trace_id in answer.data)

    def use_watched_names(self, case: Case) -> Case:
        """Return the case with its ext topic replaced by the one from which the kit consumes."""
        old, new = self.names.extended.encode(), self.twin.encode()
        if not any(old in step.data for step in case.steps):
            return case
        steps = tuple(replace(step, data=step.data.replace(old, new)) for step in case.steps)
        return replace(case, steps=steps)

    def body_of(self, stored: bytes) -> bytes:
        """Return the body of a message from the bytes that identify it when it is stored."""
        return read_body(stored)


def open_fuzz_session(target: Target, options: FuzzSessionOptions) -> OpenTarget:
    """Create topics on a running target, and measure its time limits.

    Raises:
        UsageFault: a file for TLS or the secret cannot be used.
        TargetUnreachable: the target accepts no connection.
        TargetSilent: the target does not speak NSQ.
        ArrangementFailed: a topic could not be made.
    """
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
        session.keeps_to_loopback()  # what is found from now on is not fuzzed beyond it
        return _fuzz_session(session, target, options.token)
    except BaseException:
        session.close()
        raise


def _fuzz_session(session: NsqSession, target: Target, token: str) -> OpenTarget:
    wanted = ("fresh_ext_topic", "other_fresh_ext_topic", "fresh_plain_topic", "plain_topic")
    measured = "fresh_plain_topic"
    session.make_topics(Counter((*wanted, measured)))
    made = session.arguments(wanted, Transcript())
    ext, twin, plain, neighbour = (cast(Topic, topic) for topic in made.values())
    session.measure_beside(measured)
    if len(ext.name) != len(twin.name) or any(each.partition for each in (ext, twin, plain)):
        raise ArrangementFailed("fuzzing needs topics of one form at partition 0; give none")
    http = ext.http_address or http_address(target)
    case_names = Names(ext.name, plain.name, "wp_fuzz_cases")
    patience, secured = session.patience, login_of(target)
    login = None if secured.is_open else CaseLogin(secured, patience)
    unnamed = asker = _Asker(ext.address, patience.answer, login)
    if login is not None or _needs_identify(asker, plain):
        asker = replace(asker, opening=names.MAGIC + frames.identify().data)
    answers = _publish_each(asker, ext, plain)
    unknown = frozenset(name for name, said in answers.items() if said and said.kind in ERRORS)
    extends = names.PUB_EXT not in unknown
    target_state = TargetState(
        {ext.name.encode(): extends, twin.name.encode(): extends, plain.name.encode(): False},
        twin.name.encode(),
        _limit(asker, command_line(names.PUB, ext.name, 0), limits.MAX_MSG_SIZE),
        _limit(unnamed, command_line(names.IDENTIFY), limits.MAX_BODY_SIZE),
        asker.is_named,
        unknown,
        _has_partitions(asker, plain),
    )
    traced = answers[names.PUB_TRACE]
    traces = traced is not None and traced.kind == TRACE
    oracle = NsqOracle(target_state, ext.address, http, case_names, twin.name, traces, login=login)
    places = BystanderSettings(
        neighbour,
        replace(twin, extend=extends),
        lambda: session.patience,
        asker.is_named,
        login,
        traces,
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
        partial(_generation, case_names, oracle.http is not None),
        lambda leave: None if leave else session.close(),
        not_tried="" if http is not None else NO_HTTP,
    )


def _generation(there: Names, http: bool, choice: Choice) -> Generation:
    # Hypothesis takes longer to import than many a command runs.
    from wireproof_kit.fuzz.generate.case_sources import make_reachable
    from wireproof_kit.nsq.fuzz.grammar import grammar

    return make_reachable(grammar(there, scapy=pcap.is_installed()), choice, http=http)


def _limit(asker: _Asker, line: bytes, usual: int) -> int:
    """Return a size limit above which the broker rejects at once; 0 when none is observed.

    The size tried is a little above the limit: a broker may be wrong about the one above it.
    """
    for limit in (usual, *GREATER_LIMITS):
        said = asker.ask(line + (limit + 4096).to_bytes(4))
        if said is not None and said.kind in ERRORS:
            return limit
    return 0


def _needs_identify(asker: _Asker, topic: Topic) -> bool:
    said = asker.publish(topic, names.PUB, (1).to_bytes(4) + b"i")
    return said is not None and said.kind in ERRORS


def _publish_each(asker: _Asker, ext: Topic, plain: Topic) -> dict[bytes, Answer | None]:
    """Return the answer to a valid publish by each command that a broker may not know."""
    traced, extended = (1).to_bytes(8) + b"t", (2).to_bytes(2) + b"{}e"
    bodies = {
        names.MPUB: (plain, _batch(b"b")),
        names.PUB_TRACE: (ext, traced),
        names.MPUB_TRACE: (ext, _batch(traced)),
        names.PUB_EXT: (ext, extended),
        names.MPUB_EXT: (ext, _batch(extended)),
    }
    return {
        name: asker.publish(topic, name, len(body).to_bytes(4) + body)
        for name, (topic, body) in bodies.items()
    }


def _has_partitions(asker: _Asker, topic: Topic) -> bool:
    """Return False if a publish is taken though no partition has such a name."""
    said = asker.publish(topic, names.PUB, (1).to_bytes(4) + b"p", partition="x")
    return said is None or said.kind in ERRORS


def _batch(message: bytes) -> bytes:
    return (1).to_bytes(4) + len(message).to_bytes(4) + message
