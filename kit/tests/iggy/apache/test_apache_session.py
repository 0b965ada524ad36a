"""A session with a server of generation apache: found out, logged in, probed, and judged."""

from collections.abc import Iterator

import pytest

from wireproof_kit.errors import TargetSilent, TargetUnreachable
from wireproof_kit.fuzz.driver import FuzzSessionOptions
from wireproof_kit.iggy.apache import login
from wireproof_kit.iggy.apache.answers import Evicted, Replied
from wireproof_kit.iggy.apache.batches import numbered
from wireproof_kit.iggy.apache.greeting import speaks_apache
from wireproof_kit.iggy.apache.observe import observe_messages
from wireproof_kit.iggy.apache.requests import Topic
from wireproof_kit.iggy.apache.server import ApacheServer
from wireproof_kit.iggy.apache.session import ApacheSession
from wireproof_kit.protocols import kit_part, read_target
from wireproof_kit.targets.embedded import (
    EmbeddedReference,
    reference_arguments,
    start_reference,
)
from wireproof_kit.targets.session import SessionOptions
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.apache.envelope import LoggedIn, pack_version
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_spec.iggy.apache.frames import Eviction, make_reply
from wireproof_spec.iggy.apache.header import EvictionHeader, ReplyHeader

CATALOGUE = load_catalogue("iggy")
LOGGED_IN = LoggedIn(0, 5, pack_version(0, 11, 0), "0.9.0")


@pytest.fixture(scope="module")
def reference() -> Iterator[EmbeddedReference]:
    running = start_reference("iggy", ["--generation", "apache"])
    yield running
    running.close()


def opened(url: str) -> ApacheSession:
    options = SessionOptions(seed=1, run_token="t1")
    session = kit_part("iggy").open_session(read_target(url), options)
    assert isinstance(session, ApacheSession)
    return session


@pytest.mark.process
def test_a_server_of_generation_apache_is_found_out(reference: EmbeddedReference) -> None:
    session = opened(reference.url)
    assert session.fingerprint()["protocol"] == "0.11.0"
    assert session.probe_capability("apache").observation.value == "ok"
    assert session.probe_capability("framed").observation.value == "unavailable"
    session.close()


@pytest.mark.process
def test_each_reading_of_generation_apache_is_bound(reference: EmbeddedReference) -> None:
    session = opened(f"{reference.url}&generation=apache")
    own = [each for each in CATALOGUE.decisions if each.id.startswith("iggy-apache-")]
    seen = {each.id: session.probe_reading(each.probe).observation.value for each in own}
    session.close()
    assert len(own) == 4
    assert {each.id: each.find_shown(seen[each.id]) for each in own} == {
        each.id: "deployed" for each in own
    }


@pytest.mark.process
def test_messages_are_sent_and_polled_in_a_topic_of_the_case(reference: EmbeddedReference) -> None:
    session = opened(reference.url)
    given = session.arguments(["apache", "apache_topic"], Transcript())
    server, topic = given["apache"], given["apache_topic"]
    assert isinstance(server, ApacheServer)
    assert isinstance(topic, Topic)
    sent = numbered(3)
    assert (
        observe_messages(server.sent_and_polled(topic, *sent), sent).value == "delivered:as-sent"
    )
    session.release(given)
    session.close()


@pytest.mark.process
def test_a_restarted_server_gets_another_stream_for_topics(reference: EmbeddedReference) -> None:
    session = opened(reference.url)
    given = session.arguments(["apache", "apache_topic"], Transcript())
    session.make_shared_again()
    later = session.arguments(["apache", "apache_topic"], Transcript())
    before, topic = given["apache_topic"], later["apache_topic"]
    assert isinstance(before, Topic)
    assert isinstance(topic, Topic)
    assert topic.stream_name != before.stream_name
    session.release(given)
    session.release(later)
    session.close()
    assert session.left_behind() == []


@pytest.mark.process
def test_a_server_of_another_generation_does_not_speak_apache() -> None:
    running = start_reference("iggy")
    try:
        target = read_target(running.url)
        assert not speaks_apache((target.host, target.port))
    finally:
        running.close()


@pytest.mark.process
def test_a_wrong_password_is_one_sentence(
    reference: EmbeddedReference, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WP_LOGIN", "iggy:wrong")
    with pytest.raises(TargetSilent, match="evicted:9; name the environment variable"):
        opened(f"{reference.url}&auth_env=WP_LOGIN")


@pytest.mark.parametrize(
    ("generation", "absent"),
    [("published", ()), ("tagged", ("--data",)), ("apache", ("--control",))],
)
def test_the_reference_gets_no_option_that_its_generation_lacks(
    generation: str, absent: tuple[str, ...]
) -> None:
    arguments = reference_arguments("iggy", "/data", ["--generation", generation])
    assert {"--tcp", "--http", "--data", "--control"} - {*arguments} == {*absent}


def test_the_fuzzer_takes_a_server_of_generation_apache_that_is_there() -> None:
    target = read_target("iggy://127.0.0.1:1?generation=apache")
    opener = kit_part("iggy").open_fuzz_session
    assert opener is not None
    with pytest.raises(TargetUnreachable):
        opener(target, FuzzSessionOptions("t"))


def test_a_number_that_the_kit_does_not_know_is_refused_in_one_sentence() -> None:
    with pytest.raises(TargetSilent, match=r"speaks protocol 0\.1023\.2 of Apache Iggy"):
        login.find_envelope(pack_version(0, 1023, 2), "iggy://127.0.0.1:8090")
    assert login.find_envelope(pack_version(0, 11, 7), "iggy://127.0.0.1:8090") is OWN


@pytest.mark.parametrize("place", ["bare", "result-section"])
def test_the_reply_to_a_login_is_read_in_both_places(place: login.Place) -> None:
    body = bytes(4) * (place == "result-section") + encode(OWN.login_reply, LOGGED_IN)
    entered = login.read_entered(OWN, replied(body))
    assert entered == login.Entered(LOGGED_IN, place)


def test_another_body_is_no_reply_to_a_login() -> None:
    assert login.read_entered(OWN, replied(b"\0\0\0\0no")) is None


def test_a_window_is_that_of_an_eviction_for_the_version() -> None:
    header = EvictionHeader(
        client=1, server_protocol_version=9, server_protocol_version_min=7, reason=14
    )
    assert login.window_of(Evicted(Eviction(header), b"")) == (7, 9)
    other = EvictionHeader(client=1, reason=9)
    assert login.window_of(Evicted(Eviction(other), b"")) is None


def replied(body: bytes) -> Replied:
    return Replied(make_reply(ReplyHeader(client=1, operation=1), body), b"")
