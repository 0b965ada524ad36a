"""A driver is greeted, asked, told apart from what is none, and ended with all it started."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from contextlib import closing
from pathlib import Path

import pytest
from waits import LONG_S, until

from wireproof_kit.drivers.child import end_all, start
from wireproof_kit.drivers.driver import Driver
from wireproof_kit.errors import TargetSilent, TargetUnreachable, UsageFault
from wireproof_spec.driver.lines import Failure, Result, Unsupported

pytestmark = pytest.mark.process

GREETING = '{"hello": "wireproof-driver", "versions": [1], "name": "toy", "operations": ["add"]}'
DRIVER = f"""
import json, sys

def say(**fields):
    print(json.dumps(fields), flush=True)

print('{GREETING}', flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if asked["op"] in ("open", "close"):
        say(id=asked["id"], ok={{}})
    elif asked["op"] == "add":
        say(event="working", of=asked["id"])
        say(id=asked["id"], ok={{"sum": str(int(asked["a"]) + int(asked["b"]))}})
    elif asked["op"] == "fail":
        say(id=asked["id"], error={{"message": "no way", "code": "E_NO"}})
    else:
        say(id=asked["id"], unsupported=asked["op"])
"""


def write(folder: Path, text: str) -> list[str]:
    program = folder / "driver.py"
    program.write_text(textwrap.dedent(text))
    return [sys.executable, str(program)]


def test_a_request_is_answered_in_the_words_of_the_driver(tmp_path: Path) -> None:
    driver = Driver.start(write(tmp_path, DRIVER))
    try:
        assert driver.hello.name == "toy"
        assert driver.request("add", {"a": str(2**63), "b": "1"}) == Result(
            2, {"sum": "9223372036854775809"}
        )
        event = driver.next_event(of=2, within=1)
        assert event is not None
        assert event.name == "working"
        assert driver.request("fail") == Failure(3, "no way", "E_NO")
        assert driver.request("fly") == Unsupported(4, "fly")
        assert driver.is_alive()
    finally:
        driver.close()
    assert not driver.is_alive()


def test_answers_come_in_any_order(tmp_path: Path) -> None:
    text = f"""
    import json, sys
    print('{GREETING}', flush=True)
    asked = [json.loads(sys.stdin.readline())["id"]]
    print(json.dumps({{"id": asked[0], "ok": {{}}}}), flush=True)
    asked = [json.loads(sys.stdin.readline())["id"] for _ in range(2)]
    for number in reversed(asked):
        print(json.dumps({{"id": number, "ok": {{"was": number}}}}), flush=True)
    sys.stdin.read()
    """
    driver = Driver.start(write(tmp_path, text))
    try:
        first, second = driver.send("add"), driver.send("add")
        assert driver.answer(first, "add") == Result(first, {"was": first})
        assert driver.answer(second, "add") == Result(second, {"was": second})
    finally:
        driver.close(within=0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "print('ready', flush=True)\ninput()",
            "found a line that is no JSON",
        ),
        ("print('{}', flush=True)\ninput()", "expected hello, event, or id"),
        (f"print('{GREETING}'.replace('[1]', '[7]'), flush=True)\ninput()", "speaks versions 7"),
        (f"print('{GREETING}'.replace('[1]', '7'), flush=True)\ninput()", "hello/versions"),
        ('print(\'{"id": 1, "ok": {}}\', flush=True)\ninput()', "as the first line"),
        ("import sys; print('no jar', file=sys.stderr); sys.exit(3)", "exit code 3; it wrote: no"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "ended by SIGSEGV"),
        (
            f"print('{GREETING}', flush=True)\nprint('[' * 5000, flush=True)\ninput()",
            "at most 300",
        ),
        ("import sys; sys.stdout.write('x' * (5 << 20)); input()", "bytes in a line"),
    ],
)
def test_what_is_no_driver_is_told_in_one_sentence(
    tmp_path: Path, text: str, expected: str
) -> None:
    with pytest.raises(TargetUnreachable, match=expected.replace("(", r"\(")) as told:
        Driver.start(write(tmp_path, text), within=20)
    assert "\n" not in str(told.value)


def test_a_driver_that_floods_is_given_up(tmp_path: Path) -> None:
    text = f"print('{GREETING}')\nwhile True: print('{{\"event\": \"noise\"}}')"
    with pytest.raises(TargetUnreachable, match="events that nobody asked for"):
        Driver.start(write(tmp_path, text), within=20)


def test_an_answer_behind_a_broken_line_does_not_count(tmp_path: Path) -> None:
    """Otherwise it depends on the processor whether the fault or the answer is seen first."""
    text = f"""
    import array, fcntl, json, sys, termios

    def say_and_be_read(line):
        print(line, flush=True)
        left = array.array("i", [1])
        while left[0]:
            fcntl.ioctl(1, termios.FIONREAD, left)

    print('{GREETING}', flush=True)
    print(json.dumps({{"id": json.loads(sys.stdin.readline())["id"], "ok": {{}}}}), flush=True)
    number = json.loads(sys.stdin.readline())["id"]
    say_and_be_read("no JSON")
    say_and_be_read(json.dumps({{"id": number, "ok": {{}}}}))
    print("written", file=sys.stderr, flush=True)
    sys.stdin.read()
    """
    with closing(Driver.start(write(tmp_path, text), within=20)) as driver:
        number = driver.send("add")
        stderr = driver.child.kept["stderr"]
        until(lambda: b"written" in stderr.data(), "last word of the program")
        with pytest.raises(TargetUnreachable, match="no JSON"):
            driver.answer(number, "add")


def test_a_silent_program_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    with pytest.raises(TargetSilent, match=r"no greeting within 0\.5 s; it still runs"):
        Driver.start(write(tmp_path, "input()"), within=0.5)


def test_an_unstartable_command_is_the_users_fault() -> None:
    with pytest.raises(UsageFault, match="no-such-program"):
        Driver.start(["./no-such-program"])


def test_what_the_driver_started_ends_with_it(tmp_path: Path) -> None:
    text = f"""
    import subprocess, sys
    subprocess.Popen([sys.executable, "-c",
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True);"
        "signal.pause()", {str(tmp_path)!r}])
    print('{GREETING}', flush=True)
    print('{{"id": 1, "ok": {{}}}}', flush=True)
    sys.stdin.read()
    """
    with (
        pytest.raises(TargetUnreachable),  # the grandchild's line is none of the protocol
        closing(Driver.start(write(tmp_path, text), within=20)) as driver,
    ):
        driver.next_event(within=20)
    until(lambda: not _group_members(tmp_path), "end of what was started")


def test_what_a_program_started_ends_with_it_though_the_program_has_ended(tmp_path: Path) -> None:
    text = f"""
    import subprocess, sys
    subprocess.Popen([sys.executable, "-c",
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True);"
        "signal.pause()", {str(tmp_path)!r}])
    """
    running = threading.Event()
    child = start(write(tmp_path, text), sink=lambda _, data: running.set() if data else None)
    running.wait()
    child.wait(LONG_S)
    assert child.exit_code() == 0

    child.end()

    until(lambda: not _group_members(tmp_path), "end of what was started")


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system cannot hold a process")
def test_what_left_the_group_ends_with_the_program_and_nothing_else(tmp_path: Path) -> None:
    sleeper = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "os.write(1, b'1')\n"
        "signal.pause()"
    )
    text = f"""
    import subprocess, sys
    words = [sys.executable, "-c", {sleeper!r}, {str(tmp_path)!r}]
    subprocess.Popen(words, start_new_session=True)
    """
    running = threading.Event()
    command = [sys.executable, "-c", sleeper, f"{tmp_path} of somebody else"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.read(1) == b"1"
        child = start(write(tmp_path, text), sink=lambda _, data: running.set() if data else None)
        running.wait()
        child.wait(LONG_S)
        assert len(_group_members(tmp_path)) == 2

        child.end()

        until(lambda: len(_group_members(tmp_path)) == 1, "end of what left the group")
        assert other.poll() is None
        other.kill()


def test_the_end_of_a_program_ends_streams_that_another_one_keeps(tmp_path: Path) -> None:
    """Whoever waits for the end of the output would wait as long as the other program runs."""
    text = """
    import subprocess, sys
    keeps = [sys.executable, "-c", "import signal; signal.pause()"]
    other = subprocess.Popen(keeps, start_new_session=True, env={})
    print(other.pid, end="", flush=True)
    other.wait()
    """
    told: list[bytes] = []
    written = threading.Event()

    def tell(_: str, data: bytes) -> None:
        told.append(data)
        written.set()

    child = start(write(tmp_path, text), sink=tell)
    written.wait()
    other = os.pidfd_open(int(told[0]))

    try:
        child.end()

        assert told[1:] == [b"", b""]
    finally:
        signal.pidfd_send_signal(other, signal.SIGKILL)
        os.close(other)


def test_all_programs_can_be_ended_while_another_one_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_thread = threading.Thread.start

    def end_first(thread: threading.Thread) -> None:
        if thread.name == "child-output":
            end_all()
        start_thread(thread)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", end_first)
        child = start(write(tmp_path, "input()"), sink=lambda _, data: None)
    assert child.exit_code() is None

    end_all()

    assert child.exit_code() is not None
    until(lambda: not _group_members(tmp_path), "end of what was started")


def _group_members(folder: Path) -> list[str]:
    """Return the command lines of running processes that name the folder."""
    return [
        line
        for process in Path("/proc").glob("[0-9]*")
        if str(folder) in (line := _command_line(process))
    ]


def _command_line(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""
