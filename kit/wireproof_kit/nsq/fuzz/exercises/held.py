"""What follows after a client has finished, returned or left what it holds.

A client may hold three messages at a time: after it finishes, returns or is refused something, the
right number must follow. Another one finishes, returns and touches what the first one holds, which
must change nothing. A third one leaves: what it finishes after CLS is done, and the rest comes to
the next client.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.oracle.bystanders import wait
from wireproof_kit.fuzz.oracle.rules import NEIGHBOUR, REDELIVERY
from wireproof_kit.fuzz.send.connection import CaseConnection
from wireproof_kit.nsq.fuzz.answers import CLOSING, ERRORS, MESSAGE, message_id
from wireproof_kit.nsq.fuzz.exercises import crowd
from wireproof_kit.nsq.fuzz.exercises.returns import quiet_s
from wireproof_kit.nsq.fuzz.opening import ClientOpener
from wireproof_kit.runner.patience import machine_load
from wireproof_spec.nsq import names
from wireproof_spec.nsq.command import command_line
from wireproof_spec.nsq.limits import MIN_MSG_TIMEOUT_MS

READY: Final = 3
"""How many messages the client may hold at once."""
SILENT: Final = b"no heartbeats"
_OURS: Final = (b"wp", crowd.BODY, SILENT)
"""How bodies of the kit's other clients begin; a new channel may get these messages, too."""
PAUSE_S: Final = 1.0
"""How long an error that need not come is waited for."""
IN_TIME: Final = 0.5
"""The part of a time-out within which a message is certainly finished in time."""
SOON_S: Final = 0.5
"""How long messages are waited for that should not come."""
LOOK_S: Final = 0.1
ID_SIZE: Final = 8
BODY: Final = slice(34, None)
INTERNAL_ID: Final = slice(10, 18)
_UNKNOWN_ID: Final = b"\x7f" * 2 * ID_SIZE
_MEDDLED: Final = "another client answers what a client holds"
_FINISHED: Final = "a client finishes a message"
_RETURNED: Final = "a client returns a message"
_REFUSED: Final = "a client is refused a message that it does not hold"
_LEFT: Final = "a client leaves by CLS, and finishes all but one of the messages that it holds"
_ACTS: Final = (_MEDDLED, _FINISHED, _RETURNED, _REFUSED)
_LATER: Final = (_FINISHED, _FINISHED, _RETURNED)
"""What is repeated then: a count that is wrong now and then shows only after many of them."""


@dataclass(slots=True)
class Published:
    """The messages of the exercise: trace id by body, and internal id as the broker told it."""

    traces: dict[bytes, bytes]
    internal: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])

    def compare(self, frame: bytes) -> str:
        """Return what is wrong with a delivered message, or nothing."""
        body, identity = frame[BODY], message_id(frame)
        if body not in self.traces:
            is_ours = body.startswith(_OURS)
            return "" if is_ours else f"a message came that nobody published: {body[:40]!r}"
        internal, trace = identity[:ID_SIZE], identity[ID_SIZE:]
        if trace != self.traces[body] and self.internal:
            return "a message came with another trace id than it was published with"
        if self.internal.get(body, internal) != internal:
            return "a message came with another internal id than the answer to its publish has"
        return ""


@dataclass(slots=True)
class Holder:
    """A client that may hold `READY` messages: what it holds and what has come, by body."""

    client: CaseConnection
    published: Published
    held: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    done: set[bytes] = field(default_factory=set[bytes])
    wrong: str = ""
    refusals: int = 0
    has_doubles: bool = False
    """Whether a message came twice, which is allowed: finishing it twice may be refused."""
    slowest_s: float = 0.0
    """The longest time until it held as many messages as it may."""
    is_in_time: bool = False
    """Whether it left, and finished what it held, long before any time-out could end."""

    def read(self) -> None:
        """Take what has come; note what is wrong with it."""
        for answer in self.client.answers:
            if answer.kind != MESSAGE:
                self.refusals += answer.kind in ERRORS
                continue
            body = answer.data[BODY]
            self.wrong = self.wrong or self.published.compare(answer.data)
            self.has_doubles |= body in self.held or body in self.done
            if body in self.done or body not in self.published.traces:
                self.client.send(names.FIN + b" " + message_id(answer.data) + b"\n")
            else:
                self.held[body] = message_id(answer.data)
        self.client.answers.clear()
        if len(self.held) > READY and not self.has_doubles:
            self.wrong = self.wrong or f"{len(self.held)} messages came to a client of RDY {READY}"

    def is_refused(self) -> bool:
        """Take what has come; return True if an error is among it."""
        self.read()
        return bool(self.refusals)

    def is_doubled(self) -> bool:
        """Take what has come; return True if a message came twice."""
        self.read()
        return self.has_doubles

    @property
    def is_full(self) -> bool:
        """Return True if the client holds all messages that it may be sent at a time."""
        return len(self.held) >= min(READY, len(self.published.traces) - len(self.done))

    def answer(self, body: bytes, *, finish: bool) -> None:
        """Finish or return a message that is held."""
        identity = self.held.pop(body)
        rest = b"" if finish else b" 0"
        self.client.send((names.FIN if finish else names.REQ) + b" " + identity + rest + b"\n")
        if finish:
            self.done.add(body)


def await_in(client: CaseConnection, is_over: Callable[[], bool], seconds: float) -> bool:
    """Wait until something is over, or the connection ended or the time is; return if it is."""
    deadline = time.monotonic() + seconds
    while not is_over() and not client.ended and time.monotonic() < deadline:
        wait([client], min(deadline, time.monotonic() + LOOK_S))
    return is_over()


def hold(
    holder: Holder, stranger: CaseConnection, clients: ClientOpener, until: float
) -> Trouble | None:
    """Finish and return messages one by one: the right number must follow each time."""
    trouble = _fill(holder, clients.push_s, "subscribing", until)
    number = 0
    while trouble is None and holder.held and not holder.client.ended and time.monotonic() < until:
        after = _ACTS[number] if number < len(_ACTS) else _LATER[number % len(_LATER)]
        holder.refusals = 0
        had_doubles = holder.has_doubles
        if after == _MEDDLED:
            _meddle(holder, stranger, clients.answer_s)
            if await_in(holder.client, holder.is_doubled, SOON_S) and not had_doubles:
                return Trouble(NEIGHBOUR, f"{after}: one of those comes to it again")
        elif after == _REFUSED:
            holder.client.send(names.FIN + b" " + _UNKNOWN_ID + b"\n")
            await_in(holder.client, holder.is_refused, min(clients.answer_s, PAUSE_S))
        else:
            # The oldest message and the newest in turn: a broker may heed the one, not the other.
            body = list(holder.held)[-(number % 2)]
            holder.answer(body, finish=after == _FINISHED)
        trouble = _fill(holder, clients.push_s, after, until)
        is_due = after in (_FINISHED, _RETURNED) and not holder.has_doubles
        if trouble is None and holder.refusals and is_due:
            trouble = Trouble(NEIGHBOUR, f"{after} that it holds, and is refused")
        number += 1
    return trouble


def _fill(holder: Holder, seconds: float, after: str, until: float = math.inf) -> Trouble | None:
    """Wait until the client holds as many messages as it may; return what is wrong.

    Nothing that is missing at the moment `until` is wrong: the time is over.
    """

    def is_full() -> bool:
        holder.read()
        return bool(holder.wrong) or holder.is_full

    started = time.monotonic()
    # Once messages have followed others, they take as long as before.
    limit_s = min(seconds, quiet_s(holder.slowest_s)) if holder.done else seconds
    full = await_in(holder.client, is_full, min(limit_s, until - started))
    holder.slowest_s = max(holder.slowest_s, time.monotonic() - started)
    if holder.wrong:
        return Trouble(NEIGHBOUR, f"{after}: {holder.wrong}")
    if full or holder.client.ended or time.monotonic() >= until:
        return None
    left = len(holder.published.traces) - len(holder.done)
    words = f"it holds {len(holder.held)} of {left} messages at RDY {READY}, and gets no more"
    return Trouble(REDELIVERY, f"{after}: {words}")


def _meddle(holder: Holder, stranger: CaseConnection, seconds: float) -> None:
    """Let another client of the channel finish, return and touch what the holder holds.

    The broker may refuse that, or close the connection. The answer to CLS follows all of it.
    """
    ids = list(holder.held.values())
    commands = [
        names.FIN + b" %b\n",
        names.REQ + b" %b 0\n",
        names.REQ + b" %b 1\n",
        names.TOUCH + b" %b\n",
    ]
    said = b"".join(command % ids[n % len(ids)] for n, command in enumerate(commands))
    stranger.send(said + command_line(names.CLS))
    await_in(stranger, lambda: _is_closing(stranger), seconds)


def leave(
    leaver: Holder,
    since: float,
    until: float,
    clients: ClientOpener,
    subscribe: Callable[[], tuple[CaseConnection, bytes]],
) -> Trouble | None:
    """Let a client leave; the next one must get the message that it does not finish after CLS.

    That may come at its time-out only, which is short. No message was published before ``since``
    (monotonic clock): what came late may be finished too late, which ``is_in_time`` of the leaver
    tells. Nothing that is missing at the moment ``until`` is wrong. Nothing is said of a target
    that gives messages twice anyway, or does not answer CLS.
    """
    client = leaver.client
    is_right = _fill(leaver, clients.push_s, "", until) is None and leaver.is_full
    client.send(command_line(names.CLS))
    is_closing = await_in(client, lambda: _is_closing(client), clients.answer_s)
    if not (is_right and is_closing) or client.ended or leaver.has_doubles:
        return None  # what is wrong with that is told elsewhere
    left, *finished = leaver.held
    for body in finished:
        leaver.answer(body, finish=True)
    leaver.is_in_time = time.monotonic() - since < IN_TIME * MIN_MSG_TIMEOUT_MS / 1000
    client.close()
    heir = Holder(subscribe()[0], leaver.published, done=leaver.done)

    def has_come() -> bool:
        heir.read()
        return bool(heir.wrong) or left in heir.held

    redelivery_s, left_at = clients.places.redelivery_s * machine_load(), time.monotonic()
    wait_s = min(clients.push_s + redelivery_s, until - left_at)
    if not await_in(heir.client, has_come, wait_s) and not heir.client.ended:
        if time.monotonic() >= until:
            return None
        return Trouble(REDELIVERY, f"{_LEFT}: that one does not come to the next client")
    rest_s = SOON_S + time.monotonic() - left_at  # what is scanned now and then comes in parts
    if leaver.is_in_time and await_in(heir.client, heir.is_doubled, rest_s):
        return Trouble(REDELIVERY, f"{_LEFT}: another one comes to the next client as well")
    return Trouble(NEIGHBOUR, f"{_LEFT}: {heir.wrong}") if heir.wrong else None


def _is_closing(client: CaseConnection) -> bool:
    return any(answer.kind == CLOSING for answer in client.answers)
