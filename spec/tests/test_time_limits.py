"""The lint finds each kind of limit of wall time, and takes nothing else for one."""

from pathlib import Path

import pytest
from tool_modules import load_tool

time_limits = load_tool("tools/time_limits.py")

LIMITS = [
    "subprocess.run(words, timeout=60)",
    "subprocess.run(words, timeout=2 * SPARK_S)",
    "process.wait(10)",
    "process.wait(timeout=DEADLINE)",
    "process.communicate(timeout=60)",
    "assert event.wait(5)",
    "thread.join(0.2)",
    "future.result(WITHIN_S)",
    "events.get(timeout=DEADLINE)",
    "sock.settimeout(20)",
    "socket.create_connection(address, 5)",
    "http.client.HTTPConnection(address, timeout=DEADLINE)",
    "urlopen(url, timeout=2)",
    "select.select([stream], [], [], DEADLINE)",
    "await asyncio.wait_for(answer, 10)",
    "grown.wait_for(enough, DEADLINE)",
    "page.set_default_timeout(120_000)",
    "signal.alarm(MOST_S)",
    "until(is_there, 'file', 20)",
    "until(is_there, 'file', limit_s=SPARK_S)",
    "pytestmark = pytest.mark.timeout(600)",
    "deadline = time.monotonic() + 10",
    "deadline = time.monotonic() + DEADLINE_S",
    "assert time.monotonic() - started < 5",
    "assert 5 > time.perf_counter() - started",
    "assert time.monotonic() - started <= wire.SEND_SECONDS / 2",
    "seconds = time.monotonic() - started\nassert seconds < ENDS_WITHIN_S * load()",
]
NO_LIMITS = [
    "SessionOptions(seed=1, timeout=0.2)",
    "driver.request('send', fields, within=PATIENCE_S)",
    "process.wait()",
    "selector.select(0)",
    "page.set_default_timeout(0)",
    "', '.join(NAMES)",
    "PARTS = ('a', 'b')\nf'{1}|'.join(PARTS)",
    "crowd.join(50, channels=3)",
    "until(is_there, 'file', LONG_S)",
    "changed.wait(POLL_S)",
    "BODY = b'x'\nqueue.wait_for(TOPIC, BODY)",
    "assert watch.seconds() < 5",
    "assert time.process_time() - started < 2",
    "assert time.monotonic() - started >= 0.5",
    "kill_at = time.monotonic() + chance.uniform(0, 6)",
]
HEAD = "import asyncio, subprocess, threading\nfrom waits import LONG_S, POLL_S, until\n"


@pytest.mark.parametrize("line", LIMITS)
def test_a_limit_of_wall_time_is_found(line: str) -> None:
    source = HEAD + line.replace("await ", "")
    assert [number for number, _ in time_limits.find_limits(source)] == [source.count("\n") + 1]


@pytest.mark.parametrize("line", NO_LIMITS)
def test_what_is_no_limit_of_a_test_is_not_found(line: str) -> None:
    assert time_limits.find_limits(HEAD + line) == []


def test_a_clock_of_a_test_may_be_moved_on_by_a_number() -> None:
    assert time_limits.find_limits("world.wait(10)") == []


def test_each_limit_is_printed_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "test_x.py"
    path.write_text(f"{HEAD}process.wait(10)\n")
    assert time_limits.main([str(path)]) == 1
    assert capsys.readouterr().out.startswith(f"{path}:3: the limit of wait()\n1 limits ")
