"""Crate iggy 0.0.40, whose sources are those of the commit that the published text names."""

from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest
from served_iggy import (
    IggyServer,
    Line,
    iggy_server,
    messages_of,
    one,
    said_by,
    values_of,
)

pytestmark = [pytest.mark.process]  # the crate is built first

STATES = ("available", "unavailable", "poisoned", "marked_for_deletion")
HEADERS = {
    "k-raw": ["raw", "00ff10"],
    "k-string": ["string", "76616c756531"],
    "k-bool": ["bool", "01"],
    "k-int8": ["int8", "fb"],
    "k-int16": ["int16", "c7cf"],
    "k-int32": ["int32", "c01dfeff"],
    "k-int64": ["int64", "7929edffffffffff"],
    "k-int128": ["int128", "b29e43ffffffffffffffffffffffffff"],
    "k-uint8": ["uint8", "fb"],
    "k-uint16": ["uint16", "31d4"],
    "k-uint32": ["uint32", "00286bee"],
    "k-uint64": ["uint64", "40e2010000000000"],
    "k-uint128": ["uint128", "00000000000000000000000010000000"],
    "k-float32": ["float32", "1f05f642"],
    "k-float64": ["float64", "bb61dba20c489340"],
}
REFUSALS = {
    "tcp": {
        "unknown partition": "Invalid response: 3007",
        "unknown stream": "Invalid response: 1009",
        "taken stream": "Invalid response: 1011",
    },
    "http": {
        "unknown partition": "status: 404",
        "unknown stream": "status: 404",
        "taken stream": "status: 400",
    },
}


@pytest.fixture(params=["published", "deployed"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[IggyServer]:
    data = ("--data", str(tmp_path), "--segment-size", "300")
    with iggy_server("--dialect", request.param, *data) as running:
        yield running


@pytest.fixture(params=["tcp", "http"])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def ask(program: Path, server: IggyServer, transport: str, verb: str) -> list[Line]:
    address = server.tcp if transport == "tcp" else f"http://{server.http}"
    return said_by([str(program), transport, address, verb])


def test_a_whole_session(iggy_crate_program: Path, server: IggyServer, transport: str) -> None:
    said = ask(iggy_crate_program, server, transport, "session")

    first, second = messages_of(said, "offset 0")
    assert (first["checksum"], second["checksum"]) == (2144931076, 148782482)
    assert (first["headers"], second["headers"]) == (None, HEADERS)
    assert second["id"] == str((1 << 128) - 1)
    for of in ("offset 0", "offset 2", "partition 2", "partition 3"):
        for message in messages_of(said, of):
            payload = bytes.fromhex(str(message["payload"]))
            assert (message["state"], message["checksum"]) == ("available", crc32(payload))
            assert message["length"] == (len(payload) if transport == "tcp" else 0)  # not in JSON
    assert values_of(said, "offset 2", "offset") == ["2", "3"]
    assert values_of(said, "its time", "offset") == ["2"]
    assert values_of(said, "first", "offset") == ["0", "1"]
    assert values_of(said, "last", "offset") == ["2", "3"]
    assert values_of(said, "next", "offset") == ["0", "1"]
    assert values_of(said, "next again", "offset") == ["2", "3"]
    assert values_of(said, "next at the end", "offset") == []
    assert values_of(said, "offset 99", "offset") == []
    assert values_of(said, "partition 2", "id") == ["8", "101"]
    assert values_of(said, "partition 3", "id") == ["102"]
    offsets = {each["consumer"]: each["offset"] for each in said if each["event"] == "offset"}
    assert offsets == {3: 3, 4: 2, 5: 0}
    assert one(said, "topic")["messages"] == [4, 2, 1]
    assert one(said, "streams")["names"] == ["orders.stream"]
    assert one(said, "streams left")["count"] == 0
    for of, error in REFUSALS[transport].items():
        assert error in str(one(said, "failed", of)["error"])


def test_a_member_of_a_group_reads_every_partition(
    iggy_crate_program: Path, server: IggyServer
) -> None:
    said = ask(iggy_crate_program, server, "tcp", "session")

    assert [len(messages_of(said, f"turn {each}")) for each in (1, 2, 3)] == [4, 2, 1]
    assert one(said, "group")["members"] == [[1, 2, 3]]
    assert (one(said, "me")["transport"], one(said, "me")["groups"]) == ("TCP", 1)
    assert one(said, "groups")["left"] == 0


def test_every_state_is_told(iggy_crate_program: Path, server: IggyServer, transport: str) -> None:
    server.fill("YQ==", "Yg==", "Yw==", "ZA==")
    for offset, state in enumerate(STATES):
        server.change(offset, state=state)

    said = ask(iggy_crate_program, server, transport, "poll")

    assert values_of(said, "all", "state") == [*STATES]


def test_an_unknown_state_fails_the_poll(
    iggy_crate_program: Path, server: IggyServer, transport: str
) -> None:
    server.fill("YQ==", "Yg==")
    server.change(1, state="2")

    said = ask(iggy_crate_program, server, transport, "poll")

    error = {"tcp": "Invalid response: 3", "http": "status: 400"}[transport]
    assert error in str(one(said, "failed", "all")["error"])


def test_a_damaged_payload_comes_with_the_checksum_of_before(
    iggy_crate_program: Path, server: IggyServer, transport: str
) -> None:
    server.fill("YQ==")
    server.change(0, flip="1")

    said = ask(iggy_crate_program, server, transport, "poll")

    assert values_of(said, "all", "payload") == [b"c".hex()]
    assert values_of(said, "all", "checksum") == [crc32(b"a")]
