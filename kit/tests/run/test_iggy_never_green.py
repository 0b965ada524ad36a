"""Never falsely green: targets that speak no Iggy, or nonsense of it, through the command line.

Each run must end soon, with exit code 1, 2 or 3 and without a traceback.
"""

from pathlib import Path

import pytest
from scripted_peer import Peer, Script, ScriptedPeer, saying
from test_never_green import wireproof

from wireproof_spec.iggy import commands
from wireproof_spec.iggy.frame import response

pytestmark = [pytest.mark.process, pytest.mark.long]

POLLED_NONSENSE = (1).to_bytes(4, "little") + bytes(range(200))


def frames(peer: Peer) -> int | None:
    """Read a request and return its code; None when the client has gone."""
    head = peer.exactly(4)
    frame = peer.exactly(int.from_bytes(head, "little")) if head else b""
    return int.from_bytes(frame[:4], "little") if frame else None


def answering(body: bytes = b"", *, polls: bytes = b"", status: int = 0) -> Script:
    """Answer every request with a status and a body; polls with a body of their own."""

    def script(peer: Peer) -> None:
        while (code := frames(peer)) is not None:
            poll = code == commands.POLL_MESSAGES
            if code == commands.PING:
                peer.say(response(0))
            else:
                peer.say(response(status, polls if poll else body))

    return script


def endless_answers(peer: Peer) -> None:
    while True:
        peer.say(response(0) * 4096)


def endless_answer(peer: Peer) -> None:
    peer.say(b"\0\0\0\0\0\0\xff\0")
    for _ in range(4000):
        peer.say(bytes(65536))


def endless_bodies(peer: Peer) -> None:
    while True:
        peer.say(response(0, bytes(1_000_000)))


def silent(peer: Peer) -> None:
    peer.rest()


def closing(peer: Peer) -> None:
    peer.exactly(1)


HOSTILE: dict[str, Script] = {
    "silent": silent,
    "closes-at-once": closing,
    "ok-to-everything": answering(),
    "empty-polls": answering(polls=bytes(4)),
    "nonsense-polls": answering(polls=POLLED_NONSENSE),
    "refuses-everything": answering(status=3),
    "http": saying(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
    "garbage": saying(bytes(range(256)) * 8),
    "endless-answers": endless_answers,
    "endless-answer": endless_answer,
    "endless-bodies": endless_bodies,
}


PART = {
    "endless-answers": "iggy/checksum",
    "endless-bodies": "iggy/checksum",
    "ok-to-everything": "iggy/poll",
    "nonsense-polls": "iggy/message",
}
"""A flood is read, or waited for, a thousand times in a whole run; a part of it shows as well."""
TAKES_ALL_AND_KEEPS_NOTHING = "empty-polls"


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_target_is_never_green(kind: str, tmp_path: Path) -> None:
    part = [PART[kind]] if kind in PART else []
    with ScriptedPeer(HOSTILE[kind]) as peer:
        host, port = peer.address
        url = f"iggy://{host}:{port}?http=127.0.0.1:{port}"
        ended = wireproof("run", url, *part, "--timeout", "0.1", folder=tmp_path)
    assert ended.code in ((1,) if kind == TAKES_ALL_AND_KEEPS_NOTHING else (1, 2, 3)), ended
    assert ended.err.strip() or ended.out.strip()
