"""Measures a round trip on this machine alone, to tell if it is fast enough to judge clients."""

import socket
import threading
import time


def loopback_round_trip(within: float) -> float:
    """Measure a round trip over loopback between two threads; return its seconds."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(within)
        answering = threading.Thread(target=_answer, args=(server,), daemon=True)
        started = time.monotonic()
        answering.start()
        with socket.create_connection(server.getsockname(), within) as connection:
            connection.sendall(b".")
            connection.recv(1)
        answering.join(within)
    return time.monotonic() - started


def _answer(server: socket.socket) -> None:
    accepted, _ = server.accept()
    with accepted:
        accepted.sendall(accepted.recv(1))
