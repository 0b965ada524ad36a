"""The client that cases use, and the session that makes one for each case."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wireproof_kit.errors import KitError
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import Patience
from wireproof_kit.targets.session import Control, Session, SessionOptions, control_round_trip
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.answers import Closed, Nonsense, Silent
from wireproof_kit.wire.connection import Wire, accepts, connect_socket
from wireproof_kit.wire.outgoing import Outgoing, from_grammar
from wireproof_kit.wire.transcript import Transcript
from wireproof_note.frame import FRAME, STORE, STORED, Frame, Frames
from wireproof_spec.decoding import encode
from wireproof_spec.wire_error import WireError


@dataclass(frozen=True, slots=True)
class Received:
    """A frame that came, with the index of the transcript's step that recorded it."""

    frame: Frame
    step: int


Answer = Received | Closed | Nonsense | Silent


class Notebook:
    """A connection of a case to the server; `transcript` records all sent and received bytes."""

    def __init__(self, address: tuple[str, int], transcript: Transcript, seconds: float) -> None:
        self._seconds = seconds
        sock = connect_socket(address, "note")
        self._wire: Wire[Frame, Received] = Wire(
            sock, Frames(), self._take, transcript=transcript, address=address, unread=65536
        )

    def ask(self, kind: int, text: bytes) -> Answer:
        """Send a frame and return the answer."""
        self.send(from_grammar(FRAME, Frame(kind, text), what="a frame"))
        return self.receive()

    def store(self, text: bytes) -> Observation:
        """Send a text to store; return the observation, which rests on the answer."""
        answer = self.ask(STORE, text)
        if not isinstance(answer, Received):
            return observed(answer.kind).on(answer)
        seen = "stored" if answer.frame == Frame(STORED, text) else "other"
        return observed(seen).on(answer)

    def send(self, outgoing: Outgoing) -> None:
        """Send bytes unchanged, and record them."""
        self._wire.record("send", outgoing.data, parts=outgoing.parts, note=outgoing.what)
        self._wire.write(outgoing.data)

    def receive(self) -> Answer:
        """Return the next frame, or the reason why no frame came."""
        for answer in self._wire.answers(self._seconds):
            return answer
        return self._wire.explain_nothing(self._seconds, _cut_off)

    def _take(self, frame: Frame) -> Received:
        """Record a frame when it comes: the case may be waiting at another connection."""
        return Received(frame, self._wire.record("receive", encode(FRAME, frame)))

    def close(self) -> None:
        """Close the connection."""
        self._wire.close(lambda: None)


class NoteSession(Session):
    """A session of the kit with one server: ``patience`` and what a `Session` must define."""

    def __init__(self, target: Target, options: SessionOptions) -> None:
        seconds = options.timeout or 2.0
        self.address = (target.host, target.port)
        self.patience = options.patience or Patience(seconds, seconds, seconds)
        self._round_trip(seconds)  # a target that does not answer ends the run here

    def arguments(self, names: Sequence[str], transcript: Transcript) -> dict[str, object]:
        """Return the values of a case's arguments: a new connection for each name."""
        return {name: self.notebook(transcript) for name in names}

    def notebook(self, transcript: Transcript) -> Notebook:
        """Return a new connection that records in the transcript."""
        return Notebook(self.address, transcript, self.patience.answer)

    def release(self, arguments: Mapping[str, object]) -> None:
        """Close the connections that a case left open."""
        for argument in arguments.values():
            if isinstance(argument, Notebook):
                argument.close()

    def control(self) -> Control:
        """Check with a round trip on a second connection that the server still works."""
        return control_round_trip(self._round_trip, self.patience)

    def is_alive(self) -> bool:
        """Return True if the target accepts a connection."""
        return accepts(self.address)

    def _round_trip(self, seconds: float) -> float:
        started = time.monotonic()
        notebook = Notebook(self.address, Transcript(), seconds)
        observation = notebook.store(b"are you there?")
        notebook.close()
        if observation.value != "stored":
            raise KitError(f"note://{self.address[0]}:{self.address[1]} does not speak note")
        return time.monotonic() - started


def _cut_off(pending: bytes) -> WireError:
    size = f"{len(pending)} bytes"
    return WireError(clause=FRAME.clause, field="frame", offset=0, expected="a frame", found=size)
