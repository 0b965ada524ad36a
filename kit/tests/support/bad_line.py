"""A way to a target on which every byte takes a while and some connections are reset."""

import asyncio
import contextlib
import random
import socket
import threading

LINGER_NOT = b"\1\0\0\0\0\0\0\0"


class BadLine:
    """A loopback port that passes on to another one, late, and resets a share of all pieces."""

    def __init__(self, to: tuple[str, int], *, delay_s: float, resets: float, seed: int) -> None:
        self._to = to
        self._delay_s = delay_s
        self._resets = resets
        self._random = random.Random(seed)
        self._listening = threading.Event()
        self.port = 0
        self._thread = threading.Thread(target=lambda: asyncio.run(self._listen()), daemon=True)
        self._thread.start()
        assert self._listening.wait(10)

    def close(self) -> None:
        """Close the port and every connection through it."""
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(10)

    async def _listen(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._listening.set()
        await self._ended.wait()
        server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            other_reader, other_writer = await asyncio.open_connection(*self._to)
        except OSError:
            writer.transport.abort()
            return
        try:
            await asyncio.gather(
                self._pass_on(reader, other_writer, writer),
                self._pass_on(other_reader, writer, other_writer),
            )
            await asyncio.sleep(self._delay_s)  # what is still under way
        except asyncio.CancelledError:
            pass
        finally:
            writer.transport.abort()
            other_writer.transport.abort()

    async def _pass_on(
        self, reader: asyncio.StreamReader, sink: asyncio.StreamWriter, back: asyncio.StreamWriter
    ) -> None:
        """Pass on each piece half the round trip later, or reset both sides instead."""
        while not sink.is_closing():
            try:
                piece = await reader.read(65536)
            except OSError:
                piece = b""
            if piece and self._random.random() < self._resets:
                for writer in (sink, back):
                    sock = writer.get_extra_info("socket")
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
                    writer.transport.abort()
                return
            self._loop.call_later(self._delay_s / 2, self._deliver, sink, piece)
            if not piece:
                return

    @staticmethod
    def _deliver(sink: asyncio.StreamWriter, piece: bytes) -> None:
        if sink.is_closing():
            return
        with contextlib.suppress(OSError):
            if piece:
                sink.write(piece)
            else:
                sink.write_eof()
