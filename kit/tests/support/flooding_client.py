"""An NSQ client that floods the kit once it has shown that it is one.

    flooding_client.py HOW

HOW is `node` (it floods a node with NOP and its standard error with text) or `driver` (it floods
the driver protocol with log lines).
"""

import json
import os
import socket
import struct
import sys
import threading

PIECE = 1 << 16
OPERATIONS = ("produce", "consume")


def connect() -> socket.socket:
    """Return a connection to a node on which the client has done what its role is."""
    host, _, port = os.environ["WIREPROOF_NSQD"].rpartition(":")
    node = socket.create_connection((host, int(port)))
    topic = os.environ["WIREPROOF_TOPIC"].encode()
    channel = os.environ["WIREPROOF_CHANNEL"].encode()
    identity = b"{}"
    node.sendall(b"  V2IDENTIFY\n" + struct.pack(">i", len(identity)) + identity)
    node.recv(PIECE)
    if os.environ["WIREPROOF_ROLE"] == "producer":
        node.sendall(b"PUB %s 0\n\0\0\0\4body" % topic)
    else:
        node.sendall(b"SUB %s %s 0\n" % (topic, channel))
    return node


def write_for_ever() -> None:
    while True:
        sys.stderr.write("x" * 999 + "\n")


def flood_node() -> None:
    threading.Thread(target=write_for_ever, daemon=True).start()
    node = connect()
    while True:
        node.sendall(b"NOP\n" * (PIECE // 4))


def flood_driver() -> None:
    def say(**fields: object) -> None:
        print(json.dumps(fields), flush=True)

    say(hello="wireproof-driver", versions=[1], name="flood", operations=OPERATIONS)
    say(id=json.loads(sys.stdin.readline())["id"], ok={})
    node = connect()
    asked = json.loads(sys.stdin.readline())["id"]
    line = json.dumps({"event": "log", "of": asked, "message": "x" * 500})
    while node:
        print(line)


{"node": flood_node, "driver": flood_driver}[sys.argv[1]]()
