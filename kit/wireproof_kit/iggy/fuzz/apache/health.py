"""Bystanders of fuzz cases for generation apache: clients that poll what the server stored."""

import itertools
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.fuzz.driver import Answer, Health, LoggedIn, Trouble
from wireproof_kit.fuzz.oracle.bystanders import (
    BEHIND_S,
    Missing,
    describe_ended,
    describe_undelivered,
    or_dead,
    wait,
)
from wireproof_kit.fuzz.oracle.rules import HUNG, NEIGHBOUR, ROUND_TRIP
from wireproof_kit.fuzz.send.connection import CaseConnection
from wireproof_kit.iggy.apache import batches, login, requests
from wireproof_kit.iggy.apache.connection import Connection
from wireproof_kit.iggy.apache.requests import Polling, Topic
from wireproof_kit.iggy.apache.server import Access
from wireproof_kit.iggy.fuzz.answers import OK_KIND
from wireproof_kit.iggy.fuzz.apache.answers import AnswerReader, body, fingerprint
from wireproof_kit.iggy.fuzz.health import ATTENTIVE, Asked
from wireproof_kit.runner.patience import ANSWER, Patience, machine_load
from wireproof_kit.wire.address import Address
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.batch import MessageFrame
from wireproof_spec.iggy.apache.header import RequestHeader
from wireproof_spec.iggy.apache.polled import Polled, decode_polled
from wireproof_spec.iggy.bodies.partitioning import partition_id
from wireproof_spec.iggy.kinds import LAST
from wireproof_spec.wire_error import WireError

AT_ONCE: Final = 1000
PAUSE_S: Final = 0.05
_OPENING: Final = b"\0"
"""Stands for the bytes that follow a login: without any, nobody logs in."""


@dataclass(frozen=True, slots=True)
class CaseLogin:
    """Logs in each connection that begins with anything, under a client id of its own."""

    access: Access
    patience: Patience

    def __call__(self, sock: socket.socket, address: Address, opening: bytes) -> LoggedIn:
        """Log in; nothing of the opening bytes is sent.

        A server that does not answer in time will not answer the case either, and is judged by it.

        Raises:
            ArrangementFailed: the server refused the login.
        """
        transcript, envelope = Transcript(), self.access.envelope
        connection = Connection(
            sock, transcript=transcript, patience=self.patience, address=address
        )
        who = self.access.credentials
        answer = login.ask_login(
            connection, envelope, login.login_body(who, envelope), who.name, ANSWER
        )
        if answer.kind != "silent" and login.read_entered(envelope, answer) is None:
            seen = login.observe_login(envelope, answer).value
            raise ArrangementFailed(f"the login was answered {seen}")
        return LoggedIn(sock, opening, steps=transcript.steps())


@dataclass(slots=True)
class Bystanders(Health):
    """The kit's own clients during fuzz cases, which no case may disturb.

    ``neighbour`` is a topic of their own; from ``watched`` the kit consumes stored messages.
    """

    login: CaseLogin
    neighbour: Topic
    watched: Topic
    token: str
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _idle: CaseConnection | None = None
    _offset: int = 0

    def check(self, *, patient: bool = True) -> Trouble | None:
        """Let the kit's own clients and a new one make a round trip; return what went wrong."""
        trouble = self._round_trip()
        if trouble is None:
            return None
        self.close()
        return or_dead(trouble, self.login.access.address)

    def begin_watch(self) -> Trouble | None:
        """Note behind which offset the messages of the watched topic come."""
        asked = self._request_anew(self._poll(self.watched, Polling(LAST, count=1)))
        polled = self._polled(asked.answer)
        if polled is None:
            words = f"a poll is answered with {asked.answer.kind if asked.answer else 'nothing'}"
            return or_dead(Trouble(asked.violated, words), self.login.access.address)
        self._offset = polled.offsets[-1] + 1 if polled.offsets else 0
        return None

    def end_watch(self, stored: Sequence[bytes]) -> Trouble | None:
        """Poll until all expected messages arrived unchanged; return the first that did not.

        A message is lost if it does not arrive soon after a message that was sent later.
        """
        missing, strange, last = Missing(stored), 0, b""
        client = self._connect()
        deadline = time.monotonic() + self.login.patience.push * machine_load()
        while missing and not client.ended and time.monotonic() < deadline:
            frames = self._poll_watched(client)
            for frame in frames:
                if last and frame.payload == last:
                    deadline = min(deadline, time.monotonic() + BEHIND_S * machine_load())
                elif not missing.strike((fingerprint(frame),)):
                    strange += 1
            if not frames and not last:
                last = self._payload()
                self._request(client, self._send(self.watched, last))
            elif not frames:
                time.sleep(PAUSE_S)
        client.close()
        return describe_undelivered(missing, len(stored), strange=strange) if missing else None

    def close(self) -> None:
        """Close the connections of the kit's own clients."""
        if self._idle is not None:
            self._idle.close()
        self._idle = None

    def _round_trip(self) -> Trouble | None:
        if self._idle is None:
            self._idle = self._connect()
        payload = self._payload()
        asked = self._request_anew(self._send(self.neighbour, payload))
        if asked.answer is None or asked.answer.kind != OK_KIND:
            words = asked.answer.kind if asked.answer else "nothing"
            told = f"a fresh connection's message is answered with {words}"
            return Trouble(asked.violated, told)
        return self._check_seen(self._idle, payload)

    def _check_seen(self, idle: CaseConnection, payload: bytes) -> Trouble | None:
        """Let the idle client poll the last message until it is this one, or patience ends."""
        deadline = time.monotonic() + self.login.patience.push * machine_load()
        while True:
            said = self._request(idle, self._poll(self.neighbour, Polling(LAST, count=1)))
            polled = self._polled(said)
            if polled is None or idle.answers:
                if idle.ended:
                    words = describe_ended("the kit's idle client", idle)
                    return Trouble(NEIGHBOUR, f"{words}; new connections are answered")
                how = said.kind if said else idle.fault or "nothing"
                return Trouble(NEIGHBOUR, f"a neighbour's poll is answered with {how}")
            if [frame.payload for frame in polled.frames] == [payload]:
                return None
            if time.monotonic() >= deadline:
                told = "a message of a neighbour was not delivered unchanged"
                return Trouble(NEIGHBOUR, told)
            time.sleep(PAUSE_S)

    def _connect(self) -> CaseConnection:
        address = self.login.access.address
        return CaseConnection(
            address, AnswerReader(), ATTENTIVE, opening=_OPENING, login=self.login
        )

    def _request(self, client: CaseConnection, request: bytes) -> Answer | None:
        """Send a request and return the first answer; None when none arrives."""
        client.send(request)
        deadline = time.monotonic() + self.login.patience.answer * machine_load()
        while not (client.answers or client.ended or client.fault) and time.monotonic() < deadline:
            wait([client], deadline)
        return client.answers.pop(0) if client.answers else None

    def _request_anew(self, request: bytes) -> Asked:
        """Send a request on a new connection, and close that."""
        fresh = self._connect()
        try:
            said = self._request(fresh, request)
        finally:
            fresh.close()
        return Asked(said, ROUND_TRIP if said or fresh.ended or fresh.fault else HUNG)

    def _poll_watched(self, client: CaseConnection) -> tuple[MessageFrame, ...]:
        """Poll the watched topic for new messages; return none when the answer is invalid."""
        request = self._poll(self.watched, Polling(value=self._offset, count=AT_ONCE))
        polled = self._polled(self._request(client, request))
        if polled is None or not polled.offsets:
            return ()
        self._offset = polled.offsets[-1] + 1
        return polled.frames

    def _polled(self, said: Answer | None) -> Polled | None:
        """Return what a poll returned; None when its answer is not a valid one."""
        if said is None or said.kind != OK_KIND:
            return None
        try:
            return decode_polled(self.login.access.envelope, body(said))
        except WireError:
            return None

    def _payload(self) -> bytes:
        return f"wp:{self.token}:{next(self._numbers)}".encode()

    def _poll(self, topic: Topic, polling: Polling) -> bytes:
        header = self._header(operations.NON_REPLICATED, code=operations.POLL_MESSAGES)
        return requests.frame(header, requests.poll_body(topic.by_number, 0, polling)).data

    def _send(self, topic: Topic, payload: bytes) -> bytes:
        batch = batches.batch(batches.message(payload))
        sent = requests.send_body(topic.by_number, partition_id(0), batch)
        return requests.frame(self._header(operations.SEND_MESSAGES), sent).data

    def _header(self, operation: int, code: int = 0) -> RequestHeader:
        number = next(self._numbers)
        return RequestHeader(client=1, session=1, request=number, operation=operation, code=code)
