"""A client and all that it has started end with the run, on Ctrl-C too, and with its case."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_process import wireproof
from waits import until

from wireproof_kit.clients.events import Answered, BadLine, Ended, Expired, Flooded, Wrote
from wireproof_kit.nsq.clients.client import start_client
from wireproof_kit.nsq.clients.script import Script
from wireproof_kit.wire.transcript import Transcript

pytestmark = pytest.mark.process

TOY = Path(__file__).parents[1] / "support" / "toy_nsq_client.py"
STUBBORN = """
import signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.run([sys.executable, *sys.argv[1:]])
"""


def running(mark: str) -> list[int]:
    """Return the processes whose command line holds a mark."""
    return list(_running(mark))


def _running(mark: str) -> Iterator[int]:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if mark.encode() in words and int(process.name) != os.getpid():
            yield int(process.name)


def test_ctrl_c_ends_every_client_with_its_group(tmp_path: Path) -> None:
    wrapper = tmp_path / "stubborn.py"
    wrapper.write_text(STUBBORN)
    mark = f"mark-{tmp_path.name}-{os.getpid()}"
    command = f"{sys.executable} {wrapper} {TOY} {mark}"
    words = [sys.executable, "-m", "wireproof", "client", "--exec", command]
    run = subprocess.Popen(
        [*words, "--bundle", str(tmp_path / "run.jsonl")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    until(lambda: len(running(mark)) > 2, "running client")
    run.send_signal(signal.SIGINT)
    assert run.wait() == 130
    until(lambda: not running(mark), "end of all clients")


LEAVING = """
import os, subprocess, sys
mark, *rest = sys.argv[1:]
subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()", mark],
                 env={}, start_new_session=True, stdout=subprocess.DEVNULL,
                 stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
if rest:
    os.execv(sys.executable, [sys.executable, *rest])
"""


@pytest.mark.parametrize("rest", [[str(TOY)], []], ids=["stays", "ends"])
@pytest.mark.parametrize(
    "more", [["client"], ["fuzz", "--cases", "4", "-n", "2"]], ids=["client", "fuzz"]
)
def test_what_leaves_the_session_and_forgets_its_environment_is_ended_too(
    more: list[str], rest: list[str], tmp_path: Path
) -> None:
    wrapper = tmp_path / "leaving.py"
    wrapper.write_text(LEAVING)
    mark = f"mark-{tmp_path.name}-{os.getpid()}"
    command = " ".join([sys.executable, str(wrapper), mark, *rest])
    ids = ["nsq/client-connection/handshake"] if more == ["client"] else []

    wireproof(*more, "--exec", command, *ids, "--bundle", "b.jsonl", cwd=tmp_path)

    assert running(mark) == []


def play(command: str, within_s: float = 300.0) -> list[object]:
    """Play a script that waits for nothing; return what happened, until it ended or expired."""
    client = start_client(
        command,
        {"topic": "wp_t", "channel": "wp_c"},
        "consumer",
        start_s=within_s,
        transcript=Transcript(),
    )
    story = client.play(Script("consumer"), lambda story: False, within=within_s)
    return list(story.events)


def test_what_a_client_writes_is_kept_in_bounds(tmp_path: Path) -> None:
    program = tmp_path / "talker.py"
    program.write_text("import sys\nfor _ in range(3000): sys.stderr.write('x' * 999 + '\\n')\n")

    events = play(f"{sys.executable} {program}")

    written = sum(len(event.data) for event in events if isinstance(event, Wrote))
    assert 32 << 10 < written <= 64 << 10
    assert [event.code for event in events if isinstance(event, Ended)] == [0]


def test_a_client_that_floods_a_node_is_ended(tmp_path: Path) -> None:
    program = tmp_path / "flood.py"
    program.write_text(
        "import os, socket\nhost, port = os.environ['WIREPROOF_NSQD'].split(':')\n"
        "s = socket.create_connection((host, int(port)))\ns.sendall(b'  V2')\n"
        "while True: s.sendall(b'NOP\\n' * 16384)\n"
    )

    events = play(f"{sys.executable} {program}")

    assert any(isinstance(event, Flooded) for event in events)
    assert not any(isinstance(event, Expired) for event in events)


def test_a_client_that_says_nothing_expires(tmp_path: Path) -> None:
    assert any(isinstance(event, Expired) for event in play("sleep 1000", within_s=0.5))


@pytest.mark.parametrize("answer", ['{"id": 1, "unsupported": "open"}', "no JSON"])
def test_a_case_that_the_driver_cannot_do_ends_at_once(tmp_path: Path, answer: str) -> None:
    hello = json.dumps(
        {
            "hello": "wireproof-driver",
            "versions": [1],
            "name": "toy",
            "version": "1",
            "operations": ["consume"],
            "claims": [],
        }
    )
    program = tmp_path / "driver.py"
    program.write_text(
        f"import sys\nprint({hello!r}, flush=True)\nsys.stdin.readline()\n"
        f"print({answer!r}, flush=True)\nsys.stdin.read()\n"
    )

    events = play(f"{sys.executable} {program}")

    assert any(isinstance(event, Answered | BadLine) for event in events)
    assert not any(isinstance(event, Expired) for event in events)
