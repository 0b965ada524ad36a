"""A run with --restart against a broker that a header length ends, and with commands that fail."""

import os
import signal
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cli_process import wireproof
from ports import find_free_port
from waits import until

from wireproof_kit.bundle.file import read_bundle
from wireproof_kit.errors import RestartFailed
from wireproof_kit.targets.restart import restart_or_raise
from wireproof_spec.record import CaseRecord

pytestmark = pytest.mark.process

KILLER = "nsq/parser/header-beyond-frame/65535"
SELECTION = (KILLER, "nsq/parser/two-pieces", "nsq/parser/truncated-for-long")


@dataclass(frozen=True)
class MortalBroker:
    """A broker in memory, with a script that starts it and returns before it listens."""

    port: int
    folder: Path

    @property
    def script(self) -> Path:
        return self.folder / "restart.sh"

    def accepts(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def run(self, restart: str) -> tuple[int, str, tuple[CaseRecord, ...]]:
        bundle = self.folder / "run.jsonl"
        options = ("--repeat-failed", "2", "--restart", restart, "--bundle", str(bundle))
        url = f"nsq://127.0.0.1:{self.port}"
        done = wireproof("run", url, *SELECTION, *options, cwd=self.folder)
        return done.code, done.err, read_bundle(bundle).cases


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[MortalBroker]:
    ports = [find_free_port() for _ in range(2)]
    found, pids = MortalBroker(ports[0], tmp_path), tmp_path / "pids"
    serve = (
        f"{sys.executable} -m wireproof serve nsq --fault beyond-halts "
        f"--tcp 127.0.0.1:{ports[0]} --http 127.0.0.1:{ports[1]}"
    )
    found.script.write_text(
        f"#!/bin/sh\n{serve} >/dev/null 2>&1 </dev/null &\necho $! >>{pids}\n", "utf-8"
    )
    found.script.chmod(0o700)
    assert restart_or_raise(str(found.script))()
    try:
        until(found.accepts, "listening broker")
        yield found
    finally:
        for pid in pids.read_text("utf-8").split():
            try:
                os.kill(int(pid), signal.SIGTERM)
            except ProcessLookupError:
                continue


def test_only_the_case_that_ends_the_broker_fails(broker: MortalBroker) -> None:
    code, _, cases = broker.run(str(broker.script))

    killers = [record for record in cases if record.case.startswith(KILLER)]
    others = [record for record in cases if record not in killers]
    assert code == 1
    assert {record.observation for record in killers} == {"died"}
    assert {record.verdict for record in killers} == {"fail"}
    assert {record.verdict for record in others} == {"pass"}
    assert len(others) > len(killers)


def test_a_restart_command_that_does_not_exist_ends_the_run(broker: MortalBroker) -> None:
    code, told, cases = broker.run("./nothere.sh")

    assert code == 2
    assert "--restart './nothere.sh': the target died, and the command cannot be started" in told
    assert all(record.verdict == "pass" for record in cases)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("./nothere.sh", "cannot be started"),
        ("false", "ended with exit code 1"),
    ],
)
def test_a_restart_command_that_fails_says_why(command: str, reason: str) -> None:
    with pytest.raises(RestartFailed, match=reason):
        restart_or_raise(command)()
