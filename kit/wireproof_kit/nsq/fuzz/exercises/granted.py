"""What a broker grants to a client, and what it then does.

Clients of new channels. Three share the messages of one (see `held`). One asks for the shortest
time-out, and answers nothing. One asks for heartbeats each second, one for none. All messages are
compared with what was published, and their ids with the answers to the publishes.
"""

import json
import math
import time
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Final, Protocol

from wireproof_kit.fuzz.driver import Answer, Trouble
from wireproof_kit.fuzz.oracle.bystanders import wait
from wireproof_kit.fuzz.oracle.rules import NEIGHBOUR, REDELIVERY
from wireproof_kit.fuzz.send.connection import CaseConnection
from wireproof_kit.nsq.fuzz.answers import (
    BEAT,
    MESSAGE,
    OK_KIND,
    TRACE,
    message_id,
)
from wireproof_kit.nsq.fuzz.exercises.held import (
    BODY,
    ID_SIZE,
    INTERNAL_ID,
    LOOK_S,
    READY,
    SILENT,
    Holder,
    Published,
    await_in,
    hold,
    leave,
)
from wireproof_kit.nsq.fuzz.exercises.returns import quiet_s
from wireproof_kit.nsq.fuzz.opening import ClientOpener, close_all
from wireproof_kit.runner.patience import machine_load
from wireproof_spec.nsq import names
from wireproof_spec.nsq.command import command_line
from wireproof_spec.nsq.limits import DISABLED, MIN_HEARTBEAT_INTERVAL_MS, MIN_MSG_TIMEOUT_MS
from wireproof_spec.strict_json import members_of

SHARED: Final = 64
"""The number of messages that the clients of the first channel share."""
LEAVERS: Final = 4
"""How many clients leave one after the other until one has left in time: a broker may deliver to
a new channel more than a second late."""
COUNT: Final = 12
"""The number of messages of the client with the short time-out."""
HELD_MS: Final = 300_000
"""The time-out that the first client asks for: the usual one of 60 s ends before a wait for a slow
broker does, and then what the broker forgot to send comes again by itself."""
EARLY: Final = 0.5
"""A message that comes again before this part of its time-out comes too early."""
LONGEST_S: Final = 2.0
"""The longest time-out that is waited for; a broker may grant another than was asked for."""
WATCHED_S: Final = 5.0
"""How long messages are watched whose time-out is answered as longer than was asked for."""
BEAT_S: Final = 1.0
BEATS: Final = 3
"""Intervals within which a heartbeat must come."""
SHORT: Final = {"msg_timeout": MIN_MSG_TIMEOUT_MS}
_ATTEMPTS: Final = slice(16, 18)


class Subscribe(Protocol):
    """Opens a subscriber of a channel."""

    def __call__(self, name: str, ready: int, **asked: int) -> tuple[CaseConnection, bytes]:
        """Return it, and what the target answered to its IDENTIFY."""
        ...


def try_granted(clients: ClientOpener, token: str, until: float) -> Trouble | None:
    """Check RDY, time-outs and heartbeats with new clients; return what went wrong, or None.

    Raises:
        Disturbed: a client could not connect or subscribe.
    """
    topic = clients.places.neighbour
    opened: list[CaseConnection] = []

    def subscribe(name: str, ready: int, **asked: int) -> tuple[CaseConnection, bytes]:
        channel = f"{token}_{name}"
        client, said = clients.negotiate(topic, channel=channel, ready=ready, asked=asked)
        opened.append(client)
        return client, said

    try:
        holder, _ = subscribe("held", READY, msg_timeout=HELD_MS)
        stranger, _ = subscribe("held", 0)
        publisher = clients.greet(topic.address)
        opened.append(publisher)
        first = _make_messages(f"{token}:h", SHARED)
        if not _publish(publisher, first, clients):
            return None  # the next check tells what is hung
        held = Holder(holder, first)
        trouble = hold(held, stranger, clients, until)
        if trouble is not None:
            return trouble
        trouble = _let_leave(subscribe, publisher, clients, token, until)
        if trouble is not None:
            return trouble
        waiting, said = subscribe("timed", COUNT, **SHORT)
        messages, timeout_s = _make_messages(f"{token}:t", COUNT), _read_timeout(said)
        timed = Timed(waiting, messages, timeout_s, has_doubles=held.has_doubles)
        if not _publish(publisher, timed.published, clients):
            return None
        return _see_intervals(timed, clients, opened, until)
    finally:
        close_all(*opened)


def _let_leave(
    subscribe: Subscribe,
    publisher: CaseConnection,
    clients: ClientOpener,
    token: str,
    until: float,
) -> Trouble | None:
    """Let clients with a short time-out leave until one did so in time; return what is wrong."""
    for number in range(LEAVERS):
        name, messages = f"left{number}", _make_messages(f"{token}:l{number}", READY)
        client, said = subscribe(name, READY, **SHORT)
        if (trouble := _judge_told(_read_timeout(said))) is not None:
            return trouble  # what comes again sooner is no fault of its leaving
        leaver = Holder(client, messages)
        subscribe(name, 0)  # it stays: a channel with other clients may forget who left
        since = time.monotonic()
        if not _publish(publisher, messages, clients):
            return None
        trouble = leave(leaver, since, until, clients, partial(subscribe, name, READY))
        if trouble is not None or leaver.is_in_time:
            return trouble
    return None


def _judge_told(timeout_s: float) -> Trouble | None:
    """Return what is wrong if the time-out of 1 s was granted as a shorter one."""
    if not 0 < timeout_s < MIN_MSG_TIMEOUT_MS / 1000:
        return None
    words = f"a client asks for a time-out of 1 s, and is answered {timeout_s:g} s"
    return Trouble(NEIGHBOUR, words)


def _make_messages(token: str, count: int) -> Published:
    traces = {b"%b:%d" % (token.encode(), n): (n + 1).to_bytes(ID_SIZE) for n in range(count)}
    return Published(traces)


def _read_timeout(identity: bytes) -> float:
    """Return the message time-out in an answer to IDENTIFY, in seconds; 0 if it has none."""
    try:
        said: object = json.loads(identity)
    except ValueError:
        return 0.0
    timeout_ms = members_of(said).get("msg_timeout")
    return timeout_ms / 1000 if isinstance(timeout_ms, int) else 0.0


def _publish(publisher: CaseConnection, published: Published, clients: ClientOpener) -> bool:
    """Publish the messages, and note their internal ids; return False unless all are taken."""
    topic = clients.places.neighbour
    traced = clients.places.can_trace
    name = names.PUB_TRACE if traced else names.PUB
    line = command_line(name, topic.name, topic.partition or 0)
    whole = [trace * traced + body for body, trace in published.traces.items()]
    publisher.answers.clear()
    publisher.send(b"".join(line + len(body).to_bytes(4) + body for body in whole))
    count = len(published.traces)
    await_in(publisher, lambda: len(publisher.answers) >= count, clients.answer_s)
    if any(answer.kind not in (OK_KIND, TRACE) for answer in publisher.answers):
        return False
    for body, answer in zip(published.traces, publisher.answers, strict=False):
        if answer.kind == TRACE:
            published.internal[body] = answer.data[INTERNAL_ID]
    return len(publisher.answers) == count


@dataclass(slots=True)
class Timed:
    """A client that answers a message only when it came again after its time-out; it touches half.

    `timeout_s` is the time-out that the broker answered; 0 if it answered none. `came` has by body
    the last moment at which a message had certainly not come yet. The `latest` that came again did
    so at that moment, the slowest after `slowest_s`. A broker that `has_doubles` may deliver a
    message again at any time.
    """

    client: CaseConnection
    published: Published
    timeout_s: float
    _: KW_ONLY
    has_doubles: bool
    came: dict[bytes, float] = field(default_factory=dict[bytes, float])
    slowest_s: float = 0.0
    latest: float = math.inf
    again: set[bytes] = field(default_factory=set[bytes])
    began: float = field(default_factory=time.monotonic)
    read_at: float = field(default_factory=time.monotonic)

    @property
    def is_over(self) -> bool:
        """Return True if all messages came again, or could have come again too early.

        A broker that answers a long time-out may keep the short one that it was asked for.
        """
        if 0 < self.timeout_s <= LONGEST_S:
            return len(self.again) >= COUNT
        return self.read_at >= self.began + WATCHED_S * machine_load()

    def attend(self, now: float) -> str:
        """Take what has come; return what is wrong, or nothing."""
        earliest, self.read_at = self.read_at, now
        wrong = ""
        for answer in self.client.answers:
            if answer.kind != MESSAGE:
                continue
            wrong = wrong or self.published.compare(answer.data)
            body = answer.data[BODY]
            if body not in self.published.traces:
                continue
            if body not in self.came and len(self.came) % 2:
                # Its time-out begins anew, once.
                self.client.send(names.TOUCH + b" " + message_id(answer.data) + b"\n")
            longest = now - self.came.setdefault(body, earliest)
            attempts = int.from_bytes(answer.data[_ATTEMPTS])
            if attempts > 1 and body not in self.again:
                self.again.add(body)
                self.latest, self.slowest_s = now, max(self.slowest_s, longest)
                if longest < EARLY * self.timeout_s and not self.has_doubles:
                    wrong = f"a message came again after {longest:.2f} s of {self.timeout_s:g} s"
            if body in self.again:
                self.client.send(names.FIN + b" " + message_id(answer.data) + b"\n")
        self.client.answers.clear()
        return wrong


class Beats:
    """Counts the heartbeats of a client, and answers them."""

    def __init__(self) -> None:
        self.count = 0

    def is_pushed(self, kind: str) -> bool:
        """Return True for heartbeats, which are no answers."""
        self.count += kind == BEAT
        return kind == BEAT

    def reply_to_unrequested(self, answer: Answer) -> bytes:
        """Return the answer to a heartbeat."""
        return names.NOP + b"\n"


def _see_intervals(
    timed: Timed, clients: ClientOpener, opened: list[CaseConnection], until: float
) -> Trouble | None:
    """Await the time-outs of messages and the heartbeats that were granted."""
    each_second, never = Beats(), Beats()  # heartbeats that nobody asked for are allowed
    address = clients.places.neighbour.address
    beating = clients.identify(
        address, each_second, {"heartbeat_interval": MIN_HEARTBEAT_INTERVAL_MS}
    )
    silent = clients.identify(address, never, {"heartbeat_interval": DISABLED})
    opened += [beating, silent]
    began, load = time.monotonic(), machine_load()
    last_beat = began + BEATS * BEAT_S * load
    last_message = began + timed.timeout_s + clients.places.redelivery_s * load
    while (now := time.monotonic()) < until:
        wait([timed.client, beating, silent], now + LOOK_S)
        wrong = timed.attend(time.monotonic())
        if wrong:
            return Trouble(NEIGHBOUR, wrong)
        has_beat = each_second.count > 0 or beating.ended or not beating.answers
        if has_beat and (timed.is_over or timed.client.ended):
            return _check_silent(silent, clients)
        if not has_beat and now > last_beat:
            return Trouble(NEIGHBOUR, f"no heartbeat came in {now - began:.1f} s at one a second")
        if now > min(last_message, timed.latest + quiet_s(timed.slowest_s)) and not timed.is_over:
            left = COUNT - len(timed.again)
            words = f"{left} of {COUNT} messages did not come again after {timed.timeout_s:g} s"
            return Trouble(REDELIVERY, words)
    return None


def _check_silent(silent: CaseConnection, clients: ClientOpener) -> Trouble | None:
    """Let the client without heartbeats publish: it must be answered."""
    if silent.ended or not silent.answers:
        return None
    topic = clients.places.neighbour
    line = command_line(names.PUB, topic.name, topic.partition or 0)
    silent.answers.clear()
    silent.send(line + len(SILENT).to_bytes(4) + SILENT)
    if await_in(silent, lambda: bool(silent.answers), clients.answer_s):
        kind = silent.answers[0].kind
        words = f"without heartbeats, a publish is answered with {kind}"
        return None if kind == OK_KIND else Trouble(NEIGHBOUR, words)
    return Trouble(NEIGHBOUR, "without heartbeats, a publish is not answered")
