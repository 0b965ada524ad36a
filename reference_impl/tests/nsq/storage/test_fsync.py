"""Answers that wait for the disk: one wait for all that came at a time, none where it fails."""

import subprocess
import sys
from pathlib import Path

import pytest
import test_serve
from nsq_bench import pub
from test_serve import answer, running

pytestmark = pytest.mark.process

COUNTING = """
import os, sys
calls, real = [], os.fdatasync
def counted(number):
    calls.append(number)
    real(number)
    sys.stderr.write("s")
    sys.stderr.flush()
os.fdatasync = counted
"""
FAILING = """
import os
def failing(number):
    raise OSError(5, "the disk has gone")
os.fdatasync = failing
"""


def serving_with(prelude: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_serve, "COMMAND", prelude + test_serve.COMMAND)


def test_many_answers_wait_for_the_disk_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving_with(COUNTING, monkeypatch)
    with running("--data", str(tmp_path), "--fsync", "always") as broker:
        sock = broker.connect()
        assert answer(sock, b"INTERNAL_CREATE_TOPIC t 0\n") == b"OK"
        count = 200
        sock.sendall(pub("t", b"x") * count)
        due = len(b"\0\0\0\6\0\0\0\0OK") * count
        while due:
            due -= len(sock.recv(due))
        broker.process.kill()
        assert broker.process.stderr is not None
        waits = len(broker.process.stderr.read())

    assert 1 <= waits < count / 4


@pytest.mark.parametrize("policy", ["always", "interval"])
def test_a_disk_that_fails_ends_the_broker_without_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    with running("--data", str(tmp_path)) as broker:
        assert answer(broker.connect(), b"INTERNAL_CREATE_TOPIC t 0\n") == b"OK"
    serving_with(FAILING, monkeypatch)
    with running("--data", str(tmp_path), "--fsync", policy) as broker:
        sock = broker.connect()
        sock.sendall(pub("t", b"x"))
        said = b""
        while data := sock.recv(100):
            said += data
        assert broker.process.wait() == 2
        assert broker.process.stderr is not None
        complaint = broker.process.stderr.read().decode()

    assert said == (b"" if policy == "always" else b"\0\0\0\6\0\0\0\0OK")
    assert complaint.count("\n") == 1
    assert "the disk has gone" in complaint


def test_the_help_says_what_each_choice_promises() -> None:
    done = subprocess.run(
        [sys.executable, "-c", test_serve.COMMAND, "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    words = " ".join(done.stdout.split())
    assert "at most those of the last second under `interval`" in words
