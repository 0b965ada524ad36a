"""What the reference is measured against: two asyncio servers that do next to nothing.

Both run on the loop that the reference runs on, so that no ratio comes of the loop.

    python bare_server.py split      takes publish frames apart, keeps nothing, answers OK to each
    python bare_server.py sink 219   counts bytes, answers OK for every 219 of them

Prints the port it listens on and ends at SIGTERM. The second one is even less than the first: what
it reaches is what the publishers can offer at most.
"""

import asyncio
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import cast

from wireproof_reference_impl.command import libuv_loop

MAGIC = b"  V2"
OK = b"\0\0\0\6\0\0\0\0OK"
SIZE_BYTES = 4


class Answering(asyncio.Protocol, ABC):
    """A connection that answers each chunk of frames with one write; bytes of cut frames wait."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._rest = b""
        self._greeted = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Answer every complete frame."""
        data = self._rest + data if self._rest else data
        if not self._greeted:
            if len(data) < len(MAGIC):
                self._rest = data
                return
            self._greeted = True
            data = data[len(MAGIC) :]
        count, place = self.split(data)
        self._rest = data[place:]
        if count and self._transport is not None:
            self._transport.write(OK * count)

    @abstractmethod
    def split(self, data: bytes) -> tuple[int, int]:
        """Return the number of complete frames, and the position after the last one."""


class Splitting(Answering):
    """Looks for each line's end and reads each size."""

    def split(self, data: bytes) -> tuple[int, int]:
        """Return the number of complete publish frames, and the position after the last one."""
        count = place = 0
        while True:
            line_end = data.find(b"\n", place)
            body = line_end + 1 + SIZE_BYTES
            if line_end < 0 or body > len(data):
                return count, place
            end = body + int.from_bytes(data[line_end + 1 : body])
            if end > len(data):
                return count, place
            count += 1
            place = end


class Sinking(Answering):
    """Knows how long all frames are."""

    frame_bytes = 1

    def split(self, data: bytes) -> tuple[int, int]:
        """Return the number of complete frames of equal size, and the position after the last."""
        count = len(data) // self.frame_bytes
        return count, count * self.frame_bytes


async def _serve(connection: Callable[[], Answering]) -> None:
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    server = await loop.create_server(connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await stopped.wait()


def main(kind: str, *numbers: str) -> None:
    """Serve one kind of connections until told to end."""
    connection: type[Answering] = Splitting
    if kind == "sink":
        Sinking.frame_bytes = int(numbers[0])
        connection = Sinking
    with asyncio.Runner(loop_factory=libuv_loop) as runner:
        runner.run(_serve(connection))


if __name__ == "__main__":
    main(*sys.argv[1:])
