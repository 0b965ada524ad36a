"""The example client as a driver, at the example cluster: all comes, in order if it must."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import cast

import pytest
from served_cluster import Cluster, reference_cluster

from wireproof_spec.driver.lines import from_base64, in_base64

pytestmark = pytest.mark.process

COMMAND = (sys.executable, "-m", "wireproof_reference_impl.nsq.client")
COUNT = 24
KEYS = 4
Json = Mapping[str, object]


class Driven:
    """The example client in a process of its own."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._number = 0
        self.events: list[Json] = []
        assert self._read()["operations"] == ["produce", "consume"]

    def ask(self, op: str, **fields: object) -> Json:
        """Ask for an operation and return its answer."""
        self._number += 1
        line = json.dumps({"id": self._number, "op": op, **fields}).encode() + b"\n"
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()
        while True:
            read = self._read()
            if read.get("id") == self._number:
                return read
            self.events.append(read)

    def messages(self, count: int) -> list[Json]:
        """Return so many messages, as the handler was given them."""
        while sum(each["event"] == "message" for each in self.events) < count:
            self.events.append(self._read())
        return [each for each in self.events if each["event"] == "message"]

    def _read(self) -> Json:
        output = self._process.stdout
        assert output is not None
        return cast(Json, json.loads(output.readline()))


@contextmanager
def driven(found: Cluster) -> Iterator[Driven]:
    with subprocess.Popen(
        COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    ) as process:
        client = Driven(process)
        settings = {"lookupd": found.lookupds[:1], "lookup_interval_ms": 500}
        assert "ok" in client.ask("open", version=1, settings=settings)
        try:
            yield client
            assert "ok" in client.ask("close")
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait() == 0
        finally:
            process.kill()


def body(number: int) -> str:
    return in_base64(b"%04d" % number)


def plain(number: int) -> Json:
    return {"trace_id": str(2**64 - 1 - number)} if number % 2 else {}


def extended(number: int) -> Json:
    return {"ext": {"n": str(number)}, **plain(number)}


def by_key(number: int) -> Json:
    return {"key": f"key-{number % KEYS}"}


KINDS: dict[str, tuple[dict[str, str], Callable[[int], Json]]] = {
    "plain": ({}, plain),
    "ext": ({"extend": "true"}, extended),
    "ordered": ({"orderedmulti": "true"}, by_key),
}


@pytest.mark.parametrize("dialect", ["published", "deployed"])
@pytest.mark.parametrize("kind", KINDS)
def test_all_that_is_published_comes_while_a_leader_moves(kind: str, dialect: str) -> None:
    parameters, fields = KINDS[kind]
    with (
        reference_cluster(dialect) as found,
        driven(found) as consumer,
        driven(found) as producer,
    ):
        found.create("t", partition_num="2", **parameters)
        consumed = consumer.ask(
            "consume", topic="t", channel="c", handler="finish", ordered=kind == "ordered"
        )
        assert "ok" in consumed
        found.await_clients("t", "c")
        produce(producer, consumer, fields, range(COUNT // 2))
        found.move_leader("t", "0")
        produce(producer, consumer, fields, range(COUNT // 2, COUNT))
        found.await_drained("t", "c")
        seen = [each for each in consumer.events if each["event"] == "message"]
    check(kind, fields, seen)


def produce(
    producer: Driven, consumer: Driven, fields: Callable[[int], Json], numbers: range
) -> None:
    for number in numbers:
        answer = producer.ask("produce", topic="t", body=body(number), **fields(number))
        assert "ok" in answer, answer
    due = {body(number) for number in numbers}
    count = 0
    while not due <= {each["body"] for each in consumer.messages(count)}:
        count += 1


def check(kind: str, fields: Callable[[int], Json], seen: list[Json]) -> None:
    told = {each["body"]: each for each in seen}
    for number in range(COUNT):
        message, given = told[body(number)], fields(number)
        assert message["trace_id"] == given.get("trace_id", "0")
        assert message.get("ext") == given.get("ext")
    if kind == "ordered":
        numbers = [int(from_base64(str(each["body"]))) for each in seen]
        for key in range(KEYS):
            own = [number for number in numbers if number % KEYS == key]
            assert own == sorted(own)
