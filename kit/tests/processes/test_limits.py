"""The limits of the kit's process, and what happens when something is used up."""

import errno
import os
import resource
import socket
import subprocess
import sys
import threading

import pytest
from fake_session import FakeSession
from test_engine import case, engine, scripted

from wireproof_kit.drivers.processor import HELPERS
from wireproof_kit.errors import Exhausted, TargetUnreachable, UsageFault, refuse_exhausted
from wireproof_kit.observation import Observation, observed
from wireproof_kit.processes import limits
from wireproof_kit.processes.limits import describe_few_files, fit_cases, has_exhausted_helper
from wireproof_kit.targets.restart import restart_with
from wireproof_kit.wire.connection import accepts, connect_socket

RAISE = """
import resource
from wireproof_kit.processes.limits import raise_limits
raise_limits()
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.process
def test_the_soft_limit_is_raised_as_far_as_it_may_be() -> None:
    limited = ("sh", "-c", 'ulimit -Sn 100; ulimit -Hn 300; exec "$@"', "sh")
    run = subprocess.run([*limited, sys.executable, "-c", RAISE], capture_output=True, check=True)
    assert run.stdout.split() == [b"300", b"300"]


@pytest.mark.parametrize(
    ("files", "cases"), [(20_000, 16), (576, 16), (512, 14), (256, 6), (96, 1)]
)
def test_fewer_cases_wait_at_once_with_fewer_files(
    files: int, cases: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "files_limit", lambda: files)
    assert fit_cases(16) == cases
    assert bool(describe_few_files(16)) is (cases < 16)


def test_a_run_is_refused_when_not_one_case_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "files_limit", lambda: 95)
    with pytest.raises(UsageFault, match="95 open files, and a run needs at least 96"):
        describe_few_files(16)


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EMFILE, "too many open files"),
        OSError(errno.ENFILE, "file table overflow"),
        OSError(errno.ENOBUFS, "no buffer space"),
        BlockingIOError(errno.EAGAIN, "resource temporarily unavailable"),
        MemoryError(),
        RuntimeError("can't start new thread"),
    ],
    ids=repr,
)
def test_what_the_kit_has_used_up_decides_nothing_of_the_target(error: Exception) -> None:
    def meet() -> Observation:
        raise error

    record = engine(repeats=2).run(case(meet))
    assert (record.verdict, record.observation) == ("inconclusive", "inconclusive:exhausted")


def test_a_case_that_met_a_limit_is_run_again() -> None:
    found = iter([OSError(errno.EMFILE, "too many open files")])

    def meet() -> Observation:
        for error in found:
            raise error
        return observed("ok,open")

    assert engine().run(case(meet)).verdict == "pass"


def test_a_target_that_the_kit_has_no_file_to_look_at_has_not_died() -> None:
    class Unseen(FakeSession):
        def is_alive(self) -> bool:
            raise Exhausted("the kit has used up its open files")

    record = engine(Unseen(), repeats=1).run(case(scripted("closed")))
    assert (record.verdict, record.observation) == ("inconclusive", "inconclusive:exhausted")


def test_no_thread_for_a_case_is_no_observation(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    kit = engine(repeats=1)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    record = kit.run(case(scripted("ok,open")))
    assert (record.verdict, record.observation) == ("inconclusive", "inconclusive:exhausted")


@pytest.mark.parametrize(
    ("host", "is_own"), [("127.0.0.1", True), ("::1", False), ("localhost", False)]
)
def test_no_port_is_left_only_for_an_address_that_can_be_reached(
    host: str, *, is_own: bool
) -> None:
    error = OSError(errno.EADDRNOTAVAIL, "cannot assign requested address")
    if is_own:
        with pytest.raises(Exhausted, match="local ports"):
            refuse_exhausted(error, host)
    else:
        refuse_exhausted(error, host)


def test_a_connection_for_which_no_file_is_left_is_no_unreachable_target(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> socket.socket:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(socket, "create_connection", refuse)
    with pytest.raises(Exhausted):
        connect_socket(("127.0.0.1", 1), "nsq")
    with pytest.raises(Exhausted):
        accepts(("127.0.0.1", 1))


def test_a_refused_connection_is_an_unreachable_target() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        with pytest.raises(TargetUnreachable):
            connect_socket(bound.getsockname(), "nsq")


@pytest.mark.process
def test_a_restart_waits_until_a_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    started, run = iter([False]), subprocess.run

    def start(*words: object, **options: object) -> object:
        if next(started, True):
            return run(*words, **options)  # type: ignore[call-overload] # as it was called
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(subprocess, "run", start)
    assert restart_with("true")()


@pytest.mark.process
def test_a_reference_without_a_file_left_is_noticed() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as helper:
        HELPERS.add(helper.pid)
        try:
            resource.prlimit(helper.pid, resource.RLIMIT_NOFILE, (1000, 1000))
            assert not has_exhausted_helper()
            resource.prlimit(helper.pid, resource.RLIMIT_NOFILE, (5, 5))
            assert has_exhausted_helper()
        finally:
            HELPERS.discard(helper.pid)
