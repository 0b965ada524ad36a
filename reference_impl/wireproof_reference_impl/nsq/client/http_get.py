"""One GET over a connection of its own, with h11."""

import asyncio
import contextlib

import h11

from wireproof_reference_impl.nsq.client.core.effects import Fetch, Fetched

_CHUNK = 1 << 16
_MOST_BYTES = 16 << 20
"""A lookup answer of a thousand partitions has some 300 KB."""


async def get(fetch: Fetch) -> Fetched | None:
    """Send an HTTP GET and return the answer; None if none comes in time, or it is not HTTP."""
    try:
        async with asyncio.timeout(fetch.within_s):
            return await _exchange(fetch)
    except (OSError, TimeoutError, h11.ProtocolError, ValueError):
        return None


async def _exchange(fetch: Fetch) -> Fetched | None:
    host, port = fetch.address
    reader, writer = await asyncio.open_connection(host, port)
    try:
        parser = h11.Connection(h11.CLIENT)
        headers = [("Host", f"{host}:{port}"), ("Accept", fetch.accept), ("Connection", "close")]
        request = h11.Request(method="GET", target=fetch.target, headers=headers)
        writer.write(parser.send(request) + parser.send(h11.EndOfMessage()))
        return await _answer(parser, reader)
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def _answer(parser: h11.Connection, reader: asyncio.StreamReader) -> Fetched | None:
    status, body = 0, bytearray()
    while True:
        event = parser.next_event()
        if event is h11.NEED_DATA:
            parser.receive_data(await reader.read(_CHUNK))
        elif isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > _MOST_BYTES:
                return None
        elif isinstance(event, h11.EndOfMessage):
            return Fetched(status, bytes(body))
        elif isinstance(event, h11.ConnectionClosed):
            return None
