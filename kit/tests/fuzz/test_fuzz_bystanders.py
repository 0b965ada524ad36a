"""Waiting for the kit's own clients."""

import socket
import time
from contextlib import closing

from wireproof_kit.fuzz.oracle.bystanders import wait
from wireproof_kit.fuzz.send.connection import REFUSED, CaseConnection
from wireproof_kit.nsq.fuzz.answers import ATTENTIVE, FrameReader

LONG_S = 600.0


def test_nothing_is_waited_for_where_all_connections_have_ended() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        address = server.getsockname()
    client = CaseConnection(address, FrameReader(), ATTENTIVE)
    assert client.ended == REFUSED
    started = time.monotonic()
    wait([client], started + LONG_S)
    assert time.monotonic() < started + LONG_S / 2
