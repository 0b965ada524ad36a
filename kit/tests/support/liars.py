"""Targets that are no broker, or one built wrong: what hostile and careless servers say."""

from scripted_peer import Peer, Script, refusing, saying

OK_FRAME = bytes.fromhex("00000006 00000000 4f4b")
E_INVALID = bytes.fromhex("00000015 00000001") + b"E_INVALID nothing"


def silent(peer: Peer) -> None:
    """Take what comes and answer nothing."""
    peer.rest()


def closing(peer: Peer) -> None:
    """Close at the first byte."""
    peer.exactly(1)


def resetting(peer: Peer) -> None:
    """Reset at the first byte."""
    peer.exactly(1)
    peer.reset()


def answering_ok(peer: Peer) -> None:
    """Answer OK to everything that looks like a line."""
    while peer.line():
        peer.say(OK_FRAME)


def refusing_all(peer: Peer) -> None:
    """Refuse everything that looks like a line."""
    while peer.line():
        peer.say(E_INVALID)


def endless_garbage(peer: Peer) -> None:
    """Send 256 MB of no frame at all."""
    for _ in range(4000):
        peer.say(b"\xff" * 65536)


def endless_frames(peer: Peer) -> None:
    """Send 800 MB of OK."""
    for _ in range(20000):
        peer.say(OK_FRAME * 4096)


def endless_size(peer: Peer) -> None:
    """Announce a frame of 2 GB, and send it."""
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


def half_a_broker(peer: Peer) -> None:
    """Answer whatever publishes and creates, and close on whatever subscribes."""
    peer.exactly(4)
    while words := peer.line().split():
        if words[0].startswith(b"SUB"):
            return
        if words[0] == b"IDENTIFY" or b"PUB" in words[0]:
            peer.sized()
        if words[0] not in (b"NOP", b"RDY", b"FIN", b"REQ", b"TOUCH"):
            peer.say(OK_FRAME)


LIARS: dict[str, Script] = {
    "silent": silent,
    "closes-at-once": closing,
    "resets-at-once": resetting,
    "ok-to-everything": answering_ok,
    "refuses-everything": refusing_all,
    "http": saying(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
    "garbage": saying(bytes(range(256)) * 8),
    "endless-garbage": endless_garbage,
    "endless-frames": endless_frames,
    "endless-frame": endless_size,
    "classic-nsqd": classic,
    "no-topic-can-be-created": without_topics,
    "half-a-broker": half_a_broker,
}
