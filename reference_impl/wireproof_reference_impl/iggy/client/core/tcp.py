"""One TCP connection: a length and a code before each payload, a status before each body."""

from wireproof_reference_impl.iggy.client.core import messages, requests
from wireproof_reference_impl.iggy.client.core.calls import (
    Answer,
    Call,
    Login,
    Lost,
    Poll,
    Refused,
    Unreadable,
)
from wireproof_reference_impl.iggy.client.core.settings import Settings
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.bodies.command_shapes import payload_schema
from wireproof_spec.iggy.frame import NEED_MORE, Response, ResponseReader, request
from wireproof_spec.iggy.generation import framed
from wireproof_spec.iggy.statuses import OK, STATUSES
from wireproof_spec.wire_error import WireError

LARGEST_BODY = 64 << 20
"""A greater length is a lie, or the connection is out of step."""


class TcpTransport:
    """One TCP connection of the Iggy client: calls become frames, response frames answers."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._reader = ResponseReader(LARGEST_BODY)
        self._call: Call | None = None

    def begin(self) -> tuple[Call, ...]:
        """Return the login if the server is a tagged one, else no call."""
        return (Login(),) if self._settings.generation == "tagged" else ()

    def ask(self, call: Call) -> bytes:
        """Return a call as the bytes of a request frame."""
        if self._reader.pending:
            raise Lost("the server sent more than the answer")
        self._call = call
        code, payload = requests.payload_of(call, self._settings)
        return frame(
            code, encode(payload_schema(code, framed(self._settings.generation)), payload)
        )

    def receive(self, data: bytes) -> Answer | None:
        """Return the answer that these received bytes complete, or None."""
        if not data:
            raise Lost("the server closed the connection before it answered")
        self._reader.feed(data)
        try:
            response = self._reader.next_response()
        except WireError as error:
            raise Lost(str(error)) from None
        return None if response is NEED_MORE else self._answer(response)

    def lasts(self) -> bool:
        """Return True if no received bytes are left over from the last answer."""
        return not self._reader.pending

    def _answer(self, response: Response) -> Answer:
        call, self._call = self._call, None
        check_status(response)
        if not isinstance(call, Poll):
            return ()
        if not response.body:
            raise Unreadable("the answer to a poll has no body")
        return messages.read_body(response.body, self._settings.generation)


def frame(code: int, payload: bytes) -> bytes:
    """Return the bytes of a request frame with this command code."""
    return request(code, payload)


def check_status(response: Response) -> None:
    """Check that the status of a response frame means success.

    Raises:
        Refused: the status is another.
    """
    if response.status != OK:
        name = STATUSES.get(response.status, "an unknown error")
        raise Refused(response.status, f"the server refuses with status {response.status}: {name}")
