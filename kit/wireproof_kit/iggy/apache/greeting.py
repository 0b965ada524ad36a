"""Finds out whether a server speaks generation apache, without a wait where it does not."""

import select
import socket
import time
from typing import Final

from msgspec.structs import replace

from wireproof_kit.iggy.apache import APACHE, requests
from wireproof_kit.iggy.greeting import GREETING_SECONDS
from wireproof_kit.iggy.wire.requests import ping
from wireproof_kit.runner.patience import machine_load
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.connection import connect_socket
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.header import COMMAND_AT, REPLY_COMMAND, RequestHeader

HEAD_SECONDS: Final = 0.3
"""How long a server of the earlier generations may take for a ping before it gets the rest."""
_CLIENT: Final = 1
_CHUNK: Final = 4096


def is_apache(target: Target) -> bool:
    """Return True if a target is of generation apache: the user says so, or it shows it.

    Raises:
        TargetUnreachable: the target accepts no connection.
    """
    if target.generation is None:
        return speaks_apache((target.host, target.port))
    return target.generation == APACHE


def speaks_apache(address: tuple[str, int]) -> bool:
    """Return True if a server answers a ping of 256 bytes, which it gets in two parts.

    The first part is the ping of the earlier generations, in the place of a checksum that no
    server compares. A server of those generations answers it, and gets nothing more. A server of
    generation apache waits for the rest.

    Raises:
        TargetUnreachable: the target accepts no connection.
    """
    first = ping().data
    header = RequestHeader(
        client=_CLIENT, request=1, operation=operations.NON_REPLICATED, code=operations.PING
    )
    checksum = int.from_bytes(first, "little")
    rest = requests.frame(replace(header, checksum=checksum)).data[len(first) :]
    with connect_socket(address, "iggy") as sock:
        if _exchange(sock, first, HEAD_SECONDS * machine_load(), least=1) is not None:
            return False
        answer = _exchange(sock, rest, GREETING_SECONDS, least=COMMAND_AT + 1) or b""
    return len(answer) > COMMAND_AT and answer[COMMAND_AT] == REPLY_COMMAND


def _exchange(sock: socket.socket, data: bytes, seconds: float, *, least: int) -> bytes | None:
    """Send some bytes; return what arrives then, empty at the end, or None if nothing does."""
    end = time.monotonic() + seconds
    received = b""
    try:
        sock.sendall(data)
        while len(received) < least:
            if not select.select([sock], [], [], max(end - time.monotonic(), 0.0))[0]:
                return received or None
            if not (piece := sock.recv(_CHUNK)):
                return received
            received += piece
    except OSError:
        return received
    return received
