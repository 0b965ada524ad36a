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
        self._loop = asyncio.new_event_loop()
        self._listening = threading.Event()
        self.port = 0
        self._writers: list[asyncio.StreamWriter] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._listening.wait()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        assert not self._thread.is_alive()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._listening.set()
        self._loop.run_forever()
        server.close()
        for writer in self._writers:
            writer.transport.abort()
        self._loop.run_until_complete(self._end_tasks())
        self._loop.close()

    async def _end_tasks(self) -> None:
        """End what is still passed on; aborted connections are lost in the next round."""
        own = asyncio.current_task()
        tasks = [task for task in asyncio.all_tasks() if task is not own]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            other_reader, other_writer = await asyncio.open_connection(*self._to)
        except OSError:
            writer.transport.abort()
            return
        self._writers += [writer, other_writer]
        await asyncio.gather(
            self._pass_on(reader, other_writer, writer),
            self._pass_on(other_reader, writer, other_writer),
        )

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
