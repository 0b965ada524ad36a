"""Real traffic through the proxy: right and faulty brokers, right and faulty clients."""

import base64
import http.client
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import pytest
from proxied import PATIENCE_S, Proxied, proxied

from wireproof_kit.drivers.driver import Driver
from wireproof_kit.nsq.proxy.part import list_services, make_part
from wireproof_kit.protocols import read_target
from wireproof_kit.runner.collect import collect
from wireproof_kit.targets.embedded import start_reference
from wireproof_spec.driver.lines import Failure, Fields, Result
from wireproof_spec.nsq import names

pytestmark = [pytest.mark.process, pytest.mark.long]

DRIVER = (sys.executable, "-m", "wireproof_reference_impl.nsq.drive")
BODY = base64.b64encode(b"body").decode()
TOPICS = {"plain": "", "ext": "&extend=true", "ordered": "&orderedmulti=true"}
COUNT = 6
BEATS = 4


def create_topics(lookupd: str) -> None:
    for topic, more in TOPICS.items():
        connection = http.client.HTTPConnection(lookupd)
        connection.request(
            "POST", f"/topic/create?topic={topic}&partition_num=1&replicator=1{more}"
        )
        assert connection.getresponse().status == 200
        connection.close()


@contextmanager
def standing_before(faults: Sequence[str]) -> Generator[Proxied]:
    """Stand before the lookup servers of a reference with these options."""
    broker = start_reference("nsq", faults)
    try:
        lookupds = parse_qs(urlsplit(broker.url).query)["lookupd"][0]
        create_topics(lookupds.split(",")[0])
        services = list_services(read_target(f"nsq://?lookupd={lookupds}"))
        part = make_part()
        assert part.know_ordered is not None
        part.know_ordered("ordered")
        with proxied(*services, part=part, opening=collect("nsq")) as proxy:
            yield proxy
    finally:
        broker.close()


def work(proxy: Proxied, options: Sequence[str] = (), *, beats: int = 0) -> None:
    """Let the example client consume and publish on each kind of topic, behind the proxy."""
    host, port = proxy.address
    settings: Fields = {
        "lookupd": [f"{host}:{port}"],
        "lookup_interval_ms": 1000,
        "publish_timeout_ms": 5000,
        "heartbeat_interval_ms": 1000,
    }
    driver = Driver.start([*DRIVER, *options], settings=settings)
    try:
        consume(driver, "plain")
        consume(driver, "ext", tag="tagA")
        consume(driver, "ext", tag="tagB")
        consume(driver, "ordered", ordered=True)
        publish(driver)
        for _ in range(3 * COUNT):
            if driver.next_event(within=PATIENCE_S if not options else 5.0) is None:
                break
        seen = 0
        while seen < beats:
            event = proxy.seen.events.get()
            seen += getattr(event, "data", b"") == names.HEARTBEAT
    finally:
        driver.close()


def consume(driver: Driver, topic: str, **more: str | bool) -> None:
    # Held for a moment: a node that does not keep to RDY then has time to show it.
    held: Fields = {"handler": "hold", "hold_ms": 100}
    fields: Fields = {"topic": topic, "channel": "c", **held, **more}
    assert isinstance(driver.request("consume", fields, within=PATIENCE_S), Result)


def publish(driver: Driver) -> None:
    numbers: list[tuple[int, str]] = []
    for at in range(COUNT):
        tagged: Fields = {"ext": {"k": "v"}, "tag": "tagA" if at % 2 else "tagB"}
        traced: Fields = {"trace_id": str(at + 1000)} if at % 3 else {}
        for topic, more in (("plain", {}), ("ext", tagged), ("ordered", {"key": "k"})):
            fields: Fields = {"topic": topic, "body": BODY, **more, **traced}
            numbers.append((driver.send("produce", fields), topic))
    for number, topic in numbers:
        answer = driver.answer(number, f"produce to {topic}", within=PATIENCE_S)
        assert isinstance(answer, Result | Failure)


EXPECTED = {
    "smart.client.handshake",
    "smart.client.identify-verified",
    "smart.client.ready",
    "smart.client-send.finish",
    "smart.client-lookup.accept",
    "smart.client.heartbeat",
    "smart.connection.frame",
    "smart.connection.ready",
    "smart.lookup.answer",
    "smart.order.layout",
    "smart.order.position",
    "smart.order.one-in-flight",
    "smart.trace.response",
    "ext.consume.layout",
    "ext.dispatch.never-other-tag",
    "ext.publish.ok-response",
    "ext.publish.trace-response",
}
LEGAL = [
    (),
    ("--variant", "many-heartbeats"),
    ("--variant", "duplicates"),
]
BROKERS = {
    "trace-ids-swapped": "ext.publish.trace-response",
    "attempts-with-indicator": "ext.consume.attempts",
    "dispatch-to-all": "ext.dispatch.never-other-tag",
    "order-two-in-flight": "smart.order.one-in-flight",
    "order-size-first": "smart.order.position",
}
CLIENTS = {
    "client-nop-first": "smart.client.handshake",
    "client-rdy-with-sub": "smart.client.ready",
    "client-header-trace-number": "ext.client-header.trace",
    "client-accept-short": "smart.client-lookup.accept",
    "client-rdy-million": "smart.client-send.ready",
}


@pytest.mark.parametrize("options", LEGAL, ids=lambda options: "-".join(options) or "none")
def test_right_peers_conform_whatever_they_choose(options: Sequence[str]) -> None:
    with standing_before(options) as proxy:
        work(proxy, beats=BEATS)

    assert proxy.deviating() == {}
    assert proxy.observer.faults == []
    assert set(proxy.verdicts()) >= EXPECTED


@pytest.mark.parametrize("fault", BROKERS)
def test_a_faulty_broker_is_found_by_the_clause_that_it_breaks(fault: str) -> None:
    with standing_before(("--fault", fault)) as proxy:
        work(proxy, ("--variant", "client-repeats-slowly"), beats=4 * BEATS)

    assert BROKERS[fault] in proxy.deviating()
    assert "client" not in {entry.clause.role for entry in proxy.seen.deviations}


@pytest.mark.parametrize("fault", CLIENTS)
def test_a_faulty_client_is_found_by_the_clause_that_it_breaks(fault: str) -> None:
    with standing_before(()) as proxy:
        work(proxy, ("--fault", fault))

    assert " " in proxy.deviating()[CLIENTS[fault]], "told in a sentence"
    assert {entry.clause.role for entry in proxy.seen.deviations} == {"client"}


def test_a_client_that_answers_no_heartbeat_is_found() -> None:
    with standing_before(()) as proxy:
        work(proxy, ("--fault", "client-heartbeats-unanswered"), beats=9 * BEATS)

    assert "smart.client.heartbeat" in proxy.deviating()
