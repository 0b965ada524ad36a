"""What a killed process left behind is removed; what somebody still holds is not."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from wireproof_kit.targets.scratch import PREFIX, scratch

HOLDER = """
import sys
from pathlib import Path
from wireproof_kit.targets.scratch import scratch
held = scratch(sys.argv[1])
(Path(held.name) / "kept").write_bytes(b"data")
print(held.name, flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(parent: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Start a process that makes a folder and waits; it is killed at the end."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(parent)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        try:
            yield process, Path(process.stdout.readline().decode().strip())
        finally:
            process.kill()


def test_a_folder_goes_when_it_is_no_longer_wanted(tmp_path: Path) -> None:
    with scratch(str(tmp_path)) as name:
        assert Path(name).parent == tmp_path
    assert list(tmp_path.iterdir()) == []


@pytest.mark.process
def test_what_the_killed_left_is_removed_and_what_lives_is_not(tmp_path: Path) -> None:
    with holder(tmp_path) as (process, left), holder(tmp_path) as (_, living):
        assert (left / "kept").exists()
        with scratch(str(tmp_path)) as own, scratch(str(tmp_path)) as other:
            assert {*tmp_path.iterdir()} == {left, living, Path(own), Path(other)}
        process.kill()
        process.wait()
        with scratch(str(tmp_path)) as own:
            assert {*tmp_path.iterdir()} == {living, Path(own)}
        assert (living / "kept").read_bytes() == b"data"


def test_what_is_no_such_folder_is_left_alone(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    others = {elsewhere, tmp_path / f"{PREFIX}file", tmp_path / f"{PREFIX}link"}
    (tmp_path / f"{PREFIX}file").write_bytes(b"")
    (tmp_path / f"{PREFIX}link").symlink_to(elsewhere)
    with scratch(str(tmp_path)):
        pass
    assert {*tmp_path.iterdir()} == others


def test_a_folder_that_another_start_removes_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locks: list[int] = []
    lock = fcntl.flock

    def seen_first(descriptor: int, how: int) -> None:
        """Let the first one be locked by somebody else."""
        if not locks:
            locks.append(os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY))
            lock(locks[0], how)
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", seen_first)
    with scratch(str(tmp_path)) as name:
        assert [path.name for path in tmp_path.iterdir()] == [Path(name).name]
        assert os.fstat(locks[0]).st_ino != Path(name).stat().st_ino
    os.close(locks[0])


def test_where_nothing_can_be_locked_a_folder_is_made_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int, how: int) -> None:
        raise OSError("locks are not supported")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with scratch(str(tmp_path)) as name, scratch(str(tmp_path)) as other:
        assert {*tmp_path.iterdir()} == {Path(name), Path(other)}
