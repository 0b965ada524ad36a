"""Sends one request to a broker on a new connection."""

import contextlib
import socket
import time

from wireproof_kit.fuzz.driver import Answer
from wireproof_kit.nsq.fuzz.answers import BEAT, MESSAGE, FrameReader
from wireproof_kit.wire.http import Address

CHUNK = 65536


def send_query(address: Address, data: bytes, seconds: float) -> Answer | None:
    """Send bytes and return the first answer; None when none arrives in the given seconds."""
    deadline = time.monotonic() + seconds
    reader = FrameReader()
    with contextlib.suppress(OSError), socket.create_connection(address, seconds) as sock:
        sock.sendall(data)
        while (left := deadline - time.monotonic()) > 0:
            sock.settimeout(left)
            piece = sock.recv(CHUNK)
            for answer in reader.feed(piece):
                if answer.kind not in (BEAT, MESSAGE):
                    return answer
            if not piece:
                return None
    return None
