"""Plays nsqlookupd and nsqd for one client: this part of a script is about NSQ."""

import asyncio
import base64
import contextlib
import json
import sys
import time
from typing import Any

from wireproof_kit.fuzz.clients.standalone import CASE, Servers, try_client

SOON_S, DOWN_S, SIGN_S = 0.4, 1.2, 2.0
BODIES = {
    b"IDENTIFY",
    b"AUTH",
    *(m + b"PUB" + e for m in (b"", b"M") for e in (b"", b"_TRACE", b"_EXT")),
}
IDENTITY = (
    b'{"max_rdy_count":2500,"version":"1","max_msg_timeout":900000,"msg_timeout":60000,'
    b'"tls_v1":false,"deflate":false,"snappy":false,"auth_required":false}'
)
BEAT = b"_heartbeat_"
LOOKUPS = ("lookup", "listlookup")


def frame(kind: int, data: bytes) -> bytes:
    """Return a server frame."""
    return (len(data) + 4).to_bytes(4, "big") + kind.to_bytes(4, "big") + data


class Server(Servers):
    """The peers of one client, and the cases that are left to send."""

    def __init__(self) -> None:
        super().__init__()
        self.is_sent = self.is_due = self.is_shown = False
        self.asked = self.accepted = 0
        self.given: dict[bytes, list[bytes]] = {}
        self.unreadable: dict[asyncio.StreamWriter, bytes] = {}
        self.ready: dict[asyncio.StreamWriter, bool] = {}
        self.subscribed: set[asyncio.StreamWriter] = set()
        self.held_back = asyncio.Event()
        self.control, self.number = b"", CASE["first_id"]
        self.ports: dict[str, int] = {}
        self.servers: dict[str, asyncio.Server] = {}

    async def listen(self, peer: str, port: int = 0) -> None:
        """Listen on a port for one of the servers."""
        serve = self.node if peer == "nsqd1" else self.lookup
        self.servers[peer] = await asyncio.start_server(serve, "127.0.0.1", port)
        self.ports[peer] = self.servers[peer].sockets[0].getsockname()[1]

    def is_place(self, *names: str) -> bool:
        """Return True if the next case is to be sent in one of these places (``lookup``)."""
        return bool(self.cases) and not self.is_sent and self.cases[0]["place"] in names

    def begin(self) -> None:
        """Begin the next case, if a server is down during the case."""
        if self.is_place("lookup-down", "node-down"):
            self.is_sent = True
            self.start(self.be_away("lookupd1" if self.is_place("lookup-down") else "nsqd1"))

    async def be_away(self, peer: str) -> None:
        """Accept no connections to a server for a while."""
        self.servers[peer].close()
        for writer in tuple(self.ready):
            writer.close()
        await asyncio.sleep(DOWN_S)
        await self.listen(peer, self.ports[peer])
        self.follow()

    async def send_case(self, writer: asyncio.StreamWriter) -> None:
        """Send the bytes of the next case, then make the control message due."""
        self.is_sent, self.asked, case = True, 0, self.cases[0]
        if case["place"] not in LOOKUPS:
            self.note_given(bytes.fromhex("".join(case["pieces"])), writer)
        for piece in case["pieces"]:
            data = bytes.fromhex(piece)
            for peer, port in CASE["ports"].items():
                data = data.replace(port.encode(), str(self.ports[peer]).encode())
            writer.write(data)
            await asyncio.sleep(0.002)
        if case["place"] == "push" and not case["closes"]:
            writer.write(frame(0, BEAT))
        else:
            await asyncio.sleep(0 if case["closes"] else SOON_S)
            self.ready.pop(writer, None)
            with contextlib.suppress(OSError, RuntimeError):
                writer.write_eof()
            self.follow()

    def note_given(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        """Store the messages, and the number of answers to a publish, in frames that are sent.

        After a size that no frame can have, the bytes may be read in any way.
        """
        rest, awaits_identity = data, self.cases[0]["place"] == "IDENTIFY"
        while len(rest) >= 4:
            end = 4 + int.from_bytes(rest[:4], "big")
            if end < 8:
                self.unreadable[writer] = data
            if end < 8 or len(rest) < end:
                break
            kind, frame_data, rest = int.from_bytes(rest[4:8], "big"), rest[8:end], rest[end:]
            if kind == 2:
                self.given.setdefault(frame_data[10:26], []).append(frame_data[26:])
            elif frame_data != BEAT and awaits_identity:
                awaits_identity = False
            else:
                self.accepted += kind != 1 and frame_data != BEAT

    def follow(self) -> None:
        """Make the control message due, and deliver it if a subscriber is ready."""
        if self.is_due:
            return
        self.is_due = True
        self.control = (self.number + len(CASE["cases"])).to_bytes(8, "big") + bytes(8)
        self.number += 1
        for writer, is_ready in tuple(self.ready.items()):
            if is_ready:
                self.deliver(writer)
                break

    def deliver(self, writer: asyncio.StreamWriter) -> None:
        """Deliver the control message, which shows that the client still works."""
        place = self.control[:8] + b"\0\0\0\x40" if CASE["has_place"] else b""
        data = time.time_ns().to_bytes(8, "big") + b"\0\1" + self.control
        data += (b"\0" if CASE["extend"] else b"") + place + b"control"
        self.given.setdefault(self.control, []).append(data)
        writer.write(frame(2, data))

    def note_progress(self) -> None:
        """Continue with the next case if the client has shown that it still works."""
        if self.is_shown and self.is_due and self.cases:
            is_lookup = self.cases[0]["place"] in LOOKUPS
            if is_lookup and not self.asked:
                return
            self.cases.pop(0)
            self.is_sent = self.is_due = self.is_shown = False
            if not self.cases:
                self.done.set()
            self.begin()

    async def node(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to the nsqd."""
        self.ready[writer] = False
        with contextlib.suppress(EOFError, OSError, ValueError, asyncio.CancelledError):
            await reader.readexactly(4)
            while True:
                await self.answer(await read_command(reader), writer)
        self.ready.pop(writer, None)
        self.subscribed.discard(writer)
        writer.close()
        if self.is_sent:
            self.follow()

    async def answer(
        self, command: tuple[bytes, bytes, bytes], writer: asyncio.StreamWriter
    ) -> None:
        """Answer a command of the client."""
        name, words, body = command
        kind = "SUBSCRIBE" if name.startswith(b"SUB") else name.decode("latin-1")
        kind = "PUBLISH" if b"PUB" in name else kind
        usual = {
            "IDENTIFY": IDENTITY if b"feature_negotiation" in body else b"OK",
            "PUBLISH": b"OK" + bytes(28 if CASE["trace"] or b"##trace_id" in body else 0),
            "SUBSCRIBE": b"OK",
            "CLS": b"CLOSE_WAIT",
        }
        if self.is_place(kind):
            await self.send_case(writer)
        elif kind in usual:
            self.is_shown = self.is_shown or (kind == "PUBLISH" and self.is_due)
            self.accepted += kind == "PUBLISH"
            self.subscribed |= {writer} if kind == "SUBSCRIBE" else set()
            writer.write(frame(0, usual[kind]))
        elif kind == "RDY":
            await self.take_ready(writer, is_ready=words.strip() != b"0")
        elif kind == "NOP":
            self.take_sign_of_life(writer)
        elif kind in ("FIN", "REQ", "TOUCH"):
            self.take_acknowledgement(kind, body, writer)
        self.note_progress()

    def take_sign_of_life(self, writer: asyncio.StreamWriter) -> None:
        """Handle the answer to a heartbeat: the client has read what precedes that."""
        if self.is_sent:
            self.follow()
        if writer in self.subscribed and not self.ready.get(writer, True):
            self.held_back.set()

    async def is_held_back(self) -> bool:
        """Return True if a subscriber that wants no messages answers a heartbeat."""
        self.held_back.clear()
        for writer in self.subscribed:
            if not self.ready.get(writer, True):
                writer.write(frame(0, BEAT))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.held_back.wait(), SIGN_S)
        return self.held_back.is_set()

    async def take_ready(self, writer: asyncio.StreamWriter, *, is_ready: bool) -> None:
        """Record whether a subscriber is ready for messages, and send the one that waits."""
        self.ready[writer] = is_ready
        if is_ready and self.is_place("push"):
            await self.send_case(writer)
        elif is_ready and self.is_due:
            self.deliver(writer)

    def take_acknowledgement(
        self, kind: str, message: bytes, writer: asyncio.StreamWriter
    ) -> None:
        """Check the message that the client finishes, requeues or touches."""
        if message not in self.given and writer not in self.unreadable:
            self.wrong = f"{kind} {message.hex()}, which was never sent"
            self.done.set()
        self.is_shown = self.is_shown or (kind == "FIN" and message == self.control)

    def judge(self, told: dict[str, Any]) -> None:
        """See whether the user is told what the servers did not send."""
        if told.get("event") == "message":
            with contextlib.suppress(KeyError, ValueError):  # such a line breaks another rule
                message = bytes.fromhex(str(told["id"]))
                self.judge_message(message, base64.b64decode(str(told["body"]), validate=True))
        elif CASE["repeats"] and ("ok" in told or "error" in told):
            self.judge_publish(is_told="ok" in told)
        if self.wrong:
            self.done.set()

    def judge_message(self, message: bytes, body: bytes) -> None:
        """See whether a message may have been sent, and record what is wrong."""
        is_sent = any(rest.endswith(body) for rest in self.given.get(message, ()))
        unread = self.unreadable.values()
        if not is_sent and not any(message in data and body in data for data in unread):
            self.wrong = f"the user was told message {message.hex()}, which was not sent"

    def judge_publish(self, *, is_told: bool) -> None:
        """See whether a publish may have been accepted, and record what is wrong."""
        if is_told and not self.unreadable:
            if not self.accepted:
                self.wrong = "the user was told of a publish that was not accepted"
            self.accepted = max(0, self.accepted - 1)
        # Only a publish before the end of its connection can have been answered there.
        live = {w: data for w, data in self.unreadable.items() if not w.is_closing()}
        self.unreadable = live

    async def lookup(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one request to the nsqlookupd."""
        with contextlib.suppress(EOFError, OSError, asyncio.CancelledError):
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ")[1].partition(b"?")[0].decode("latin-1").strip("/")
            self.asked += 1
            if self.is_place(path):
                await self.send_case(writer)
            else:
                writer.write(self.document(path))
            self.note_progress()
            await writer.drain()
        writer.close()

    def document(self, path: str) -> bytes:
        """Return the usual response to a lookup, readable with and without an envelope."""
        node = {"broadcast_address": "127.0.0.1", "tcp_port": self.ports["nsqd1"]}
        node |= {"hostname": "h", "remote_address": "127.0.0.1:1", "http_port": 1, "version": "1"}
        node |= {"id": "127.0.0.1:1", "distributed_id": "127.0.0.1:3:1:1"}
        meta = {"partition_num": 1, "replica": 1, "extend_support": CASE["extend"]}
        told: dict[str, Any] = {"channels": ["c"], "producers": [node], "partitions": {"0": node}}
        told["meta"] = {**meta, "ordered": CASE["ordered"]}
        if path == "listlookup":
            peer = {"ID": "1", "NodeIP": "127.0.0.1", "HttpPort": str(self.ports["lookupd1"])}
            told = {"lookupdnodes": [{**peer, "TcpPort": "2", "RpcPort": "1", "Epoch": 0}]}
        body = json.dumps({"status_code": 200, "status_txt": "OK", "data": told} | told).encode()
        return (
            b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body)
            + body
        )


async def read_command(reader: asyncio.StreamReader) -> tuple[bytes, bytes, bytes]:
    """Receive a command; return its name, the rest of its line, and its body or message id."""
    name = b""
    while not name.endswith((b" ", b"\n")):
        name += await reader.readexactly(1)
    bare, words, body = name.strip(), b"", b""
    if bare in (b"FIN", b"REQ", b"TOUCH"):
        body = await reader.readexactly(16)
        words = await reader.readuntil(b"\n")
    elif name.endswith(b" "):
        words = await reader.readuntil(b"\n")
    if bare in BODIES:
        body = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
    return bare, words, body


async def drive(server: Server, process: asyncio.subprocess.Process, settings: Any) -> None:
    """Send requests to the client's driver, if it is one; any other program may write anything."""
    assert process.stdin is not None
    assert process.stdout is not None
    number, requests = 0, [{"op": "open", "version": 1, "settings": settings}, CASE["request"]]
    with contextlib.suppress(OSError, ValueError):
        while line := await process.stdout.readline():
            if not (b"hello" in line and not number) and b'"id"' not in line:
                continue
            if not line.lstrip().startswith(b"{"):
                continue
            if number > 1:
                server.judge(json.loads(line))
                if not CASE["repeats"]:
                    continue
            request = requests[min(number, 1)]
            number += 1
            await asyncio.sleep(0.02 if number > 1 else 0)
            process.stdin.write(json.dumps({"id": number, **request}).encode() + b"\n")
            await process.stdin.drain()


async def main() -> int:
    """Start the servers and the client, and return the exit code."""
    server = Server()
    for peer in ("lookupd1", "nsqd1"):
        await server.listen(peer)
    lookupd, nsqd = (f"127.0.0.1:{server.ports[peer]}" for peer in ("lookupd1", "nsqd1"))
    values = {**CASE["values"], "lookupd": lookupd, "nsqd": nsqd}
    intervals = {name: int(text) for name, text in values.items() if name.endswith("_ms")}
    settings = {"lookupd": [lookupd], "nsqd": nsqd, **intervals}
    server.begin()
    return await try_client(server, values, lambda process: drive(server, process, settings))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
