"""One blocking connection to an Iggy server, with deadlines and a transcript of every byte.

A send to a peer that has gone does not raise: the next receive says Closed.
"""

from socket import socket
from types import TracebackType
from typing import Self

from wireproof_kit.iggy.wire import requests
from wireproof_kit.iggy.wire.answers import Answer, Done, ErrorStatus
from wireproof_kit.iggy.wire.incoming import Answers
from wireproof_kit.runner.patience import ANSWER, Patience, Wait, machine_load
from wireproof_kit.wire import connection as wire
from wireproof_kit.wire.http import Address
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.frame import RESPONSE, Response
from wireproof_spec.iggy.statuses import OK
from wireproof_spec.wire_error import WireError

# As for NSQ: closing a socket with unread bytes would send a reset.
UNREAD_BYTES = 256 * 1024
CHECK = "one more ping, to see whether the connection goes on"


class Connection:
    """A client connection of one case; not thread-safe."""

    def __init__(
        self, sock: socket, *, transcript: Transcript, patience: Patience, address: Address
    ) -> None:
        self._incoming = Answers(transcript)
        self._wire = wire.Wire(
            sock, self._incoming, transcript=transcript, address=address, unread=UNREAD_BYTES
        )
        self._patience = patience
        self.name = self._wire.name

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def send(self, outgoing: Outgoing) -> None:
        """Send all bytes; a connection closed by the peer is reported by the next receive."""
        self._wire.record("send", outgoing.data, parts=outgoing.parts, note=outgoing.what)
        self._write(outgoing.data)

    def send_unrecorded(self, outgoing: Outgoing, note: str) -> None:
        """Send bytes, such as a password, and record only that something was sent."""
        self._wire.record("note", note=note)
        self._write(outgoing.data)

    def receive(self, wait: Wait = ANSWER) -> Answer:
        """Return the next answer."""
        return self.receive_within(self.seconds(wait))

    def ask(self, outgoing: Outgoing, wait: Wait = ANSWER) -> Answer:
        """Send a request and return the response."""
        self.send(outgoing)
        return self.receive(wait)

    def goes_on(self) -> str:
        """Ping again on this connection: ``open``, ``closed``, ``broken`` or ``stuck``.

        ``broken`` means that the answer is not that of a ping.
        """
        answer = self.ask(requests.ping().rename(CHECK))
        if isinstance(answer, Done):
            return "broken" if answer.body else "open"
        return {"closed": "closed", "silent": "stuck"}.get(answer.kind, "broken")

    @property
    def has_ended(self) -> bool:
        """Return True if either side is known to have closed the connection."""
        return self._wire.has_ended

    def receive_within(self, seconds: float) -> Answer:
        """Return the next response that arrives within the given seconds."""
        response = next(self._wire.values(seconds), None)
        if response is None:
            return self._wire.nothing(seconds, self._cut_off)
        return self._answer(response)

    def seconds(self, wait: Wait) -> float:
        """Return the time limit of one wait in seconds, longer while this machine is busy.

        Whatever is waited for on a connection is an answer: nothing comes by itself.
        """
        return self._patience.seconds(wait) * machine_load()

    def close(self) -> None:
        """Close the connection and record unread bytes; a second call does nothing."""
        self._wire.close(self._record_unread)

    def _answer(self, response: Response) -> Answer:
        self._wire.record("receive", encode(RESPONSE, response))
        if response.status == OK:
            return Done(response.body)
        return ErrorStatus(response.status, response.body)

    def _record_unread(self) -> None:
        if unread := self._wire.pending:
            self._wire.record("receive", unread[: wire.CHUNK], note="left unread")

    def _cut_off(self, pending: bytes) -> WireError:
        self._wire.record("receive", pending[: wire.CHUNK], note="cut off")
        return WireError(
            clause=RESPONSE.clause,
            field="body",
            offset=len(pending),
            expected="the rest of the answer",
            found="the end of the connection",
        )

    def _write(self, data: bytes) -> None:
        self._incoming.expect_little()
        self._wire.write(data)
        self._incoming.expect_answers()


def connect_socket(address: Address) -> socket:
    """Return a socket connected to an address.

    Raises:
        TargetUnreachable: it accepts no connection.
    """
    return wire.connect_socket(address, "iggy")
