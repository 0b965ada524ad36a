"""The process named by `--pid`, once the target was started anew: another one, which is said."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from wireproof.options.global_options import OutputStyle
from wireproof.view.fuzzing import UNWATCHED, choose_fuzz_view, since_unwatched
from wireproof_kit.errors import TargetUnreachable
from wireproof_kit.fuzz.campaign.campaign import Campaign
from wireproof_kit.fuzz.campaign.last_words import LastWords
from wireproof_kit.fuzz.campaign.plan import WorkerPlan
from wireproof_kit.fuzz.campaign.progress import SilentListener
from wireproof_kit.fuzz.campaign.target import AddressTarget
from wireproof_kit.fuzz.campaign.workers import Status
from wireproof_kit.fuzz.driver import Choice, FuzzSession, FuzzSessionOptions, Trouble
from wireproof_kit.fuzz.oracle.bystanders import describe_ended
from wireproof_kit.fuzz.oracle.rules import DEAD, NEIGHBOUR
from wireproof_kit.fuzz.triage.anomaly import Anomaly
from wireproof_kit.protocols import read_target
from wireproof_kit.targets.process import find_listener, read_start_time, usage

PLAN = WorkerPlan(Choice(1))
TARGET = read_target("nsq://127.0.0.1:1")


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits until its input ends."""
    waiting = [sys.executable, "-c", "input()"]
    with subprocess.Popen(waiting, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as started:
        yield started
        started.kill()


@pytest.mark.process
def test_a_process_that_ended_was_born_no_more(process: subprocess.Popen[bytes]) -> None:
    before = read_start_time(process.pid)
    assert before is not None
    assert usage(process.pid) is not None
    assert read_start_time(process.pid) == before

    process.kill()
    process.wait()

    assert read_start_time(process.pid) is None
    assert usage(process.pid) is None


@pytest.mark.process
def test_the_process_of_an_address_is_known_while_it_is_that_one(
    process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    fuzz_target = AddressTarget(TARGET, FuzzSessionOptions("t"), process=process.pid)
    assert fuzz_target.pid == process.pid

    monkeypatch.setattr("wireproof_kit.fuzz.campaign.target.read_start_time", lambda pid: 7)
    assert fuzz_target.pid is None, "another process has its number"
    monkeypatch.undo()
    assert fuzz_target.pid == process.pid
    process.kill()
    process.wait()
    assert fuzz_target.pid is None


LISTENS = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print(server.getsockname()[1], flush=True)
input()
"""


@contextmanager
def listening(port: int = 0) -> Iterator[tuple[int, int]]:
    """Let a process listen on a port; return its number and the port."""
    command = [sys.executable, "-c", LISTENS, str(port)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, **pipes) as started:
        assert started.stdout is not None
        yield started.pid, int(started.stdout.readline())
        started.kill()


@pytest.mark.process
def test_the_process_that_took_the_place_of_another_is_watched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "wireproof_kit.fuzz.campaign.target.open_fuzz_session", lambda *_: cast(Any, None)
    )
    with listening() as (first, port):
        target = read_target(f"nsq://127.0.0.1:{port}")
        fuzz_target = AddressTarget(target, FuzzSessionOptions("t"), process=first)
        assert find_listener(port) == fuzz_target.pid == first
    assert find_listener(port) is None
    with listening(port) as (second, _):
        assert fuzz_target.pid is None
        fuzz_target.open()
        assert fuzz_target.pid == second != first


@pytest.mark.process
def test_a_process_that_does_not_listen_itself_has_no_successor(
    process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "wireproof_kit.fuzz.campaign.target.open_fuzz_session", lambda *_: cast(Any, None)
    )
    with listening() as (_, port):
        target = read_target(f"nsq://127.0.0.1:{port}")
        fuzz_target = AddressTarget(target, FuzzSessionOptions("t"), process=process.pid)
        process.kill()
        process.wait()
        fuzz_target.open()
        assert fuzz_target.pid is None


def test_without_a_number_there_is_no_process() -> None:
    assert AddressTarget(TARGET, FuzzSessionOptions("t")).pid is None


@dataclass
class Reviving:
    """A target whose process is another one each time that it is opened."""

    pids: list[int | None]
    can_restart: bool = True
    troubles: list[Trouble | None] = field(default_factory=list[Trouble | None])
    """What the health checks of its sessions find, in order."""
    may_restart: bool = False
    last_words: LastWords = lambda: ""
    pid: int | None = field(default=None, init=False)

    def leave_alive(self) -> None:
        """Do nothing."""

    def open(self) -> FuzzSession:
        self.pid = self.pids.pop(0)
        told: dict[str, Any] = dict.fromkeys(
            ("oracle", "health", "names", "fingerprint"),
            SimpleNamespace(close=lambda: None, check=lambda: self.troubles.pop(0)),
        )
        return SimpleNamespace(
            **{**told, "names": {}, "fingerprint": {}},
            patience_s=1.0,
            generation=lambda choice: None,
            close=lambda leave: None,
        )

    def revive(self, *, stuck: bool = False) -> bool:
        return True

    def restart(self) -> bool:
        return True


@dataclass
class Ending(Reviving):
    """A target that accepts connections while it ends, and serves nobody until it is restarted."""

    asked: list[bool] = field(default_factory=list[bool], init=False)

    def open(self) -> FuzzSession:
        if self.asked and not self.asked[-1]:
            raise TargetUnreachable("it ended")
        return super().open()

    def revive(self, *, stuck: bool = False) -> bool:
        self.asked.append(stuck)
        return True


@pytest.mark.parametrize("can_restart", [True, False])
def test_a_target_that_only_seemed_to_be_back_is_restarted(can_restart: bool) -> None:
    target = Ending([None, None], can_restart=can_restart)
    campaign = Campaign(plan=PLAN, fuzz_target=target, listener=SilentListener())
    campaign.open()
    dead = Anomaly(Trouble(DEAD, "it died"), ())

    assert campaign.heal([dead]) == can_restart
    assert target.asked == [False, True][: 1 + can_restart]
    assert campaign.died != can_restart


def opened(*pids: int | None) -> float | None:
    """Open a target so often; return when its process was lost."""
    campaign = Campaign(plan=PLAN, fuzz_target=Reviving(list(pids)), listener=SilentListener())
    for _ in pids:
        campaign.open()
    return campaign.unwatched_s


ENDED = Trouble(NEIGHBOUR, "its connection was ended")


@pytest.mark.parametrize(
    ("troubles", "gone"),
    [
        ([None], ""),
        ([ENDED, None], ""),
        ([ENDED, ENDED], f"it does not serve new clients of the kit: {ENDED.words}"),
    ],
)
def test_a_target_that_serves_new_clients_is_not_called_dead(
    troubles: list[Trouble | None], gone: str
) -> None:
    """Without --restart nothing starts a target again of which a check found it ill twice."""
    target = Reviving([None, None], can_restart=False, troubles=troubles)
    campaign = Campaign(plan=PLAN, fuzz_target=target, listener=SilentListener())
    campaign.open()

    assert campaign.heal([Anomaly(ENDED, ())]) is not bool(gone)
    assert campaign.gone == gone


def test_the_end_of_a_connection_is_told_with_what_came_before() -> None:
    client: Any = SimpleNamespace(ended="reset", opened_s=0.0, last=b"OK")

    assert "of the subscriber was ended (reset)" in describe_ended("the subscriber", client)
    assert describe_ended("the subscriber", client).endswith("b'OK' came last on it")


def test_a_campaign_knows_when_it_lost_sight_of_the_process() -> None:
    assert opened(11, None) is not None
    assert opened(11, None, None) is not None
    assert opened(None, None) is None, "nobody asked to watch it"
    assert opened(11, 12) is None, "the kit started both"


def test_the_first_worker_that_lost_it_counts() -> None:
    told = [Status(0), Status(1, unwatched_s=7.5), Status(2, unwatched_s=3.25)]

    assert since_unwatched(told) == 3.25
    assert since_unwatched(told[:1]) is None


@pytest.mark.parametrize("quiet", [True, False])
def test_that_is_said_once(quiet: bool, capsys: pytest.CaptureFixture[str]) -> None:
    view = choose_fuzz_view(OutputStyle(quiet=quiet), PLAN)
    view.went_on([Status(0)], [])
    assert "--pid" not in capsys.readouterr().err

    for _ in range(3):
        view.went_on([Status(0, unwatched_s=3.25)], [])

    assert capsys.readouterr().err.count(UNWATCHED.format(3.25)) == int(not quiet)
