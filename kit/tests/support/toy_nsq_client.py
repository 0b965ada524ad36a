"""A small NSQ client as a driver, right in all that matters, and wrong in one thing if told so.

    toy_nsq_client.py [WRONG]

Blocking sockets, one thread a connection: what a person would write in an afternoon. It knows
lookups, partitions, SUB and PUB; it has no trace and no headers.
"""

import base64
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
import urllib.request
from typing import Any

WRONG = sys.argv[1] if len(sys.argv) > 1 else ""
OUTPUT = threading.Lock()


def say(**fields: object) -> None:
    with OUTPUT:
        print(json.dumps(fields), flush=True)


def starve() -> None:
    """Work for minutes behind another process that has the same processor nearly for itself."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    subprocess.Popen([sys.executable, "-c", "while True: pass"])
    os.nice(19)
    while time.process_time() < 60:
        pass


def end(error: str) -> None:
    """End the program because of an error, in an orderly way or not, if it was told to."""
    if WRONG == "exits":
        print(f"toy: the node refuses: {error}", file=sys.stderr)
        os._exit(3)
    if WRONG == "dies":
        try:
            raise ValueError(error)
        except ValueError:
            traceback.print_exc()
            os._exit(1)


class Node:
    """A connection to a node that has been identified."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self.socket = socket.create_connection(address, 5)
        self.socket.settimeout(None)
        self.buffer = b""
        body = json.dumps({"client_id": "toy", "feature_negotiation": True}).encode()
        self.send(b"  V2")
        self.send(b"IDENTIFY\n" + struct.pack(">i", len(body)) + body)
        kind, answer = self.read()
        if kind == 1 and WRONG != "trusting":
            self.socket.close()
            raise ConnectionError(answer.decode())

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def read(self) -> tuple[int, bytes]:
        size = struct.unpack(">i", self.exactly(4))[0]
        if size < 4:
            raise ConnectionError("no frame has this size")
        data = self.exactly(size)
        kind = struct.unpack(">i", data[:4])[0]
        if data[4:] == b"_heartbeat_":
            if WRONG == "starved":
                starve()
            if WRONG != "deaf":
                self.send(b"NOP\n")
            return self.read()
        return kind, data[4:]

    def exactly(self, count: int) -> bytes:
        while len(self.buffer) < count:
            data = self.socket.recv(65536)
            if not data:
                raise ConnectionError("closed")
            self.buffer += data
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken


class Toy:
    def __init__(self) -> None:
        self.lookups: list[str] = []
        self.interval = 1.0
        self.nodes: dict[tuple[str, int], Node] = {}

    def open(self, settings: dict[str, object]) -> None:
        self.lookups = [str(each) for each in settings["lookupd"]]  # type: ignore[attr-defined]
        self.interval = float(str(settings["lookup_interval_ms"])) / 1000
        if WRONG == "own-interval":
            self.interval = 60.0

    def get(self, server: str, path: str) -> dict[str, object]:
        with urllib.request.urlopen(f"http://{server}{path}", timeout=2) as response:
            found = json.load(response)
        data = found.get("data", found)
        return data if isinstance(data, dict) else {}

    def find(self, topic: str, access: str) -> dict[int, tuple[str, int]]:
        """Ask every lookup server, and merge their answers."""
        servers = list(self.lookups)
        try:
            nodes = self.get(self.lookups[0], "/listlookup")["lookupdnodes"]
            servers += [f"{node['NodeIP']}:{node['HttpPort']}" for node in nodes]  # type: ignore
        except Exception:
            pass
        found: dict[int, tuple[str, int]] = {}
        meta = "" if WRONG == "no-metainfo" else "&metainfo=true"
        for server in dict.fromkeys(servers):
            try:
                answer = self.get(server, f"/lookup?topic={topic}&access={access}{meta}")
            except Exception:
                continue
            for number, node in (answer.get("partitions") or {}).items():  # type: ignore
                found[int(number)] = (node["broadcast_address"], node["tcp_port"])
        return found

    def produce(self, topic: str, body: bytes) -> None:
        for _ in range(1 if WRONG == "gives-up" else 4):
            leaders = self.find(topic, "w")
            if leaders:
                number = min(leaders)
                try:
                    node = self.nodes.get(leaders[number]) or Node(leaders[number])
                    self.nodes[leaders[number]] = node
                    line = f"PUB {topic} {number}\n".encode()
                    node.send(line + struct.pack(">i", len(body)) + body)
                    kind, answer = node.read()
                except (OSError, ConnectionError):
                    self.nodes.pop(leaders[number], None)
                    continue
                code = answer.decode("utf-8", "replace")
                if kind == 0:
                    return
                if WRONG != "retries" and code.startswith(("E_BAD", "E_EXT")):
                    raise ValueError(code)
            time.sleep(0.05)  # a client pauses between its four attempts; no test waits for it
        raise ValueError("no node took the message")

    def consume(self, of: int, topic: str, channel: str) -> None:
        running: dict[int, tuple[tuple[str, int], threading.Thread]] = {}
        leaders: dict[int, tuple[str, int]] = {}
        due = 0.0
        while True:
            if WRONG == "hot" or time.monotonic() >= due:
                leaders = self.find(topic, "r")
                due = time.monotonic() + self.interval
            for number, address in leaders.items():
                at, thread = running.get(number, (None, None))
                if at != address or thread is None or not thread.is_alive():
                    thread = threading.Thread(
                        target=self.read, args=(of, topic, channel, number, address), daemon=True
                    )
                    running[number] = (address, thread)
                    thread.start()
            if WRONG != "hot":
                time.sleep(min(self.interval, 1.0))  # it runs until it is killed

    def read(self, of: int, topic: str, channel: str, number: int, at: tuple[str, int]) -> None:
        try:
            node = Node(at)
            node.send(f"SUB {topic} {channel} {number}\n".encode())
            if WRONG == "early-ready":
                node.send(b"RDY 1\n")
            kind, answer = node.read()
            if kind == 1:
                end(answer.decode(errors="replace"))
                if WRONG != "keeps-quiet":
                    say(event="error", of=of, message=answer.decode())
                node.socket.close()
                return
            node.send(b"RDY 1\n")
            while True:
                kind, data = node.read()
                if kind == 2:
                    self.handle(node, of, data)
        except (OSError, ConnectionError, struct.error):
            return

    def handle(self, node: Node, of: int, data: bytes) -> None:
        if WRONG == "fragile" and len(data) < 26:
            os._exit(7)
        message_id, body = data[10:26], data[26:]
        internal, trace = struct.unpack(">QQ", message_id)
        if WRONG != "tells-nothing":
            say(
                event="message",
                of=of,
                id=message_id.hex(),
                body=base64.b64encode(body).decode(),
                attempts=struct.unpack(">H", data[8:10])[0],
                internal_id=internal if WRONG == "tells-numbers" else str(internal),
                trace_id=str(trace),
            )
        if WRONG == "cuts-ids":
            message_id = message_id.replace(b"\n", b" ")
        if WRONG != "keeps-messages":
            node.send(b"FIN " + message_id + b"\n")


KNOWN = {"id", "op", "version", "settings", "topic", "channel", "body", "handler", "max_in_flight"}


def lacking(asked: dict[str, object]) -> str:
    """Return the name of what is asked for and not known; empty if all is."""
    unknown = set() if WRONG == "takes-all" else set(asked) - KNOWN
    if asked.get("handler", "finish") != "finish":
        unknown.add("handler")
    if asked["op"] not in ("open", "produce", "consume", "close") and WRONG != "knows-all":
        unknown.add(str(asked["op"]))
    return min(unknown, default="")


def do(toy: Toy, asked: dict[str, Any]) -> None:
    if asked["op"] == "open":
        toy.open(asked["settings"])
    elif asked["op"] == "produce" and WRONG != "publishes-nothing":
        toy.produce(asked["topic"], base64.b64decode(asked["body"]))
    elif asked["op"] == "consume":
        given = (asked["id"], asked["topic"], asked["channel"])
        threading.Thread(target=toy.consume, args=given, daemon=True).start()


def main() -> None:
    toy = Toy()
    if WRONG == "greets-late":
        say(event="log", message="started")
    say(hello="wireproof-driver", versions=[1], name="toy", operations=["produce", "consume"])
    for line in sys.stdin:
        asked = json.loads(line)
        if lacking(asked):
            say(id=asked["id"], unsupported=lacking(asked))
            continue
        try:
            do(toy, asked)
        except Exception as error:
            say(id=asked["id"], error={"message": f"{type(error).__name__}: {error}"})
        else:
            for _ in range(2 if WRONG == "closes-twice" and asked["op"] == "close" else 1):
                say(id=asked["id"], ok={"partition": "0"} if WRONG == "tells-words" else {})
    if WRONG == "ends-badly":
        sys.exit(3)


main()
