from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from scripted_peer import Peer, Script, ScriptedPeer, saying
from waits import LIMIT_S, Stopwatch

from wireproof_kit.errors import ArrangementFailed, KitError, TargetSilent, UsageFault
from wireproof_kit.iggy import greeting
from wireproof_kit.iggy.apache import probes as apache_probes
from wireproof_kit.iggy.observe.observations import observe, observe_messages
from wireproof_kit.iggy.probes import CAPABILITY_PROBES, READING_PROBES
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.session import FRAMED, IggySession, open_session
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.protocols import read_target
from wireproof_kit.targets.embedded import (
    BrokerProcess,
    EmbeddedReference,
    start_child,
    start_reference,
)
from wireproof_kit.targets.session import SessionOptions
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.clauses.catalogue import Decision
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.command_shapes import Nothing
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.bodies.streams import StreamRequest
from wireproof_spec.iggy.frame import response

pytestmark = pytest.mark.process

USUAL_FORMS: dict[str, str | None] = {
    "iggy-poll-head": "count",
    "iggy-stored-offset": "short",
    "iggy-response-length": "payload",
    "iggy-create-form": "commit",
}
OPTIONS = SessionOptions(seed=1, run_token="token", timeout=0.2)
CATALOGUE = load_catalogue("iggy").for_target(is_client=False)
OWN_DECISIONS = [each for each in CATALOGUE.decisions if each.probe in READING_PROBES]
"""Those of the generations published and tagged."""
MESSAGES = (SentMessage(1, (), b"one"), SentMessage(2, (), b"two"))


def target(address: tuple[str, int], auth_env: str | None = None) -> Target:
    host, port = address
    return Target(f"iggy://{host}:{port}", "iggy", host, port, auth_env=auth_env)


@contextmanager
def opened(script: Script) -> Iterator[IggySession]:
    with ScriptedPeer(script) as peer:
        found = open_session(target(peer.address), OPTIONS)
        try:
            yield found
        finally:
            found.close()


def answering(*rules: tuple[int, bytes]) -> Script:
    """Answer requests by their codes, every other one with ok."""
    by_code = dict(rules)

    def script(peer: Peer) -> None:
        while head := peer.exactly(4):
            frame = peer.exactly(int.from_bytes(head, "little"))
            if not frame:
                return
            peer.say(by_code.get(int.from_bytes(frame[:4], "little"), response(0)))

    return script


@pytest.fixture(scope="module")
def reference() -> Iterator[EmbeddedReference]:
    running = start_reference("iggy")
    yield running
    running.close()


@pytest.fixture(scope="module")
def session(reference: EmbeddedReference) -> Iterator[IggySession]:
    found = open_session(read_target(reference.url), SessionOptions(seed=1, run_token="t1"))
    yield found
    found.close()


def arguments(session: IggySession) -> tuple[Server, Topic]:
    found = session.arguments(("server", "topic"), Transcript())
    server, topic = found["server"], found["topic"]
    assert isinstance(server, Server)
    assert isinstance(topic, Topic)
    return server, topic


def test_every_probe_of_the_catalogue_is_there() -> None:
    capabilities = {*CAPABILITY_PROBES, *apache_probes.CAPABILITY_PROBES, FRAMED}
    assert {each.probe for each in CATALOGUE.capabilities} == capabilities
    readings = {*READING_PROBES, *apache_probes.READING_PROBES}
    assert {each.probe for each in CATALOGUE.decisions} == readings


@pytest.mark.parametrize("name", ["poll", "http", "disk", "control", "groups", "framed"])
def test_the_reference_shows_what_it_can_do(session: IggySession, name: str) -> None:
    assert session.probe_capability(name).observation.value == "ok"


def test_the_reference_asks_for_no_login(session: IggySession) -> None:
    assert session.probe_capability("login").observation.value == "closed"
    assert session.fingerprint()["generation"] == "published"


@pytest.mark.parametrize("decision", OWN_DECISIONS, ids=lambda each: each.id)
def test_the_reference_follows_a_registered_reading(
    session: IggySession, decision: Decision
) -> None:
    seen = session.probe_reading(decision.probe).observation.value

    assert decision.find_shown(seen) is not None


def test_messages_go_to_a_topic_and_come_back(session: IggySession) -> None:
    server, topic = arguments(session)
    polled = server.sent_and_polled(topic, *MESSAGES)

    assert observe_messages(polled, MESSAGES).value == "delivered:as-sent"
    session.release({"server": server})


def test_what_a_case_made_is_gone_afterwards(session: IggySession) -> None:
    server, topic = arguments(session)
    stream = server.new_stream()
    session.release({"server": server, "topic": topic})
    later, _ = arguments(session)

    assert observe(later.ask(commands.GET_STREAM, StreamRequest(stream.id))).value == "error:1009"
    assert observe(later.send(topic, *MESSAGES)).value == "error:2010"
    session.release({"server": later})


def test_a_restarted_server_gets_another_stream_for_topics(session: IggySession) -> None:
    server, before = arguments(session)
    session.make_shared_again()
    later, topic = arguments(session)

    assert topic.stream != before.stream
    gone = later.ask(commands.GET_STREAM, StreamRequest(before.stream.id))
    assert observe(gone).value == "error:1009"
    session.release({"server": server, "later": later})


def test_a_session_leaves_nothing_behind(reference: EmbeddedReference) -> None:
    found = open_session(read_target(reference.url), SessionOptions(seed=1, run_token="t2"))
    server, _ = arguments(found)
    found.release({"server": server})
    found.close()
    again = open_session(read_target(reference.url), SessionOptions(seed=1, run_token="t3"))
    looker = again.arguments(("server",), Transcript())["server"]
    assert isinstance(looker, Server)
    answer = looker.ask(commands.GET_STREAMS, Nothing())

    assert b"wp_t2" not in getattr(answer, "body", b"wp_t2")
    again.release({"server": looker})
    again.close()


def test_an_unknown_argument_is_an_error_of_the_kit(session: IggySession) -> None:
    with pytest.raises(KitError, match="no object called broker"):
        session.arguments(("broker",), Transcript())


def test_the_control_round_trip_is_prompt(session: IggySession) -> None:
    session.prepare(Counter())

    assert session.control().state == "prompt"
    assert session.is_alive()


def test_a_server_that_asks_for_a_login_is_of_the_tagged_generation() -> None:
    asked: list[int] = []

    def script(peer: Peer) -> None:
        inside = False
        while head := peer.exactly(4):
            code = int.from_bytes(peer.exactly(int.from_bytes(head, "little"))[:4], "little")
            asked.append(code)
            inside = inside or code == commands.LOGIN_USER
            free = inside or code == commands.PING
            peer.say(response(0) if free else response(40))

    with opened(script) as session:
        assert session.fingerprint()["generation"] == "tagged"
        assert session.probe_capability("login").observation.value == "ok"
    assert commands.LOGIN_USER in asked


def test_a_password_is_read_from_the_environment_and_never_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("IGGY_LOGIN", "somebody:pass:word")
    frames: list[bytes] = []

    def script(peer: Peer) -> None:
        while head := peer.exactly(4):
            frame = peer.exactly(int.from_bytes(head, "little"))
            frames.append(frame)
            is_in = any(each[:4] == b"\x26\0\0\0" for each in frames)
            peer.say(response(0) if is_in or frame == b"\1\0\0\0" else response(40))

    with ScriptedPeer(script) as peer:
        session = open_session(target(peer.address, "IGGY_LOGIN"), OPTIONS)
        transcript = Transcript()
        server = session.arguments(("server",), transcript)["server"]
        assert isinstance(server, Server)
        server.connect()
        session.release({"server": server})
        session.close()
    assert any(b"somebody" in each and b"pass:word" in each for each in frames)
    assert not any(b"pass:word" in step.data for step in transcript.steps())


@pytest.mark.parametrize("value", [None, "", "name", ":password"])
def test_a_login_that_is_none_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    if value is not None:
        monkeypatch.setenv("IGGY_LOGIN", value)
    with ScriptedPeer(answering()) as peer, pytest.raises(UsageFault, match="NAME:PASSWORD"):
        open_session(target(peer.address, "IGGY_LOGIN"), OPTIONS)


def test_a_refused_login_names_what_to_give() -> None:
    script = answering((commands.GET_STREAMS, response(40)), (commands.LOGIN_USER, response(42)))
    with ScriptedPeer(script) as peer, pytest.raises(TargetSilent, match="--auth-env"):
        open_session(target(peer.address), OPTIONS)


def silent(peer: Peer) -> None:
    peer.rest()


def closing(peer: Peer) -> None:
    peer.exactly(1)


HOSTILE: dict[str, Script] = {
    "silent": silent,
    "closes-at-once": closing,
    "http": saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    "garbage": saying(b"\xff" * 4096),
    "cut": saying(b"\0\0\0"),
}


@pytest.mark.parametrize("script", HOSTILE.values(), ids=HOSTILE)
def test_a_target_that_speaks_no_iggy_is_one_sentence(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(greeting, "GREETING_SECONDS", 0.1)
    watch = Stopwatch()
    with ScriptedPeer(script) as peer, pytest.raises(TargetSilent, match=r"^iggy://"):
        open_session(target(peer.address), OPTIONS)
    assert watch.seconds() < LIMIT_S


def test_a_server_that_says_ok_to_everything_is_judged_by_what_it_took() -> None:
    with opened(answering()) as session:
        found = {
            name: session.probe_capability(name).observation.value for name in CAPABILITY_PROBES
        }
        readings = {name: session.probe_reading(name).observation.value for name in READING_PROBES}
    assert found["poll"] == "missing"
    assert {found[name] for name in ("http", "disk", "control")} == {"unavailable"}
    shown = [each for each in OWN_DECISIONS if each.find_shown(readings[each.probe])]
    assert [each.id for each in shown] == ["iggy-response-length"]


FORMS: dict[str, dict[str, str | None]] = {
    "polls-without-head": {"iggy-poll-head": "none"},
    "head-of-tagged": {"iggy-poll-head": "partition-offset-count"},
    "lengths-count-status": {"iggy-response-length": "with-status"},
    "creates-of-schema": {"iggy-create-form": "schema"},
    "creates-of-tagged": {"iggy-create-form": "tagged"},
    "stored-offset-of-text": {"iggy-stored-offset": "text"},
    "login-before-all": {},
}


@pytest.mark.parametrize("variant", FORMS)
def test_each_form_is_bound_and_the_generation_stays(variant: str) -> None:
    running = start_reference("iggy", ["--variant", variant])
    session = open_session(read_target(running.url), SessionOptions(seed=1, run_token="t4"))
    bound = {
        each.id: each.find_shown(session.probe_reading(each.probe).observation.value)
        for each in CATALOGUE.decisions
        if each.id in USUAL_FORMS
    }
    session.bind(bound)
    server, topic = arguments(session)
    polled = server.sent_and_polled(topic, *MESSAGES)

    assert bound == {**USUAL_FORMS, **FORMS[variant]}
    assert session.fingerprint()["generation"] == "published"
    assert observe_messages(polled, MESSAGES).value == "delivered:as-sent"
    session.release({"server": server})
    session.close()
    running.close()


def start_tagged(arguments: Sequence[str]) -> BrokerProcess:
    """Start the reference of the tagged generation, which keeps no data on disk."""
    data = arguments.index("--data")
    others = (*arguments[:data], *arguments[data + 2 :], "--generation", "tagged")
    return start_child("iggy", others)


def test_a_tagged_server_is_bound_by_what_it_reads_and_writes() -> None:
    running = start_reference("iggy", start=start_tagged)
    session = open_session(read_target(running.url), SessionOptions(seed=1, run_token="t5"))

    assert session.fingerprint()["generation"] == "tagged"
    assert (session.forms.create, session.forms.head) == ("tagged", "partition-offset-count")
    session.close()
    running.close()


def test_a_generation_that_the_user_named_is_not_asked_for(reference: EmbeddedReference) -> None:
    named = read_target(reference.url, [("generation", "tagged")])
    session = open_session(named, SessionOptions(seed=1, run_token="t6"))

    assert session.fingerprint()["generation"] == "tagged"
    session.close()


def test_a_refused_create_names_the_form_that_was_sent() -> None:
    script = answering((commands.CREATE_STREAM, response(3)))
    with opened(script) as session:
        seen = session.probe_reading("iggy-create-form").observation
        with pytest.raises(
            ArrangementFailed,
            match=r"create_stream: .*; the request had the layout commit \(a number",
        ):
            session.arguments(("server", "topic"), Transcript())
    assert (seen.value, seen.note) == ("error:3", "create_stream was sent in the form commit")


def test_a_create_that_is_misread_is_told_as_not_found() -> None:
    script = answering((commands.GET_STREAM, response(1010)))
    with opened(script) as session:
        seen = session.probe_reading("iggy-create-form").observation

    assert seen.value == "form:commit,not-found"


def test_topics_of_the_user_are_refused() -> None:
    options = SessionOptions(seed=1, run_token="token", topics={"topic": "mine"})
    with ScriptedPeer(answering()) as peer, pytest.raises(UsageFault, match="--topic"):
        open_session(target(peer.address), options)
