"""The file with the topics of a cluster: `cluster.jsonl`, beside the directories of its nodes.

Each line is an object of rows by topic, and replaces what earlier lines have for these topics. A
line without a line end was never acknowledged. A change appends a line: writing all topics at
every change took a time that grew with the square of their number.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from wireproof_reference_impl.json_text import compact_json
from wireproof_reference_impl.nsq.cluster import topic_rows
from wireproof_reference_impl.nsq.cluster.cluster_topic import ClusterTopic
from wireproof_reference_impl.nsq.cluster.member import Member
from wireproof_reference_impl.nsq.storage.folder import replace_file
from wireproof_reference_impl.nsq.storage.queue_position import QueueFault


class ClusterFile:
    """The file that stores a cluster's topics as lines of JSON; it may not exist yet."""

    def __init__(self, directory: Path, *, synced: bool) -> None:
        self._path = directory / "cluster.jsonl"
        self._synced = synced

    def load(self, members: Sequence[Member]) -> list[ClusterTopic]:
        """Return the stored topics, and rewrite the file with only their present rows.

        Raises:
            QueueFault: the file is no list of topics of these nodes.
        """
        rows: dict[str, object] = {}
        try:
            *lines, _ = self._path.read_bytes().split(b"\n")
            for line in lines:
                rows |= _rows(line)
            topics = topic_rows.read(rows, members)
        except FileNotFoundError:
            return []
        except ValueError as error:
            raise QueueFault(f"{self._path} does not fit this cluster: {error}") from error
        replace_file(self._path, _line(topic_rows.make_rows(topics)), synced=self._synced)
        return topics

    def save(self, rows: topic_rows.Rows) -> None:
        """Append rows to the file as one line."""
        with self._path.open("ab", buffering=0) as file:
            file.write(_line(rows))
            if self._synced:
                os.fsync(file.fileno())


def _rows(line: bytes) -> topic_rows.Rows:
    rows: object = json.loads(line)
    if not isinstance(rows, dict):
        raise topic_rows.BadTopicRows(f"a line is {type(rows).__name__}, no object")
    return cast(topic_rows.Rows, rows)


def _line(rows: topic_rows.Rows) -> bytes:
    return compact_json(rows) + b"\n"
