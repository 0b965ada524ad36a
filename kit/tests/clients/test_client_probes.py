"""What a session says of capabilities that short runs of a client did not show."""

from collections.abc import Sequence

import msgspec
import pytest
from small_law import header, record

from wireproof.view.failure import COURSE_LINES, FailureContext, failure
from wireproof.view.style import PLAIN
from wireproof_kit.clients.client import StartedClient
from wireproof_kit.clients.events import Answered, Event, Expired, Greeted, Measured, Wrote
from wireproof_kit.clients.session import explain, open_client
from wireproof_kit.clients.story import DRIVER, EXPIRED, GIVEN, MARK, STDERR, Story
from wireproof_kit.nsq.clients.client import NSQ_CLIENTS
from wireproof_kit.nsq.clients.course import tell
from wireproof_kit.nsq.clients.events import Commanded, Requested
from wireproof_kit.nsq.clients.heartbeats import rest_on_beat
from wireproof_kit.nsq.clients.probes import observe_capability
from wireproof_kit.nsq.clients.script import LOOKUP_1, LOOKUP_2, NODE_1, Script
from wireproof_kit.observation import observed
from wireproof_kit.protocols import read_target
from wireproof_kit.runner.records import steps_record
from wireproof_kit.targets.session import SessionOptions
from wireproof_kit.verdicts.judge import claim_state
from wireproof_kit.wire.transcript import Step
from wireproof_reports.causes import fold
from wireproof_spec.clauses.catalogue import CLIENT
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.driver.lines import Hello, Result, Unsupported
from wireproof_spec.nsq.frame import response_frame
from wireproof_spec.nsq.names import HEARTBEAT
from wireproof_spec.record import CaseRecord, TargetRecord

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


def test_what_a_client_sent_that_is_no_command_is_said() -> None:
    step = Step(1, CONN, "send", b"GET / HTTP/1.0\r\n\r\n")
    story = Story(NSQ_CLIENTS.decode())
    for each in (Step(0, CONN, "open"), step, Step(2, "kit", "note", note=f"{EXPIRED}: 8 s")):
        story.add(each)

    told = explain(NSQ_CLIENTS, "./mine", "producer", story)

    assert "connected but published nothing as a producer (what it sent is malformed: " in told
    assert "found b'GET / HTTP/1.0" in told


def test_the_course_says_which_limit_is_over() -> None:
    limits = [f"{MARK}over", f"{EXPIRED}: 24.7 s"]
    steps = steps_record(Step(1, "kit", "note", note=note) for note in limits)

    first, second = (line.text for line in tell(steps))

    assert "the period in which the case looks at the client is over" in first
    assert "the time limit of 24.7 s is over" in second


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], ["tells of message", "answers a request: ok"]),
        ([Step(0, "kit", "note", note=f"{GIVEN}{{}}")], ["expected {"] * 2),
    ],
    ids=["a part", "the whole"],
)
def test_the_course_of_a_part_of_a_case_asks_for_no_greeting(
    given: list[Step], told: list[str]
) -> None:
    """A way of messages has the steps of its breach alone."""
    lines = (b'{"event": "message", "of": 3}\n', b'{"id": 3, "ok": {}}\n')
    steps = [*given, *(Step(1, DRIVER, "text", line) for line in lines)]

    for line, words in zip(tell(steps_record(steps)), told, strict=True):
        assert words in line.text


def test_a_failure_about_heartbeats_shows_the_connection_of_the_one_that_went_unanswered() -> None:
    """What a client looks up meanwhile is more than the last lines of a course hold."""
    story, asked = Story(NSQ_CLIENTS.decode()), b"GET /listlookup HTTP/1.1\r\nHost: a\r\n\r\n"
    beat = Step(2, CONN, "receive", response_frame(HEARTBEAT))
    lookups = [
        step
        for at in range(3, 3 + COURSE_LINES)
        for step in (
            Step(at, f"{LOOKUP_1}.{at}", "open"),
            Step(at, f"{LOOKUP_1}.{at}", "request", asked),
        )
    ]
    steps = [Step(1, CONN, "open"), beat, *lookups]
    for step in steps:
        story.add(step)
    seen = rest_on_beat(story, observed("silent"))
    assert seen.evidence == (1,)

    case = record("silent", transcript=steps_record(steps), verdict="fail")
    shown = [_show_course(msgspec.structs.replace(case, evidence=each)) for each in ((), (1,))]
    assert ["_heartbeat_" in text for text in shown] == [False, True]
    assert f"{len(lookups)} other lines" in shown[1]


def _show_course(case: CaseRecord) -> str:
    (cause,) = fold([case])
    target = TargetRecord("nsq+client:x", "nsq", role=CLIENT)
    head = msgspec.structs.replace(header(), target=target)
    return "\n".join(failure(cause, FailureContext(head, None, 0, PLAIN)))


def story_of(*events: Event) -> Story:
    story = Story(NSQ_CLIENTS.decode())
    story.events += events
    return story


def lookup(peer: str, at: float = 0.0) -> Requested:
    return Requested(at, f"{peer}.1", "GET", "/lookup", {}, {})


ONE_ROUND = (lookup(LOOKUP_1), lookup(LOOKUP_2))
TWO_ROUNDS = (*ONE_ROUND, *WORKED, lookup(LOOKUP_2, 2.0))
TWO_THREADS = (*ONE_ROUND, *ONE_ROUND, *WORKED)
"""Each of two threads asks before it does its work."""


@pytest.mark.parametrize(
    ("producer", "consumer", "open_to_both"),
    [
        (TWO_ROUNDS, TWO_ROUNDS, True),
        ((), TWO_ROUNDS, True),  # a producer of the original is told its node, and looks up never
        (ONE_ROUND, ONE_ROUND, False),
        (TWO_THREADS, TWO_THREADS, False),
        (TWO_ROUNDS, ONE_ROUND, True),
        (ONE_ROUND, TWO_ROUNDS, False),
        ((), (), False),
    ],
)
def test_a_client_looks_up_again_if_it_asks_a_server_twice_in_the_role_of_a_case(
    producer: Sequence[Event], consumer: Sequence[Event], *, open_to_both: bool
) -> None:
    stories = {
        "producer": story_of(*producer),
        "refresh-producer": story_of(*producer),
        "refresh-consumer": story_of(*consumer),
    }

    def is_shown(name: str) -> bool:
        return observe_capability(stories, name).value == "ok"

    assert is_shown("client-refresh") is open_to_both
    assert is_shown("client-refresh-producer") is (producer == TWO_ROUNDS)
    assert is_shown("client-refresh-consumer") is (consumer == TWO_ROUNDS)


def test_a_client_that_consumes_in_every_role_looks_up_again() -> None:
    """It looks up when it is started as a producer, too, and publishes nothing."""
    stories = {"producer": story_of(*TWO_ROUNDS), "refresh-consumer": story_of(*TWO_ROUNDS)}

    assert observe_capability(stories, "client-refresh").value == "ok"


SUB, FIN = WORKED[:2]
GREETED = Greeted(0.1, DRIVER, Hello((1,), "toy", "", (), ()))


@pytest.mark.parametrize(
    ("events", "seen"),
    [
        ((SUB, FIN), "not-shown"),
        ((SUB, FIN, Wrote(2.0, STDERR, b"took message 12")), "not-shown"),
        ((SUB, FIN, Wrote(2.0, STDERR, b"trace 4611686018497387936")), "ok"),
        ((SUB, FIN, Wrote(2.0, STDERR, b"id 70000031")), "ok"),
        ((Commanded(1.0, CONN, "SUB_ADVANCED", ("t", "c", "0")), FIN), "ok"),
        ((GREETED, Answered(1.0, DRIVER, "consume", Result(2, {})), SUB, FIN), "ok"),
        ((GREETED, Answered(1.0, DRIVER, "consume", Unsupported(2, "trace"))), "not-shown"),
    ],
)
def test_a_consumer_shows_without_a_producer_that_it_traces(
    events: Sequence[Event], seen: str
) -> None:
    stories = {"trace-consumer": story_of(*events)}

    assert observe_capability(stories, "client-trace-consumer").value == seen
    assert observe_capability(stories, "client-trace").value == "not-shown"
