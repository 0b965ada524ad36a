"""Topics on disk: one directory each, as in the real broker.

Every record is with the operating system before its publish is answered, and a new channel before
its SUB is, so that the end of the process loses nothing that was acknowledged. What a loss of the
machine may lose is the choice of `Fsync`.
"""

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from wireproof_reference_impl.json_text import compact_json
from wireproof_reference_impl.nsq.core.log import Log, TopicMeta
from wireproof_reference_impl.nsq.options import Fsync
from wireproof_reference_impl.nsq.storage.channels import ChannelPosition
from wireproof_reference_impl.nsq.storage.disk_queue import DiskQueue
from wireproof_reference_impl.nsq.storage.file import sync_directory
from wireproof_reference_impl.nsq.storage.folder import replace_file
from wireproof_reference_impl.nsq.storage.queue_position import QueueFault

_META = "topic_meta.json"
_EPHEMERAL = "#ephemeral"
_SAFE = {".": "%2E", "..": "%2E%2E"}
"""Legal topic names that would lead out of the data directory; no topic has a `%`."""
_DELETED = "%deleted-"
"""Begins the name of a directory that is being removed."""


class DiskStorage:
    """Stores the topics of a node in a data directory, which is created if it is missing."""

    def __init__(
        self, directory: Path, *, max_bytes_per_file: int, fsync: Fsync = Fsync.NEVER
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = str(directory)
        self._max_bytes_per_file = max_bytes_per_file
        self._fsync = fsync
        self._queues: dict[tuple[str, int], DiskQueue] = {}
        for path in directory.glob(f"{_DELETED}*"):
            shutil.rmtree(path, ignore_errors=True)

    @property
    def gathers(self) -> bool:
        """Return True if acknowledging many messages at once is cheaper."""
        return self._fsync is Fsync.ALWAYS

    def topics(self) -> Iterator[TopicMeta]:
        """Yield the stored topics.

        Raises:
            QueueFault: the files of a topic cannot be read.
        """
        for path in sorted(Path(self._directory).glob(f"*/{_META}")):
            try:
                kept = json.loads(path.read_bytes())
                partitions = tuple(map(int, kept["partitions"]))
                meta = TopicMeta(kept["name"], partitions, kept["extend"], kept["ordered"])
            except (ValueError, LookupError, TypeError) as error:
                raise QueueFault(f"{path} is no meta data of a topic") from error
            yield meta

    def save_topic(self, meta: TopicMeta) -> None:
        """Store a topic's metadata."""
        kept = {
            "name": meta.name,
            "partitions": meta.partitions,
            "extend": meta.extend,
            "ordered": meta.ordered,
        }
        directory = self._topic_directory(meta.name)
        path, content = f"{directory}/{_META}", compact_json(kept)
        try:
            replace_file(path, content, synced=self._syncs)
        except FileNotFoundError:
            os.mkdir(directory)  # usually a queue has made it
            replace_file(path, content, synced=self._syncs)
        if self._syncs:
            sync_directory(directory)
            sync_directory(self._directory)

    def delete_topic(self, name: str) -> None:
        """Remove a topic's directory; a rename first makes the topic disappear in one step."""
        for key in [key for key in self._queues if key[0] == name]:
            self._queues.pop(key).close()
        directory = self._topic_directory(name)
        if os.path.exists(directory):
            removed = f"{self._directory}/{_DELETED}{os.path.basename(directory)}"
            shutil.rmtree(removed, ignore_errors=True)
            os.replace(directory, removed)
            if self._syncs:
                sync_directory(self._directory)
            shutil.rmtree(removed, ignore_errors=True)

    def open_log(self, topic: str, partition: int) -> Log:
        """Open the log of a partition in files, a new or a stored one."""
        queue = DiskQueue.open(
            self._topic_directory(topic),
            topic,
            partition,
            max_bytes_per_file=self._max_bytes_per_file,
            synced=self._syncs,
        )
        self._queues[topic, partition] = queue
        return queue

    def commit(self) -> None:
        """Make stored messages as durable as promised, before they are acknowledged.

        Raises:
            OSError: the records are not durable; none of them may be acknowledged.
        """
        if self._fsync is Fsync.ALWAYS:
            self._sync()

    def sync(self) -> None:
        """Sync all data to the disk if that is promised; called once a second.

        Raises:
            OSError: data may be lost with the machine.
        """
        if self._syncs:
            self._sync()

    def replace_log(self, topic: str, partition: int, records: Iterable[bytes]) -> Log:
        """Remove a partition's files, store other records instead, and return their log."""
        for path in Path(self._topic_directory(topic)).glob(f"{topic}-{partition}[.:]*"):
            path.unlink()
        log = self.open_log(topic, partition)
        for record in records:
            log.append(record)
        return log

    def positions(self, topic: str, partition: int) -> dict[str, tuple[int, int]]:
        """Return each channel's confirmed offset and count of confirmed messages."""
        kept = self._queues[topic, partition].load_channel_positions()
        return {name: (each.confirmed, each.count) for name, each in kept.items()}

    def add_channel(self, topic: str, partition: int, name: str, place: tuple[int, int]) -> None:
        """Store a new channel unless it is ephemeral."""
        if name.endswith(_EPHEMERAL):
            return
        self._queues[topic, partition].add_channel(name, ChannelPosition(*place))
        if self._syncs:
            sync_directory(self._topic_directory(topic))

    def save_positions(
        self, topic: str, partition: int, positions: Mapping[str, tuple[int, int]]
    ) -> None:
        """Store each channel's confirmed offset and count; ephemeral channels are not stored."""
        queue = self._queues[topic, partition]
        kept = {name: each for name, each in positions.items() if not name.endswith(_EPHEMERAL)}
        queue.save_channels(kept)
        queue.save_channel_positions({name: ChannelPosition(*each) for name, each in kept.items()})

    @property
    def _syncs(self) -> bool:
        return self._fsync is not Fsync.NEVER

    def _sync(self) -> None:
        for queue in self._queues.values():
            queue.sync()

    def _topic_directory(self, name: str) -> str:
        return f"{self._directory}/{_SAFE.get(name, name)}"
