"""The example client at a server: what it sends comes back, verified, in both generations.

With WIREPROOF_IGGY=iggy://HOST:PORT?http=HOST:PORT it meets a server that is there.
"""

import asyncio
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import pytest
from served_iggy import iggy_server

from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.session import open_session
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.protocols import read_target
from wireproof_kit.targets.session import SessionOptions
from wireproof_kit.wire.transcript import Transcript
from wireproof_reference_impl.iggy.client.core import operations
from wireproof_reference_impl.iggy.client.core.calls import Poll, Refused, Send
from wireproof_reference_impl.iggy.client.core.settings import Settings
from wireproof_reference_impl.iggy.client.shell import Shell
from wireproof_spec.iggy.bodies.partitioning import partition_id
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.header_kinds import STRING, UINT64
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.kinds import NEXT
from wireproof_spec.iggy.message import Message
from wireproof_spec.iggy.states import AVAILABLE

pytestmark = pytest.mark.process

HEADERS = (Header("key 1", STRING, b"value1"), Header("key_3", UINT64, b"\x01" * 8))
SENT = (
    SentMessage(7, HEADERS, b"orders_data_3"),
    SentMessage(2**128 - 1, (), bytes(range(256))),
)

REAL = os.environ.get("WIREPROOF_IGGY", "")
MET = [("published", False), ("published", True), ("tagged", False)]
"""Not tagged over HTTP: the reference issues no tokens there."""
if REAL:
    MET = [("of the server", False), ("of the server", True)]


@contextmanager
def served(generation: str) -> Iterator[str]:
    """Yield the URL of a server."""
    if REAL:
        yield REAL
        return
    with iggy_server("--generation", generation) as found:
        yield f"iggy://{found.tcp}?http={found.http}"


@contextmanager
def access(generation: str) -> Iterator[Server]:
    """Yield access to a server, whose topics the kit makes."""
    with served(generation) as url:
        options = SessionOptions(seed=1, run_token="client")
        session = open_session(read_target(url), options)
        try:
            given = session.arguments(["server"], Transcript())
            yield cast(Server, given["server"])
            session.release(given)
        finally:
            session.close()


def settings(server: Server, topic: Topic, *, over_http: bool) -> Settings:
    address = server.access.http if over_http else server.access.address
    assert address is not None
    return Settings(
        address=(address[0], address[1]),
        over_http=over_http,
        stream=topic.stream.id,
        topic=topic.id,
        generation=server.generation,
    )


async def send_and_poll(client: Shell) -> tuple[Message, ...]:
    """Send, poll from the start and further on, and store an offset between."""
    await client.run(operations.send(Send(SENT, partition_id(1))))
    found = await client.run(operations.poll(Poll(count=10)))
    await client.run(operations.store_offset(found[0].offset))
    assert await client.run(operations.poll(Poll(NEXT, count=10))) == found[1:]
    with pytest.raises(Refused):
        await client.run(operations.poll(Poll(count=0)))
    again = await client.run(operations.poll(Poll(value=1, count=1)))
    assert again == found[1:], "a refusal ends no connection"
    client.close()
    return found


@pytest.mark.parametrize(("generation", "over_http"), MET)
def test_what_was_sent_is_polled(generation: str, *, over_http: bool) -> None:
    async def run(client: Settings) -> tuple[Message, ...]:
        return await send_and_poll(Shell(client))

    with access(generation) as server:
        client = settings(server, server.new_topic(), over_http=over_http)
        found = asyncio.run(run(client))

    assert [(each.offset, each.state, each.id) for each in found] == [
        (0, AVAILABLE, 7),
        (1, AVAILABLE, 2**128 - 1),
    ]
    assert [(set(each.headers), each.payload) for each in found] == [
        (set(each.headers), each.payload) for each in SENT
    ]
    assert [each.checksum for each in found] == [zlib.crc32(each.payload) for each in SENT]
