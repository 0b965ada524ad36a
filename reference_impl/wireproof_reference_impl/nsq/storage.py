"""Where a node keeps its topics on disk: one directory for each, as the real broker does."""

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from wireproof_reference_impl.nsq.core.log import Log, TopicMeta
from wireproof_reference_impl.nsq.disk_queue import DiskQueue
from wireproof_reference_impl.nsq.queue_channels import ChannelPosition, ChannelState
from wireproof_reference_impl.nsq.queue_place import QueueFault

_META = "topic_meta.json"
_EPHEMERAL = "#ephemeral"
_SAFE = {".": "%2E", "..": "%2E%2E"}
"""Legal topic names that would lead out of the data directory; no topic has a `%`."""


class DiskStorage:
    """Topics under a data directory, which is made when missing."""

    def __init__(self, directory: Path, *, max_bytes_per_file: int) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._max_bytes_per_file = max_bytes_per_file
        self._queues: dict[tuple[str, int], DiskQueue] = {}

    def topics(self) -> Iterator[TopicMeta]:
        """Yield the topics that were kept.

        Raises:
            QueueFault: what was kept of a topic cannot be read.
        """
        for path in sorted(self._directory.glob(f"*/{_META}")):
            try:
                kept = json.loads(path.read_bytes())
                partitions = tuple(map(int, kept["partitions"]))
                meta = TopicMeta(kept["name"], partitions, kept["extend"], kept["ordered"])
            except (ValueError, LookupError, TypeError) as error:
                raise QueueFault(f"{path} is no meta data of a topic") from error
            yield meta

    def save_topic(self, meta: TopicMeta) -> None:
        """Keep a topic's meta data."""
        kept = {
            "name": meta.name,
            "partitions": meta.partitions,
            "extend": meta.extend,
            "ordered": meta.ordered,
        }
        path = self._topic_directory(meta.name) / _META
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".tmp")
        fresh.write_text(json.dumps(kept), encoding="utf-8")
        fresh.replace(path)

    def delete_topic(self, name: str) -> None:
        """Remove a topic's directory."""
        shutil.rmtree(self._topic_directory(name), ignore_errors=True)
        self._queues = {key: queue for key, queue in self._queues.items() if key[0] != name}

    def open_log(self, topic: str, partition: int) -> Log:
        """Open a partition's queue, new or kept."""
        queue = DiskQueue.open(
            self._topic_directory(topic),
            topic,
            partition,
            max_bytes_per_file=self._max_bytes_per_file,
        )
        self._queues[topic, partition] = queue
        return queue

    def replace_log(self, topic: str, partition: int, records: Iterable[bytes]) -> Log:
        """Remove a partition's files and keep other records instead."""
        for path in self._topic_directory(topic).glob(f"{topic}-{partition}[.:]*"):
            path.unlink()
        log = self.open_log(topic, partition)
        for record in records:
            log.append(record)
        return log

    def positions(self, topic: str, partition: int) -> dict[str, tuple[int, int]]:
        """Return each channel's confirmed offset and count of confirmed messages."""
        kept = self._queues[topic, partition].load_channel_positions()
        return {name: (each.confirmed, each.count) for name, each in kept.items()}

    def save_positions(
        self, topic: str, partition: int, positions: Mapping[str, tuple[int, int]]
    ) -> None:
        """Keep each channel's confirmed offset and count; ephemeral channels are not kept."""
        queue = self._queues[topic, partition]
        kept = {name: each for name, each in positions.items() if not name.endswith(_EPHEMERAL)}
        queue.save_channels([ChannelState(name) for name in kept])
        queue.save_channel_positions({name: ChannelPosition(*each) for name, each in kept.items()})

    def _topic_directory(self, name: str) -> Path:
        return self._directory / _SAFE.get(name, name)
