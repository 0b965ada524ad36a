"""Locks of a history: where there is one, and how a wait for it ends."""

from pathlib import Path
from unittest.mock import Mock

import pytest

from wireproof_reports.pipeline import lock
from wireproof_reports.pipeline.lock import locked, writer_lock


def test_a_wait_for_the_lock_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stop(Exception): ...

    def stop(_seconds: float) -> None:
        raise Stop

    channel = Mock()
    monkeypatch.setattr(lock, "_open", lambda *_: channel)
    monkeypatch.setattr(lock, "_try_lock", lambda *_: False)

    with pytest.raises(Stop), locked(Mock(), str(tmp_path), 600, pause=stop):
        raise AssertionError

    channel.close.assert_called_once_with()


@pytest.mark.parametrize(
    ("history", "store", "expected"),
    [
        ("h", "", True),
        ("s3a://bucket/h", "", True),
        ("s3a://bucket/h", "io.delta.storage.S3SingleDriverLogStore", True),
        ("s3a://bucket/h", "io.delta.storage.S3DynamoDBLogStore", False),
        ("hdfs://host/h", "", False),
        ("abfss://box@host/h", "", False),
        ("gs://bucket/h", "", False),
    ],
)
def test_only_where_a_store_refuses_no_second_commit_there_is_a_lock(
    monkeypatch: pytest.MonkeyPatch, history: str, store: str, *, expected: bool
) -> None:
    taken: list[str] = []
    monkeypatch.setattr(lock, "locked", lambda _spark, name, *_, **__: taken.append(name))
    spark = Mock()
    spark.conf.get = lambda _name, _default: store

    writer_lock(spark, history, 0)

    assert taken == ([history] if expected else [])
