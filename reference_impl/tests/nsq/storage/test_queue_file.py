"""Files of queues: more of them than a process may have open at once."""

import os
import resource
from pathlib import Path

import pytest

from wireproof_reference_impl.nsq.storage.file import QueueFile


def count_open(folder: Path) -> int:
    numbers = Path("/proc/self/fd").iterdir()
    return sum(os.path.realpath(number).startswith(str(folder)) for number in numbers)


def test_more_queues_than_open_files_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (32, 32))
    files = [QueueFile(str(tmp_path / f"{number}"), size=0) for number in range(40)]
    for turn in (b"a", b"b"):
        for file in files:
            file.write(turn)
    files[0].sync()

    assert count_open(tmp_path) <= 9
    for file in files:
        file.close()
    assert count_open(tmp_path) == 0
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {b"ab"}
