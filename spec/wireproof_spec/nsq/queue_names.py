"""The names of the files of a partition's queue.

All lie in the topic's directory. The names for partition N begin with `<topic>-<N>.diskqueue.`.
"""

import re
from dataclasses import dataclass

SIX_DIGITS_UP_TO = 999_990
"""Files numbered above have names of nine digits (FileNumV2Seq of the measured peer)."""

_QUEUE_FILE = re.compile(
    r"(?P<topic>.+)-(?P<partition>[0-9]+)\.diskqueue\.(?P<number>[0-9]{6,})\.dat"
)


@dataclass(frozen=True, slots=True, order=True)
class QueueFile:
    """A file of a queue on disk: topic, partition and number; sorts in the order of the queue."""

    topic: str
    partition: int
    number: int

    @property
    def name(self) -> str:
        """The name of the file in the topic's directory."""
        return queue_file_name(self.topic, self.partition, self.number)


def read_queue_file_name(name: str) -> QueueFile | None:
    """Return the queue file with this name; None if it is the name of another file."""
    match = _QUEUE_FILE.fullmatch(name)
    if match is None:
        return None
    return QueueFile(match["topic"], int(match["partition"]), int(match["number"]))


def _queue_name(topic: str, partition: int) -> str:
    return f"{topic}-{partition}.diskqueue"


def queue_file_name(topic: str, partition: int, number: int) -> str:
    """Return the name of a queue file with records; `number` counts from 0."""
    digits = 6 if number <= SIX_DIGITS_UP_TO else 9
    return f"{_queue_name(topic, partition)}.{number:0{digits}d}.dat"


def offset_meta_name(topic: str, partition: int, number: int) -> str:
    """Return the name of the metadata file of a finished queue file."""
    return f"{queue_file_name(topic, partition, number)}.offsetmeta.dat"


def writer_meta_name(topic: str, partition: int) -> str:
    """Return the name of the file that holds the position of a queue's next record."""
    return f"{_queue_name(topic, partition)}.meta.writer.dat"


def queue_start_name(topic: str, partition: int) -> str:
    """Return the name of the JSON file that holds where a queue starts."""
    return f"{_queue_name(topic, partition)}.meta.extra.dat"


def channel_meta_name(partition: int) -> str:
    """Return the name of the JSON file that lists a partition's channels."""
    return f"channel_meta{partition}"


def magic_name(partition: int) -> str:
    """Return the name of the file with a topic's magic code, which only clusters have."""
    return f"magic{partition}"


def commit_log_name(topic: str, partition: int) -> str:
    """Return the name of a partition's commit log, which only clusters have."""
    return f"{topic}_{partition}.commit.log"
