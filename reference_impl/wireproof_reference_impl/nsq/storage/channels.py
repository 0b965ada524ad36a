"""The channels of a partition on disk: their names, and how far each has confirmed.

The names are in ``channel_meta<N>``. Each position has a file of its own, in the text format that
the deployed broker writes (and still reads if its own database has none): confirmed count LF queue
count LF file,position,offset of the confirmed LF and of the queue's end LF, then the two magic
bytes of all its text files.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from wireproof_reference_impl.json_text import compact_json
from wireproof_reference_impl.nsq.storage.folder import (
    QueueFolder,
    overwrite_file,
    replace_file,
)
from wireproof_reference_impl.nsq.storage.notes import MAGIC
from wireproof_reference_impl.nsq.storage.queue_position import QueuePosition, QueueWarning
from wireproof_spec.nsq.queue_names import channel_meta_name

SUFFIX = ".diskqueue.meta.v2.reader.dat"
_PLACE = rb"(\d{1,18}),(\d{1,18}),(\d{1,18})\n"
_POSITION = re.compile(rb"(\d{1,18})\n(\d{1,18})\n" + _PLACE + _PLACE + re.escape(MAGIC))


class ChannelPosition(Struct, frozen=True):
    """How far a channel is finished: ``count`` messages, to virtual offset ``confirmed``."""

    confirmed: int
    count: int


class QueueChannels:
    """Reads and writes the channel files of one partition."""

    def __init__(self, folder: QueueFolder, *, synced: bool = False) -> None:
        self._folder = folder
        self._write = replace_file if synced else overwrite_file
        self._saved: dict[str, QueuePosition] = {}
        self._saved_names: bytes | None = None
        self._with_file: set[str] | None = None

    def save_names(self, channels: Iterable[str]) -> None:
        """Store the names of durable channels, in the given order; none is paused."""
        entries = [
            {"name": name, "paused": False, "skipped": False, "zanTestSkipped": False}
            for name in channels
        ]
        content = compact_json(entries, otherwise="surrogateescape")
        if content != self._saved_names:
            self._write(self._names_path(), content)
            self._saved_names = content

    def load(
        self, start: QueuePosition, end: QueuePosition
    ) -> tuple[dict[str, ChannelPosition], list[QueueWarning]]:
        """Return the stored positions of channels, limited to the queue's start and end."""
        positions: dict[str, ChannelPosition] = {}
        warnings: list[QueueWarning] = []
        for channel in sorted(self._list_channels()):
            path = self._position_path(channel)
            match = _POSITION.fullmatch(path.read_bytes())
            if match is None:
                text = "no position; the channel begins anew"
                warnings.append(QueueWarning(path.name, text))
                positions[channel] = ChannelPosition(start.offset, start.count)
                continue
            count, _, _, _, offset, *_ = map(int, match.groups())
            within = _within(ChannelPosition(offset, count), start, end)
            if within.confirmed != offset:
                text = f"confirmed up to {offset}, outside the queue; moved to {within.confirmed}"
                warnings.append(QueueWarning(path.name, text))
            positions[channel] = within
        return positions, warnings

    def add(self, channel: str, place: QueuePosition, end: QueuePosition) -> None:
        """Store the position of a new channel."""
        self._keep(channel, place, end)
        self._saved[channel] = place
        if self._with_file is not None:
            self._with_file.add(channel)

    def save(self, places: Mapping[str, QueuePosition], end: QueuePosition) -> None:
        """Store the positions of these channels; remove the files of all others."""
        before = self._list_channels() if self._with_file is None else self._with_file
        for channel, place in places.items():
            self._keep(channel, place, end)
        for channel in before - places.keys():
            self._position_path(channel).unlink(missing_ok=True)
        self._saved = dict(places)
        self._with_file = set(places)

    def _keep(self, channel: str, place: QueuePosition, end: QueuePosition) -> None:
        if self._saved.get(channel) != place:
            self._write(self._position_name(channel), _position_text(place, end))

    def _names_path(self) -> str:
        return f"{self._folder.directory}/{channel_meta_name(self._folder.partition)}"

    def _prefix(self) -> str:
        return f"{self._folder.topic}-{self._folder.partition}:"

    def _position_path(self, channel: str) -> Path:
        return Path(self._position_name(channel))

    def _position_name(self, channel: str) -> str:
        return f"{self._folder.directory}/{self._prefix()}{channel}{SUFFIX}"

    def _list_channels(self) -> set[str]:
        """Return the names of the channels with a stored position."""
        prefix = self._prefix()
        return {
            name[len(prefix) : -len(SUFFIX)]
            for name in os.listdir(self._folder.directory)
            if name.startswith(prefix) and name.endswith(SUFFIX)
        }


def _within(
    position: ChannelPosition, start: QueuePosition, end: QueuePosition
) -> ChannelPosition:
    if position.confirmed < start.offset:
        return ChannelPosition(start.offset, start.count)
    if position.confirmed > end.offset:
        return ChannelPosition(end.offset, end.count)
    return position


def _position_text(place: QueuePosition, end: QueuePosition) -> bytes:
    lines = [str(place.count), str(end.count), *map(_place_text, (place, end)), ""]
    return "\n".join(lines).encode() + MAGIC


def _place_text(place: QueuePosition) -> str:
    return f"{place.file_number},{place.file_position},{place.offset}"
