"""Where the ledger of a cluster lies: `cluster.json`, beside the directories of its nodes."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from wireproof_reference_impl.nsq.cluster import ledger
from wireproof_reference_impl.nsq.cluster.member import Member
from wireproof_reference_impl.nsq.cluster.place import ClusterTopic
from wireproof_reference_impl.nsq.queue_folder import replace_file
from wireproof_reference_impl.nsq.queue_place import QueueFault


class ClusterFile:
    """The file, which need not be there."""

    def __init__(self, directory: Path, *, synced: bool) -> None:
        self._path = directory / "cluster.json"
        self._synced = synced

    def load(self, members: Sequence[Member]) -> list[ClusterTopic]:
        """Return the topics that were kept.

        Raises:
            QueueFault: the file is no ledger of these nodes.
        """
        try:
            return ledger.read(json.loads(self._path.read_bytes()), members)
        except FileNotFoundError:
            return []
        except ValueError as error:
            raise QueueFault(f"{self._path} does not fit this cluster: {error}") from error

    def save(self, kept: Mapping[str, object]) -> None:
        """Replace the file as a whole."""
        replace_file(self._path, json.dumps(kept).encode(), synced=self._synced)
