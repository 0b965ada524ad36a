"""The output of a program: split into lines, and kept in part."""

from collections import deque
from collections.abc import Iterator

from wireproof_kit.decoding.printable import clip, printable

HEAD_BYTES = 16 << 10
TAIL_BYTES = 48 << 10
MOST_TOLD = 240
"""The most characters of a program's last lines that a message quotes."""


class LineSplitter:
    """Splits bytes into lines without line feeds; a line longer than ``limit`` comes in parts."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rest = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the lines completed by these bytes, and parts of a line that is too long."""
        *whole, rest = (bytes(self._rest) + data).split(b"\n")
        yield from whole
        self._rest = bytearray(rest)
        if len(rest) > self._limit:
            self._rest.clear()
            yield rest

    def finish(self) -> Iterator[bytes]:
        """Yield the last line if it has no line feed."""
        if self._rest:
            yield bytes(self._rest)
            self._rest.clear()


class Kept:
    """The start and the end of a program's output, which may be of any length."""

    def __init__(self, *, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> None:
        self._head_limit, self._tail_limit = head, tail
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.size = 0
        """How many bytes the program has written."""

    def add(self, data: bytes) -> None:
        """Append bytes of the output."""
        self.size += len(data)
        room = self._head_limit - len(self._head)
        self._head += data[:room]
        if rest := data[room:]:
            self._tail.append(rest[-self._tail_limit :])
            self._tail_size += len(self._tail[-1])
        while self._tail and self._tail_size - len(self._tail[0]) >= self._tail_limit:
            self._tail_size -= len(self._tail.popleft())

    def data(self) -> bytes:
        """Return the kept bytes, with a line in between that gives the number of omitted bytes."""
        tail = b"".join(self._tail)[-self._tail_limit :]
        lost = self.size - len(self._head) - len(tail)
        gap = f"\n… {lost} bytes left out …\n".encode() if lost else b""
        return bytes(self._head) + gap + tail

    def end(self, lines: int = 3) -> str:
        """Return the last lines that are not blank, joined into one line."""
        text = self.data()[-4096:].decode("utf-8", "replace")
        last = [line.strip() for line in text.splitlines() if line.strip()][-lines:]
        return clip(printable(" / ".join(last)), MOST_TOLD)
