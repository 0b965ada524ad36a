"""Who writes a history, and whether that process still lives."""

import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from wireproof_reports.pipeline import owner
from wireproof_reports.pipeline.owner import in_words, is_alive, own_name


def test_this_process_lives_under_its_name() -> None:
    assert is_alive(own_name()) is True
    assert in_words(own_name()).startswith(f"process {os.getpid()} on ")


def test_another_process_with_the_same_number_is_another() -> None:
    name = own_name().rpartition(" ")[0]

    assert is_alive(f"{name} 1") is False


def test_a_process_of_before_the_machine_was_started_again_has_ended() -> None:
    host, _, rest = own_name().partition(" ")
    process = rest.partition(" ")[2]

    assert is_alive(f"{host} 00000000-another-boot {process}") is False


def test_of_a_process_in_another_container_nothing_is_known() -> None:
    host, started, process = own_name().split(" ", 2)
    boot, _, namespace = started.partition("@")

    assert namespace
    assert is_alive(f"{host} {boot}@pid:[7] {process}") is None
    assert is_alive(f"{host} {boot} {process}") is True  # as earlier versions called it


def test_who_waits_for_the_lock_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stop(Exception): ...

    def stop(_seconds: float) -> None:
        raise Stop

    channel = Mock()
    monkeypatch.setattr(owner, "_open", lambda *_: channel)
    monkeypatch.setattr(owner, "_try_lock", lambda *_: False)

    with pytest.raises(Stop), owner.only_writer(Mock(), str(tmp_path), 600, pause=stop):
        raise AssertionError

    channel.close.assert_called_once_with()


@pytest.mark.process
def test_without_proc_a_process_is_known_by_its_number_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A killed one counted as alive, and nobody said how to undo its batch."""
    monkeypatch.setattr(owner, "_boot", lambda: "-")
    monkeypatch.setattr(owner, "_namespace", str)
    monkeypatch.setattr(owner, "_start", lambda _pid: "")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        monkeypatch.setattr(os, "getpid", lambda: other.pid)
        name = own_name()
        before = is_alive(name)
        other.communicate(b"\n")

        assert before is None
        assert is_alive(name) is False


@pytest.mark.process
def test_a_process_that_has_ended_lives_no_more() -> None:
    code = "from wireproof_reports.pipeline.owner import own_name; print(own_name())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert is_alive(done.stdout.strip()) is False


@pytest.mark.parametrize("name", ["elsewhere boot 7 7", "", "odd"])
def test_of_another_machine_nothing_is_known(name: str) -> None:
    assert is_alive(name) is None
