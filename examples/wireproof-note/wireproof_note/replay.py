"""`wireproof replay`: the recorded frames are sent again as they were."""

from wireproof.replaying.protocol_replay import Arrangement, Links, Occasion, Replayer, Round
from wireproof_note.session import Notebook, NoteSession


class NoteLinks(Links[Notebook]):
    """The connections to the example server in one replay of a case; there is no HTTP."""

    def __init__(self, session: NoteSession) -> None:
        super().__init__()
        self._session = session

    def connect(self, name: str) -> Notebook:
        """Return a new connection to the server."""
        return self._session.notebook(self.transcript)

    def receive(self, name: str) -> None:
        """Receive the next frame on a connection."""
        self.links[name].receive()


def replayer() -> Replayer:
    """Return the functions that replay a recorded exchange of this protocol."""
    return Replayer(_arrange)


def _arrange(occasion: Occasion) -> Arrangement:
    steps, session = occasion.case.transcript.steps, occasion.session
    assert isinstance(session, NoteSession)
    rounds = (Round(steps, {}, NoteLinks(session)) for _ in range(occasion.times))
    return Arrangement(steps, tuple(rounds))
