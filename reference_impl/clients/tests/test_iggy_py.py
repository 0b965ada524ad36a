"""iggy-py 0.4.0, which is built on crate 0.6.202 and speaks to tagged servers."""

import sys
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest
from served_iggy import IggyServer, Line, iggy_server, messages_of, one, said_by, values_of

pytestmark = pytest.mark.process

PROGRAM = Path(__file__).resolve().parents[1] / "iggy_py_client.py"
BODIES = ("orders_data_2", "orders_data_3", "ä", "x" * 5000)


@pytest.fixture(params=["published", "deployed"])
def server(request: pytest.FixtureRequest) -> Iterator[IggyServer]:
    with iggy_server("--generation", "tagged", "--dialect", request.param) as running:
        yield running


def ask(server: IggyServer, verb: str) -> list[Line]:
    return said_by([sys.executable, str(PROGRAM), "--tcp", server.tcp, verb])


def test_a_whole_session(server: IggyServer) -> None:
    said = ask(server, "session")

    assert one(said, "missing") == {"event": "missing", "stream": None, "topic": None}
    assert values_of(said, "first", "payload") == [each.encode().hex() for each in BODIES]
    assert values_of(said, "first", "offset") == ["0", "1", "2", "3"]
    for message in messages_of(said, "first"):
        payload = bytes.fromhex(str(message["payload"]))
        assert message["state"] == "Available"
        assert (message["length"], message["checksum"]) == (len(payload), crc32(payload))
    assert len(set(values_of(said, "first", "id"))) == len(BODIES)
    assert values_of(said, "last", "offset") == ["3"]
    assert values_of(said, "offset 1", "offset") == ["1", "2"]
    assert values_of(said, "offset 99", "offset") == []
    assert values_of(said, "next", "offset") == ["0", "1", "2"]
    assert values_of(said, "next again", "offset") == ["3"]
    assert values_of(said, "next at the end", "offset") == []
    streams = [(each["id"], each["name"]) for each in said if each["event"] == "stream"]
    assert streams == [(1, "Orders Stream"), (1, "Orders Stream"), (2, "second")]
    topics = [(each["id"], each["messages"]) for each in said if each["event"] == "topic"]
    assert topics == [(1, 4), (2, 0)]
    assert "StreamNameAlreadyExists" in str(one(said, "failed", "taken name")["error"])


def test_every_state_is_told(server: IggyServer) -> None:
    server.fill("YQ==", "Yg==", "Yw==", "ZA==")
    states = ("available", "unavailable", "poisoned", "marked_for_deletion")
    for offset, state in enumerate(states):
        server.change(offset, state=state)

    said = ask(server, "poll")

    assert values_of(said, "all", "state") == [
        "Available",
        "Unavailable",
        "Poisoned",
        "MarkedForDeletion",
    ]


def test_an_unknown_state_fails_the_poll(server: IggyServer) -> None:
    server.fill("YQ==")
    server.change(0, state="2")

    said = ask(server, "poll")

    assert "InvalidCommand" in str(one(said, "failed", "all")["error"])


def test_a_damaged_payload_comes_with_the_checksum_of_before(server: IggyServer) -> None:
    server.fill("YQ==")
    server.change(0, flip="1")

    said = ask(server, "poll")

    assert values_of(said, "all", "payload") == [b"c".hex()]
    assert values_of(said, "all", "checksum") == [crc32(b"a")]
