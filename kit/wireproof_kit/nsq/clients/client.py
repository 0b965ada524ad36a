"""The client under test, as a case sees it: play a script, and get the story."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from wireproof_kit.clients.stage import Limits, Stage
from wireproof_kit.clients.story import Story, read_story
from wireproof_kit.nsq.clients.decoder import NsqDecoder
from wireproof_kit.nsq.clients.driver_requests import Asking
from wireproof_kit.nsq.clients.peers import NsqPeers
from wireproof_kit.nsq.clients.script import NODE_1, Role, Script
from wireproof_kit.runner.patience import machine_load
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.driver.lines import Fields
from wireproof_spec.record import TranscriptRecord
from wireproof_spec.strict_json import JsonValue

SETTINGS = (
    "lookupd",
    "topic",
    "channel",
    "nsqd",
    "role",
    "lookup_interval_ms",
    "publish_timeout_ms",
    "msg_timeout_ms",
    "ordered",
    "ext",
    "trace",
    "tag",
)
"""What the kit fills into a client's command line, and sets in its environment."""
LOOKUP_INTERVAL_MS = 1000
PUBLISH_TIMEOUT_MS = 1000
MSG_TIMEOUT_MS = 60_000
COURSE_S = 6.0
"""How long a case may take once the client has connected: the longest default bound is 5 s."""

Until = Callable[[Story], bool]


class Client(Protocol):
    """The client under test as cases use it; ``role`` is one of its roles."""

    @property
    def role(self) -> Role:
        """A role of the client: consumer or producer."""
        ...

    def play(self, script: Script, until: Until, *, within: float = COURSE_S) -> Story:
        """Play a script until the story is complete; return the story."""
        ...


@dataclass(frozen=True, slots=True)
class StartedClient:
    """A client that is started for this case."""

    command: str
    topic: str
    channel: str
    role: Role
    start_s: float
    transcript: Transcript

    def play(self, script: Script, until: Until, *, within: float = COURSE_S) -> Story:
        """Start the client and play the script until the story is complete.

        Raises:
            UsageFault: the client cannot be started.
        """
        story = Story(NsqDecoder())
        asking = Asking(script, topic=self.topic, channel=self.channel)
        peers = NsqPeers(script, asking)
        stage = Stage(peers, story, self.transcript)
        try:
            addresses = stage.listen()
            values = settings_of(script, addresses, topic=self.topic, channel=self.channel)
            asking.settings = driver_settings(values)
            stage.play(
                addresses,
                self.command,
                values,
                until=until,
                limits=Limits(self.start_s, within * machine_load()),
            )
        finally:
            stage.close()
        return story


@dataclass(frozen=True, slots=True)
class RecordedClient:
    """The client of a recorded case: it returns the recorded story, and nothing is started."""

    story: Story
    role: Role = "producer"

    def play(self, script: Script, until: Until, *, within: float = COURSE_S) -> Story:
        """Return the recorded story."""
        return self.story


def recorded_client(transcript: TranscriptRecord) -> RecordedClient:
    """Return the client of a recorded case."""
    return RecordedClient(read_story(transcript, NsqDecoder()))


def settings_of(
    script: Script, addresses: Mapping[str, str], *, topic: str, channel: str
) -> dict[str, str]:
    """Return the values that a client is given, by their names in `SETTINGS`."""
    return {
        "lookupd": ",".join(addresses.get(name, "") for name in script.configured),
        "topic": topic,
        "channel": channel,
        "nsqd": addresses.get(NODE_1, ""),
        "role": script.role,
        "lookup_interval_ms": str(LOOKUP_INTERVAL_MS),
        "publish_timeout_ms": str(PUBLISH_TIMEOUT_MS),
        "msg_timeout_ms": str(MSG_TIMEOUT_MS),
        "ordered": _flag(is_set=script.ordered),
        "ext": _flag(is_set=script.extend),
        "trace": _flag(is_set=False),
        "tag": "",
        **script.settings,
    }


def _flag(*, is_set: bool) -> str:
    return "1" if is_set else ""


def driver_settings(values: Mapping[str, str]) -> Fields:
    """Return the settings that a driver is told with open."""
    return {
        "lookupd": list[JsonValue](values["lookupd"].split(",")),
        "nsqd": values["nsqd"],
        "lookup_interval_ms": int(values["lookup_interval_ms"]),
        "publish_timeout_ms": int(values["publish_timeout_ms"]),
        "msg_timeout_ms": int(values["msg_timeout_ms"]),
    }
