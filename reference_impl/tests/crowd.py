"""Very many clients of one broker, in one thread: they subscribe, take what comes, and go."""

import resource
import selectors
import socket
import time
from collections.abc import Callable
from pathlib import Path

from nsq_bench import identified

from wireproof_spec.nsq.frame import FRAME_TYPE_MESSAGE, FrameReader, ServerFrame
from wireproof_spec.nsq.names import HEARTBEAT, MAGIC, OK

DEADLINE = 60.0
MOST_FRAME = 1 << 20
OTHER_FILES = 200
"""Files that the processes need besides the connections."""


class Member:
    """One connection of the crowd."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.frames = FrameReader(limit=MOST_FRAME)
        self.answers = 0
        self.heartbeats = 0
        self.bodies: list[bytes] = []


class Crowd:
    """Connections to one broker; each of `channels` is shared by every so manyth of them."""

    def __init__(self, address: tuple[str, int], topic: str) -> None:
        self._address = address
        self._topic = topic
        self._selector = selectors.DefaultSelector()
        self.members: list[Member] = []

    def join(self, count: int, *, channels: int, heartbeat_ms: int = 60000) -> None:
        """Open so many connections; every second one subscribes, the others stay idle."""
        said = identified(f'{{"heartbeat_interval":{heartbeat_ms}}}')
        new = [self._connect() for _ in range(count)]
        for number, member in enumerate(new):
            subscribes = number % 2 == 0
            command = f"SUB {self._topic} ch-{number // 2 % channels} 0\nRDY 1\n".encode()
            member.sock.sendall(MAGIC + said + (command if subscribes else b"NOP\n"))
        due = count + (count + 1) // 2
        self.take_until(lambda: sum(each.answers for each in new) == due)

    def take_until(self, done: Callable[[], bool]) -> None:
        """Take what comes and finish every message, until something is so."""
        until = time.monotonic() + DEADLINE
        while not done():
            assert time.monotonic() < until, "nothing more came"
            for key, _ in self._selector.select(1):
                self._take(key.data)

    def leave(self) -> None:
        """Close every connection."""
        for member in self.members:
            self._selector.unregister(member.sock)
            member.sock.close()
        self.members.clear()

    def close(self) -> None:
        """Close every connection and the selector."""
        self.leave()
        self._selector.close()

    def _connect(self) -> Member:
        member = Member(socket.create_connection(self._address, timeout=DEADLINE))
        self._selector.register(member.sock, selectors.EVENT_READ, member)
        self.members.append(member)
        return member

    def _take(self, member: Member) -> None:
        data = member.sock.recv(65536)
        assert data, "the broker ended a connection"
        member.frames.feed(data)
        while isinstance(frame := member.frames.next_frame(), ServerFrame):
            if frame.frame_type == FRAME_TYPE_MESSAGE:
                member.bodies.append(frame.data[26:])
                member.sock.sendall(b"FIN " + frame.data[10:26] + b"\n")
            elif frame.data == HEARTBEAT:
                member.heartbeats += 1
                member.sock.sendall(b"NOP\n")
            else:
                assert frame.data == OK, frame
                member.answers += 1


def allow_files(count: int) -> int:
    """Raise the soft limit of open files and return how many connections fit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + OTHER_FILES
    if soft < wanted:
        soft = min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(count, soft - OTHER_FILES)


def resident_bytes(pid: int) -> int:
    """Return how much memory a process holds."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def cpu_seconds(pid: int) -> float:
    """Return how long a process has run."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100
