"""A capture of what passes now, step by step."""

import time
from pathlib import Path

from wireproof_kit.pcap.capture import CaptureFile
from wireproof_kit.pcap.exchange import Exchange, Segmenter, kit_ports
from wireproof_kit.runner.records import steps_record
from wireproof_kit.wire.transcript import Step


class LiveCapture:
    """A capture file to which steps are appended as they happen; it forgets closed connections.

    Raises:
        OSError: the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._file = CaptureFile(path)
        started_us = time.time_ns() // 1000
        self._segmenter = Segmenter(Exchange("passing", (), started_us=started_us), kit_ports())

    def step(self, step: Step) -> None:
        """Append the packets of a step to the file."""
        for record in steps_record([step]).steps:
            self._file.add(self._segmenter.take(record))
        if step.kind == "close":
            self._file.add(self._segmenter.end(step.connection, step.note))

    def event(self, event: object) -> None:
        """Do nothing with a decoded event: a capture contains bytes only."""

    def deviation(self, entry: object) -> None:
        """Do nothing with a deviation: a capture contains bytes only."""

    def close(self) -> None:
        """End all connections and close the file."""
        self._file.add(self._segmenter.end_all())
        self._file.close()
