"""HTTP answers of lookup servers, right and hostile, as scripts for a scripted peer."""

import json
from collections.abc import Callable

from scripted_peer import Peer, Script

Answer = bytes | Callable[[Peer], None]

V1_HEAD = "X-Nsq-Content-Type: nsq; version=1.0\r\n"


def http(body: bytes, *, status: int = 200, head: str = "") -> bytes:
    """Return an answer of a known length."""
    return f"HTTP/1.1 {status} X\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def v1(value: object, *, status: int = 200) -> bytes:
    """Return a bare answer that says it is one."""
    return http(json.dumps(value).encode(), status=status, head=V1_HEAD)


def wrapped(value: object, *, status: int = 200, code: int = 200, text: str = "OK") -> bytes:
    """Return an answer in the envelope of old."""
    envelope = {"status_code": code, "status_txt": text, "data": value}
    return http(json.dumps(envelope).encode(), status=status)


def by_path(**answers: Answer) -> Script:
    """Answer each path (without its slash) with its own bytes or script, others with 404."""

    def script(peer: Peer) -> None:
        head = peer.until(b"\r\n\r\n").decode()
        if not head:
            return
        path = head.split(" ")[1].partition("?")[0].removeprefix("/")
        answer = answers.get(path, v1({"message": "NOT_FOUND"}, status=404))
        if callable(answer):
            answer(peer)
        else:
            peer.say(answer)

    return script


def node(port: int = 4150, **other: object) -> dict[str, object]:
    """Return a node record of the redesigned nsqlookupd."""
    return {
        "id": "127.0.0.1:33122",
        "remote_address": "127.0.0.1:33122",
        "hostname": "h",
        "broadcast_address": "127.0.0.1",
        "tcp_port": port,
        "http_port": port + 1,
        "version": "1",
        "distributed_id": "d",
        **other,
    }
