"""The client under test, as a case sees it: play a script, and get the story."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from wireproof_kit.clients.limits import OF_CASE, Bounds, Limits
from wireproof_kit.clients.observe import is_prevented
from wireproof_kit.clients.part import ClientPart, Role, Until, Values
from wireproof_kit.clients.stage import Stage
from wireproof_kit.clients.story import Story, read_story
from wireproof_kit.runner.patience import machine_load
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.step_record import TranscriptRecord

COURSE_S = 6.0
"""Seconds that a case may take once the client has connected: the longest default bound is 5."""

S = TypeVar("S")
S_contra = TypeVar("S_contra", contravariant=True)


class Client(Protocol[S_contra]):
    """The client under test, as cases use it; ``role`` is the role that it plays."""

    @property
    def role(self) -> Role:
        """The role of the client in this case: consumer or producer."""
        ...

    def play(self, script: S_contra, until: Until, *, within: float = COURSE_S) -> Story:
        """Play the servers for the client by a script; return the events.

        It ends when ``until`` returns True for the events so far, when the driver cannot do its
        part, or after ``within`` seconds.
        """
        ...


@dataclass(frozen=True, slots=True)
class StartedClient(Generic[S]):
    """A client under test, started for one case; ``names`` has the case's topic and the like."""

    part: ClientPart[S]
    command: str
    names: Values
    role: Role
    start_s: float
    transcript: Transcript
    kept: Bounds = OF_CASE
    least_s: float = 0.0
    """Seconds that any case may take at the least, as the user of the kit has set it."""
    forgive: Callable[[S], S] | None = None
    """What each script is changed to first, if the client needs it."""

    def play(self, script: S, until: Until, *, within: float = COURSE_S) -> Story:
        """Start the client and play the servers for it by a script; return the events.

        It ends when ``until`` returns True for the events so far, when the driver cannot do its
        part, or after ``within`` seconds, or ``least_s`` if that is more.

        Raises:
            UsageFault: the client cannot be started.
        """
        script = self.forgive(script) if self.forgive is not None else script
        story = Story(self.part.decode())
        peers = self.part.meet(script, self.names)
        stage = Stage(peers, story, self.transcript, self.part.make_mask)
        try:
            addresses = stage.listen()
            stage.play(
                addresses,
                self.command,
                self.part.fill(script, addresses, self.names),
                until=lambda story: until(story) or is_prevented(story),
                limits=Limits(self.start_s, max(within, self.least_s) * machine_load(), self.kept),
            )
        finally:
            stage.close()
        return story


@dataclass(frozen=True, slots=True)
class RecordedClient:
    """Stands for the client of a recorded case: `play` returns the recorded events."""

    story: Story
    role: Role = "producer"

    def play(self, script: object, until: Until, *, within: float = COURSE_S) -> Story:
        """Return the recorded events; nothing is started."""
        return self.story


def recorded_client(part: ClientPart[S], transcript: TranscriptRecord) -> RecordedClient:
    """Return the stand-in for a client whose events are decoded from a transcript."""
    return RecordedClient(read_story(transcript, part.decode()))
