import json
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from scripted_peer import HEARTBEAT, OK, Peer, Script, ScriptedPeer, pushing, refusing, saying
from waits import LIMIT_S, Stopwatch

from wireproof_kit.errors import KitError, TargetSilent, TargetUnreachable, UsageFault
from wireproof_kit.nsq import greeting
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.probes.tables import CAPABILITY_PROBES, READING_PROBES
from wireproof_kit.nsq.session import NsqSession, open_session
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.runner.patience import Patience
from wireproof_kit.targets.session import SessionOptions
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.clauses.loading import load_catalogue

OPTIONS = SessionOptions(seed=1, run_token="token", timeout=0.2)


def target(address: tuple[str, int], **keys: str) -> Target:
    host, port = address
    return Target(f"nsq://{host}:{port}", "nsq", host, port, http=keys.get("http"))


@contextmanager
def opened(
    script: Script, *, options: SessionOptions = OPTIONS, **keys: str
) -> Iterator[NsqSession]:
    with ScriptedPeer(script) as peer:
        found = open_session(target(peer.address, **keys), options)
        try:
            yield found
        finally:
            found.close()


def naming(*addresses: tuple[str, int]) -> Script:
    """Return a lookup server's answer to every request: these nodes."""
    nodes = [{"broadcast_address": host, "tcp_port": port} for host, port in addresses]
    body = json.dumps({"producers": nodes}).encode()

    def script(peer: Peer) -> None:
        if peer.until(b"\r\n\r\n"):
            length = f"Content-Length: {len(body)}".encode()
            peer.say(b"HTTP/1.1 200 OK\r\nConnection: close\r\n", length, b"\r\n\r\n", body)

    return script


def test_a_node_is_found_through_lookup_servers() -> None:
    with ScriptedPeer(yes_sayer) as node, socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        names = naming(nobody.getsockname(), node.address)
        with ScriptedPeer(names) as lookup:
            host, port = lookup.address
            found = open_session(
                Target("nsq://?lookupd=…", "nsq", "", 0, servers={"lookupd": (f"{host}:{port}",)}),
                OPTIONS,
            )
            found.close()
        assert found.address == node.address


def test_lookup_servers_that_know_no_node_are_one_sentence() -> None:
    with ScriptedPeer(naming()) as lookup:
        host, port = lookup.address
        with pytest.raises(KitError, match="lookup server"):
            open_session(
                Target("nsq://?lookupd=…", "nsq", "", 0, servers={"lookupd": (f"{host}:{port}",)}),
                OPTIONS,
            )


def endless(piece: bytes) -> Script:
    def script(peer: Peer) -> None:
        while True:
            peer.say(piece * 100)

    return script


MUTE = {
    "silent": saying(),
    "closes-at-once": lambda peer: None,
    "resets-at-once": Peer.reset,
    "speaks-http": saying(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
    "speaks-garbage": saying(bytes(range(255, 0, -1))),
    "speaks-half-a-frame": saying(OK[:-1]),
    "refuses": saying(refusing("E_BAD_PROTOCOL")),
    "pushes": saying(pushing(b"m")),
    "heartbeats-for-ever": endless(HEARTBEAT),
    "zeros-for-ever": endless(b"\0"),
}


@pytest.mark.parametrize("script", MUTE.values(), ids=MUTE)
def test_a_target_that_does_not_speak_is_given_up_soon(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(greeting, "GREETING_SECONDS", 0.3)
    watch = Stopwatch()
    with ScriptedPeer(script) as peer, pytest.raises((TargetSilent, TargetUnreachable)) as error:
        open_session(target(peer.address), OPTIONS)

    assert watch.seconds() < LIMIT_S
    assert "\n" not in str(error.value)


def test_nobody_there_is_one_sentence(dead_port: int) -> None:
    with pytest.raises(TargetUnreachable, match="connection refused"):
        open_session(target(("127.0.0.1", dead_port)), OPTIONS)


def yes_sayer(peer: Peer) -> None:
    """Answer OK to whatever comes."""
    while peer.sock.recv(65536):
        peer.say(OK)


def test_a_target_that_says_ok_to_everything_is_probed_to_the_end() -> None:
    watch = Stopwatch()
    with opened(yes_sayer) as found:
        shown = {name: found.probe_capability(name).observation for name in CAPABILITY_PROBES}
        read = {name: found.probe_reading(name).observation for name in READING_PROBES}
        found.prepare(Counter(ext_topic=1, broker=1))

    assert shown["ext"].value == "ok,open"
    assert shown["trace"].value == "ok,open"
    assert read["no-ext-layout"].value == "missing"
    assert watch.seconds() < LIMIT_S


def identify_only(peer: Peer) -> None:
    """Answer IDENTIFY, and nothing after it."""
    peer.exactly(4)
    peer.line()
    peer.sized()
    peer.say(OK)
    peer.rest()


@pytest.mark.slow
def test_a_target_that_falls_silent_shows_nothing() -> None:
    with opened(identify_only) as found:
        words = {found.probe_capability(name).observation.value for name in CAPABILITY_PROBES}

    assert words <= {"unavailable", "silence,stuck", "absent"}


def test_every_probe_of_the_catalogue_exists() -> None:
    catalogue = load_catalogue("nsq").for_target(is_client=False)
    nsq = [decision for decision in catalogue.decisions if not decision.id.startswith("iggy")]

    assert {capability.probe for capability in catalogue.capabilities} <= CAPABILITY_PROBES.keys()
    assert {decision.probe for decision in nsq} <= READING_PROBES.keys()


def test_a_probe_nobody_knows_is_unavailable() -> None:
    with opened(yes_sayer) as found:
        assert found.probe_reading("colour").observation.value == "unavailable"


def test_arguments_are_fresh_and_released() -> None:
    with opened(yes_sayer) as found:
        first = found.arguments(("broker", "ext_topic", "fresh_ext_topic"), Transcript())
        second = found.arguments(("broker", "ext_topic", "fresh_ext_topic"), Transcript())
        assert first["ext_topic"] == second["ext_topic"]
        assert first["fresh_ext_topic"] != second["fresh_ext_topic"]
        one, two = first["broker"], second["broker"]
        assert isinstance(one, Broker)
        assert isinstance(two, Broker)
        assert one.unique_body() != two.unique_body()
        connection = one.connect()
        found.release(first)
        assert connection.has_ended


def test_an_argument_nobody_knows_is_refused() -> None:
    with opened(yes_sayer) as found, pytest.raises(KitError, match="colour"):
        found.arguments(("colour",), Transcript())


def test_topics_the_user_named_are_used() -> None:
    options = SessionOptions(
        seed=1, run_token="token", timeout=0.2, topics={"ext_topic": "mine:3"}
    )
    with opened(yes_sayer, options=options) as found:
        topic = found.arguments(("ext_topic",), Transcript())["ext_topic"]

    assert isinstance(topic, Topic)
    assert (topic.name, topic.partition, topic.way) == ("mine", 3, "given")


@pytest.mark.parametrize(
    ("topics", "told"),
    [
        ({"ext_topics": "mine"}, "expected one of ext_topic, plain_topic, .*; found 'ext_topics'"),
        ({"ext_topic": "mine:x"}, "expected ext_topic=NAME or ext_topic=NAME:PARTITION"),
        ({"ext_topic": ""}, "expected ext_topic=NAME"),
    ],
)
def test_a_topic_that_cannot_be_used_is_refused(topics: dict[str, str], told: str) -> None:
    options = SessionOptions(seed=1, run_token="token", timeout=0.2, topics=topics)
    with (
        pytest.raises(UsageFault, match=f"^--topic .*: {told}"),
        opened(yes_sayer, options=options),
    ):
        pass


def test_control_tells_prompt_from_dead() -> None:
    with ScriptedPeer(yes_sayer) as peer:
        found = open_session(target(peer.address), OPTIONS)
        assert found.control().state == "prompt"
        assert found.is_alive()
    assert found.control().state == "dead"
    assert not found.is_alive()
    found.close()


def test_control_tells_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wireproof_kit.targets.session.read_load", lambda: 1e-9)
    with opened(yes_sayer) as found:
        assert found.control().state == "slow"


def test_a_fixed_patience_is_not_measured() -> None:
    with opened(yes_sayer) as found:
        found.prepare(Counter())
        assert found.patience.answer == found.patience.redelivery == 0.2


def test_what_was_measured_before_is_not_measured_again() -> None:
    known = Patience(answer=1.5, push=15.0, redelivery=30.0, in_rounds=True)
    with opened(yes_sayer, options=SessionOptions(seed=0, run_token="t", patience=known)) as found:
        found.prepare(Counter())
        assert found.patience == known


def test_a_target_without_json_is_named_by_its_answer() -> None:
    with opened(yes_sayer) as found:
        assert found.fingerprint() == {"identify": "OK"}
