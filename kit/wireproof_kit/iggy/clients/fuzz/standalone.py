"""Plays an Iggy server for one client, over TCP and HTTP: this part of a script is about Iggy."""

import asyncio
import base64
import contextlib
import json
import sys
from typing import Any

from wireproof_kit.fuzz.clients.standalone import CASE, Servers, try_client

AGAIN_S, PIECE_S = 0.1, 0.002
LOGIN, POLL, SEND = 38, 100, 101


class Server(Servers):
    """The server of one client, and the cases that are left to send."""

    def __init__(self) -> None:
        super().__init__()
        self.is_sent = self.is_complete = self.is_driven = self.is_accepted = False
        self.raw = b""
        self.generation = "published"
        self.writers: set[asyncio.StreamWriter] = set()

    async def serve_tcp(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection over TCP."""
        self.writers.add(writer)
        with contextlib.suppress(EOFError, OSError, asyncio.CancelledError):
            while True:
                size = int.from_bytes(await reader.readexactly(4), "little")
                request = await reader.readexactly(size)
                code = int.from_bytes(request[:4], "little")
                if code == LOGIN:
                    self.generation = "tagged"
                usual = CASE["usual"]["tcp"][self.generation]
                await self.answer(str(code), usual, writer)
        self.writers.discard(writer)
        writer.close()

    async def serve_http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection over HTTP."""
        self.writers.add(writer)
        with contextlib.suppress(EOFError, OSError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                method, target, *_ = head.split(" ")
                lengths = [line for line in head.lower().split("\r\n") if "content-length" in line]
                await reader.readexactly(int(lengths[0].partition(":")[2]) if lengths else 0)
                is_tagged = "authorization:" in head.lower()
                usual = CASE["usual"]["http"]["tagged" if is_tagged else "published"]
                last = target.partition("?")[0].rpartition("/")[2]
                await self.answer(f"{method} {last}", usual, writer)
        self.writers.discard(writer)
        writer.close()

    async def answer(self, name: str, usual: Any, writer: asyncio.StreamWriter) -> None:
        """Answer a request, with the next case if it is its place."""
        if self.cases and not self.is_sent and name in self.cases[0]["places"]:
            await self.send_case(writer)
            return
        writer.write(bytes.fromhex(usual.get(name, usual[""])))
        self.is_accepted = self.is_accepted or name in CASE["sends"]
        if name in CASE["works"] and self.is_complete and not self.is_driven:
            self.go_on()

    async def send_case(self, writer: asyncio.StreamWriter) -> None:
        """Send the next case."""
        self.is_sent, case = True, self.cases[0]
        pieces = [bytes.fromhex(piece) for piece in case["pieces"]]
        self.raw = b"".join(pieces)
        self.is_accepted = self.is_accepted or case["accepts"]
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(PIECE_S)
        self.is_complete = True
        if case["closes"]:
            with contextlib.suppress(OSError, RuntimeError):
                writer.write_eof()

    def go_on(self) -> None:
        """Go on to the next case: the client works after this one."""
        self.cases.pop(0)
        self.is_sent = self.is_complete = False
        if not self.cases:
            self.done.set()
        elif self.cases[0]["begins"]:
            for writer in tuple(self.writers):
                writer.close()

    def judge(self, answer: dict[str, Any]) -> None:
        """See whether the user is told something that the server did not say."""
        if "messages" not in answer and not self.is_accepted:
            self.wrong = "messages were told as sent, and none was accepted"
        for each in answer.get("messages", []):
            payload = base64.b64decode(each["payload"])
            texts = (payload, base64.b64encode(payload).rstrip(b"=").rstrip(b"\r\n")[:-1])
            offset = int(each["offset"]).to_bytes(8, "little", signed=int(each["offset"]) < 0)
            is_raw = any(text in self.raw for text in texts)
            is_raw = is_raw and (CASE["transport"] == "http" or offset in self.raw)
            if [each["offset"], each["payload"]] not in CASE["log"] and not is_raw:
                self.wrong = f"message {each['offset']} was not sent"
        if self.wrong:
            self.done.set()


async def drive(server: Server, process: asyncio.subprocess.Process, settings: Any) -> None:
    """Talk to the client's driver if it is one; any other program may write anything."""
    assert process.stdin is not None
    assert process.stdout is not None
    number, is_control = 0, False
    with contextlib.suppress(OSError, ValueError):
        while line := await process.stdout.readline():
            if b"wireproof-driver" not in line and not (server.is_driven and b'"id"' in line):
                continue
            told, server.is_driven = json.loads(line), True
            answer = told.get("ok")
            if number > 1 and answer is not None:
                server.judge(answer)
                works = CASE["role"] == "producer" or answer.get("messages")
                if is_control and works and not server.wrong and server.cases:
                    server.go_on()
            await asyncio.sleep(AGAIN_S if "error" in told else 0)
            is_control, server.is_accepted = server.is_complete, False
            opening = {"op": "open", "version": 1, "settings": settings}
            request = CASE["request"] if number else opening
            number += 1
            process.stdin.write(json.dumps({"id": number, **request}).encode() + b"\n")
            await process.stdin.drain()


async def main() -> int:
    """Start the server and the client, and return the exit code."""
    server = Server()
    addresses: dict[str, str] = {}
    serving: list[asyncio.Server] = []
    for transport, serve in (("tcp", server.serve_tcp), ("http", server.serve_http)):
        serving.append(await asyncio.start_server(serve, "127.0.0.1", 0))
        addresses[transport] = f"127.0.0.1:{serving[-1].sockets[0].getsockname()[1]}"
    values = {**CASE["values"], **addresses}
    numbers = ("stream", "topic", "partition")
    settings = {name: int(text) if name in numbers else text for name, text in values.items()}
    return await try_client(server, values, lambda process: drive(server, process, settings))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
