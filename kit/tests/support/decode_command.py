"""The command ``decode`` run in this process, and queue files to run it on."""

import json
from pathlib import Path

import pytest

from wireproof.main import main
from wireproof_spec.decoding import encode
from wireproof_spec.nsq.disk import DISK_RECORD, DiskRecord
from wireproof_spec.nsq.message import Extend, Message

Fields = dict[str, object]


class Decode:
    """The command, run here; what it wrote and how it ended."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.error = ""

    def __call__(self, *words: str | Path, code: int = 0) -> str:
        assert main(["decode", *map(str, words)]) == code
        out, self.error = self._capsys.readouterr()
        return out

    def objects(self, *words: str | Path, code: int = 0) -> list[Fields]:
        lines = self("--json", *words, code=code).splitlines()
        return [json.loads(line) for line in lines]


def record(body: bytes, number: int = 1, header: bytes | None = None) -> bytes:
    extend = None if header is None else Extend(4, header)
    message = Message(1_795_243_659_616_284_849, 0, number, 0, extend, None, None, body)
    return encode(DISK_RECORD, DiskRecord(message, 0 if header is None else 0xA))


def queue_file(directory: Path, *records: bytes, partition: int = 0, number: int = 0) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{directory.name}-{partition}.diskqueue.{number:06d}.dat"
    path.write_bytes(b"".join(records))
    return path
