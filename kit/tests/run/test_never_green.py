"""Never falsely green: hostile, dead and wrong targets, through the command line.

Each run must end soon, with exit code 1, 2 or 3, in bounded memory and without a traceback.
"""

import re
import resource
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from scripted_peer import Peer, Script, ScriptedPeer, refusing, saying

pytestmark = pytest.mark.process

# A flood of frames is read by every case until its patience ends: minutes on a busy machine.
ENDS_WITHIN_S = 280.0
MEMORY_BYTES = 3 * 1024**3
OK_FRAME = bytes.fromhex("00000006 00000000 4f4b")
E_INVALID = bytes.fromhex("00000015 00000001") + b"E_INVALID nothing"


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    err: str


def wireproof(*arguments: str, folder: Path, environment: dict[str, str] | None = None) -> Ended:
    command = [sys.executable, "-m", "wireproof", *arguments]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=ENDS_WITHIN_S,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES)),
    )
    assert "Traceback" not in done.stderr + done.stdout
    return Ended(done.returncode, done.stdout, done.stderr)


def silent(peer: Peer) -> None:
    peer.rest()


def closing(peer: Peer) -> None:
    peer.exactly(1)


def answering_ok(peer: Peer) -> None:
    while peer.line():
        peer.say(OK_FRAME)


def refusing_all(peer: Peer) -> None:
    while peer.line():
        peer.say(E_INVALID)


def endless_garbage(peer: Peer) -> None:
    for _ in range(4000):
        peer.say(b"\xff" * 65536)


def endless_frames(peer: Peer) -> None:
    for _ in range(20000):
        peer.say(OK_FRAME * 4096)


def endless_size(peer: Peer) -> None:
    peer.say(bytes.fromhex("7fffffff 00000000"))
    for _ in range(4000):
        peer.say(bytes(65536))


def classic(peer: Peer) -> None:
    """Behave as a broker that knows IDENTIFY, PUB and SUB and nothing of the extend feature."""
    peer.exactly(4)
    while words := peer.line().split():
        if words[0] in (b"IDENTIFY", b"PUB"):
            peer.sized()
        known = words[0] in (b"IDENTIFY", b"PUB", b"SUB")
        peer.say(OK_FRAME if known else refusing("E_INVALID", f"invalid command {words[0]!r}"))
        if not known:
            return


def without_topics(peer: Peer) -> None:
    """Behave as a broker on which no topic can be created."""
    peer.exactly(4)
    while words := peer.line().split():
        if words[0] == b"IDENTIFY":
            peer.sized()
            peer.say(OK_FRAME)
        elif words[0] == b"INTERNAL_CREATE_TOPIC":
            peer.say(refusing("E_CREATE_TOPIC_FAILED", "no room"))
        else:
            peer.say(refusing("E_TOPIC_NOT_EXIST"))
            return


HOSTILE: dict[str, Script] = {
    "classic-nsqd": classic,
    "no-topic-can-be-created": without_topics,
    "silent": silent,
    "closes-at-once": closing,
    "ok-to-everything": answering_ok,
    "refuses-everything": refusing_all,
    "http": saying(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
    "garbage": saying(bytes(range(256)) * 8),
    "endless-garbage": endless_garbage,
    "endless-frames": endless_frames,
    "endless-frame": endless_size,
}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("script", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_target_is_never_green(script: Script, tmp_path: Path) -> None:
    # A flood is read a thousand times in a whole run; a part of the cases shows it as well.
    part = ["nsq/publish"] if script is endless_frames else []
    with ScriptedPeer(script) as peer:
        host, port = peer.address
        url = f"nsq://{host}:{port}?http=127.0.0.1:{port}"
        ended = wireproof("run", url, *part, "--timeout", "0.3", folder=tmp_path)
    assert ended.code in (1, 2, 3), ended
    assert ended.err.strip() or ended.out.strip()


@pytest.mark.parametrize("script", HOSTILE.values(), ids=HOSTILE)
def test_a_single_case_against_a_hostile_target_is_never_green(
    script: Script, tmp_path: Path
) -> None:
    with ScriptedPeer(script) as peer:
        url = f"nsq://{peer.address[0]}:{peer.address[1]}"
        case = "nsq/publish/accept"
        ended = wireproof("run", url, case, "--timeout", "0.3", folder=tmp_path)
    assert ended.code in (1, 2, 3), ended


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


SENTENCES: dict[str, tuple[Callable[[], list[str]], str]] = {
    "no-target": (lambda: ["run"], "--reference"),
    "empty-url": (lambda: ["run", ""], "empty"),
    "dead-port": (lambda: ["run", f"nsq://127.0.0.1:{free_port()}"], "refused"),
    "no-port": (lambda: ["run", "nsq://127.0.0.1"], "port"),
    "unknown-protocol": (lambda: ["run", "nqs://127.0.0.1:1"], "nsq://"),
    "unknown-key": (lambda: ["run", "nsq://127.0.0.1:1?htp=x"], "htp"),
    "unknown-host": (lambda: ["run", "nsq://no-such-host.invalid:4150"], "no-such-host"),
    "typo-in-id": (lambda: ["run", "--reference", "nsq/publsh"], "nsq/publish"),
    "typo-in-clause": (lambda: ["run", "--reference", "ext.publsh"], "ext.publish"),
    "untested-clause": (lambda: ["run", "--reference", "ext.client.identify"], "not for brokers"),
    "all-excluded": (
        lambda: ["run", "--reference", "--exclude", "nsq", "--exclude", "iggy"],
        "excluded",
    ),
    "typo-in-option": (lambda: ["run", "--reference", "--profil", "must"], "--profile"),
    "wrong-profile": (lambda: ["run", "--reference", "--profile", "most"], "most"),
    "typo-in-command": (lambda: ["rnu"], "run"),
    "missing-baseline": (lambda: ["run", "--reference", "--baseline", "none.toml"], "none.toml"),
    "missing-data": (lambda: ["run", "nsq://127.0.0.1:1", "--data", "none"], "none"),
    "wrong-claim": (lambda: ["run", "--reference", "--claim", "wings=true"], "wings"),
    "missing-bundle": (lambda: ["judge", "none.jsonl"], "none.jsonl"),
    "wrong-hex": (lambda: ["decode", "zz"], "zz"),
    "unknown-id": (lambda: ["explain", "ext.publish.header-jsn"], "ext.publish.header-json"),
    "unknown-fault": (lambda: ["serve", "nsq", "--fault", "none"], "none"),
}


@pytest.mark.parametrize(("arguments", "words"), SENTENCES.values(), ids=SENTENCES)
def test_bad_input_is_one_sentence_and_exit_2(
    arguments: Callable[[], list[str]], words: str, tmp_path: Path
) -> None:
    ended = wireproof(*arguments(), folder=tmp_path)
    assert ended.code == 2, ended
    assert words in ended.err
    assert len(re.findall(r"\S[^\n]*\n", ended.err)) <= 3, ended.err
