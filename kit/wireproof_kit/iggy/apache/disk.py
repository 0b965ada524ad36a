"""Reads, and damages, the log of a partition in the data directory of an Apache Iggy server."""

from pathlib import Path
from typing import Final

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.iggy.apache.batches import message
from wireproof_kit.iggy.apache.requests import Topic
from wireproof_kit.iggy.apache.server import ApacheServer
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_kit.wire.waiting import until
from wireproof_spec.step_notes import DAMAGED

_SUFFIX: Final = ".log"
KEPT_BYTES: Final = 1 << 20
"""After so many bytes a partition of the server at commit cc269ef writes them, by default."""


def read_log(server: ApacheServer, topic: Topic) -> bytes:
    """Return the bytes of all log files of a topic's partition, in order.

    Raises:
        ArrangementFailed: the data directory is not known, or a file cannot be read.
    """
    try:
        return b"".join(path.read_bytes() for path in _files(server, topic))
    except OSError as error:
        what = "cannot read the topic's segment files in the data directory"
        raise ArrangementFailed(f"{what}: {error}") from error


def damage_log(server: ApacheServer, topic: Topic, payload: bytes) -> None:
    """Flip the lowest bit of the first byte of a payload in the log of a topic of the case.

    Raises:
        ArrangementFailed: no file has the payload, or it cannot be written.
    """
    server.transcript.add("note", server.transcript.connection_label(), note=DAMAGED)
    for path in _files(server, topic):
        try:
            at = path.read_bytes().find(payload)
            if at >= 0:
                with path.open("r+b") as file:
                    file.seek(at)
                    file.write(bytes([payload[0] ^ 1]))
                return
        except OSError as error:
            raise ArrangementFailed(f"cannot change the log: {error}") from error
    raise ArrangementFailed("no file of the log has the message")


def _files(server: ApacheServer, topic: Topic) -> list[Path]:
    root = server.access.data
    if root is None:
        raise ArrangementFailed("no data directory of the target is known; give --data")
    place = f"streams/{topic.stream_id}/topics/{topic.id}/partitions/{topic.partition}"
    return sorted((root / place).glob(f"*{_SUFFIX}"))


def wait_for_log(server: ApacheServer, topic: Topic, end: bytes) -> bytes:
    """Wait until a partition's log contains ``end`` or patience has passed; return the log.

    A message is sent behind it that is larger than what a server keeps in memory.
    """
    server.send_accepted(topic, message(bytes(KEPT_BYTES)))

    def look() -> bytes | None:
        log = read_log(server, topic)
        return log if end in log else None

    seconds = server.patience.seconds(REDELIVERY)
    return until(look, seconds=seconds, every=0.05) or read_log(server, topic)
