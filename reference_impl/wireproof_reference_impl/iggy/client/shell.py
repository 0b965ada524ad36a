"""The shell: does the calls of an operation over a connection, with asyncio.

It moves bytes, opens a connection when there is none, and knows no protocol.
"""

import asyncio
from typing import TypeVar

from wireproof_reference_impl.iggy.client.core.apache.tcp import ApacheTransport
from wireproof_reference_impl.iggy.client.core.calls import (
    Answer,
    Call,
    CallFailed,
    Evicted,
    Lost,
)
from wireproof_reference_impl.iggy.client.core.http import HttpTransport
from wireproof_reference_impl.iggy.client.core.operations import Operation
from wireproof_reference_impl.iggy.client.core.settings import Settings
from wireproof_reference_impl.iggy.client.core.tcp import TcpTransport
from wireproof_reference_impl.iggy.client.core.transport import Transport

T = TypeVar("T")
_CHUNK = 1 << 16


class _Connection:
    """An open connection and its protocol."""

    def __init__(
        self,
        transport: Transport,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.transport = transport
        self._reader = reader
        self._writer = writer

    async def call(self, call: Call) -> Answer:
        """Return the answer to a call."""
        self._writer.write(self.transport.ask(call))
        while True:
            answer = self.transport.receive(await self._reader.read(_CHUNK))
            if answer is not None:
                return answer

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()


class Shell:
    """The example Iggy client in an event loop: does its I/O, one operation after the other."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._connection: _Connection | None = None
        self._lock = asyncio.Lock()

    async def run(self, operation: Operation[T]) -> T:
        """Do an operation, such as a poll, and return its result.

        Raises:
            CallFailed: as the operation.
        """
        async with self._lock:
            try:
                call = next(operation)
                while True:
                    try:
                        answer = await self._call(call)
                    except CallFailed as error:
                        call = operation.throw(error)
                    else:
                        call = operation.send(answer)
            except StopIteration as done:
                result: T = done.value
                return result

    def close(self) -> None:
        """Close the connection to the server, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _call(self, call: Call) -> Answer:
        keep = False
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                connection = self._connection or await self._connect()
                answer = await connection.call(call)
            keep = True
            return answer
        except (OSError, TimeoutError) as error:
            raise Lost(str(error) or "the server does not answer in time") from None
        except CallFailed as error:
            keep = not isinstance(error, Lost | Evicted)
            raise
        finally:
            if not keep or (self._connection and not self._connection.transport.lasts()):
                self.close()

    async def _connect(self) -> _Connection:
        reader, writer = await asyncio.open_connection(*self._settings.address)
        transport = make_transport(self._settings)
        self._connection = connection = _Connection(transport, reader, writer)
        for call in connection.transport.begin():
            await connection.call(call)
            connection.transport.lasts()
        return connection


def make_transport(settings: Settings) -> Transport:
    """Return what speaks the transport and the generation of the settings."""
    if settings.over_http:
        return HttpTransport(settings)
    return ApacheTransport(settings) if settings.generation == "apache" else TcpTransport(settings)
