"""`wireproof replay`: the recorded frames are sent again unchanged."""

from wireproof.replaying.protocol_replay import Arrangement, Links, Occasion, Replayer, Round
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_kit.wire.transcript import Transcript
from wireproof_note.session import Notebook


class NoteLinks(Links):
    """The connections of one repetition, by their names in the record; there is no HTTP."""

    def __init__(self, occasion: Occasion) -> None:
        self._transcript = Transcript()
        self._address = (occasion.target.host, occasion.target.port)
        self._seconds = occasion.session.patience.answer
        self._open: dict[str, Notebook] = {}

    @property
    def transcript(self) -> Transcript:
        """What was sent and received."""
        return self._transcript

    def open(self, name: str) -> None:
        """Connect."""
        self._open[name] = Notebook(self._address, self._transcript, self._seconds)

    def send(self, name: str, outgoing: Outgoing) -> None:
        """Send the recorded bytes unchanged."""
        self._open[name].send(outgoing)

    def receive(self, name: str) -> None:
        """Take the next frame."""
        self._open[name].receive()

    def close(self, name: str) -> None:
        """End a connection."""
        self._open[name].close()

    def close_all(self) -> None:
        """End every connection."""
        for each in self._open.values():
            each.close()


def replayer() -> Replayer:
    """Return what repeats an exchange."""
    return Replayer(
        arrange=_arrange,
        renewed=lambda data, recorded, came: data,
        is_beat=lambda data: False,
        rank=lambda data: b"",
        volatile=frozenset(),
        not_replayed={},
    )


def _arrange(occasion: Occasion) -> Arrangement:
    steps = occasion.case.transcript.steps
    rounds = (Round(steps, {}, NoteLinks(occasion)) for _ in range(occasion.times))
    return Arrangement(steps, tuple(rounds))
