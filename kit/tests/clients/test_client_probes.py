"""What a session says of capabilities that short runs of a client did not show."""

from collections.abc import Sequence

import pytest

from wireproof_kit.clients.client import StartedClient
from wireproof_kit.clients.events import Event, Expired, Measured
from wireproof_kit.clients.session import open_client
from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.client import NSQ_CLIENTS
from wireproof_kit.nsq.clients.events import Commanded
from wireproof_kit.nsq.clients.script import NODE_1, Script
from wireproof_kit.protocols import read_target
from wireproof_kit.targets.session import SessionOptions
from wireproof_kit.verdicts.judge import claim_state
from wireproof_spec.clauses.loading import load_catalogue

CONN = f"{NODE_1}.1"
WORKED = (
    Commanded(1.0, CONN, "SUB", ("t", "c")),
    Commanded(1.0, CONN, "FIN", message_id=bytes(16)),
    Commanded(1.0, CONN, "PUB", ("t",)),
)
WAITED_IN_VAIN = Expired(10.0, "kit")
STARVED = (Measured(10.0, "kit", 1.0, 5.0, 0.0), WAITED_IN_VAIN)
IDLE = (Measured(10.0, "kit", 1.0, 0.0, 0.0), WAITED_IN_VAIN)


@pytest.mark.parametrize(
    ("events", "seen", "state"), [(STARVED, "starved", "unknown"), (IDLE, "not-shown", "absent")]
)
def test_a_capability_is_only_absent_if_the_client_could_have_shown_it(
    events: Sequence[Event], seen: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[Script] = []

    def play(self: object, script: Script, until: object, *, within: float) -> Story:
        story = Story(NSQ_CLIENTS.decode())
        story.events += events if script.ordered else WORKED
        tries.append(script)
        return story

    monkeypatch.setattr(StartedClient, "play", play)
    target = read_target("nsq+client:true", (("role", "consumer"),))
    session = open_client(NSQ_CLIENTS, target, SessionOptions(1, "t"))

    found = session.probe_capability("client-order").observation
    capability = load_catalogue("nsq").capability("client-order")
    assert capability is not None
    assert found.value == seen
    assert claim_state(capability, found.value, claimed=False) == state
    assert ("order" in found.note) == (state == "unknown")
    assert sum(script.ordered for script in tries) == (3 if state == "unknown" else 1)
    assert session.probe_capability("client-consumer").observation.value == "ok"
