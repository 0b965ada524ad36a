"""The URL of an embedded reference, from what it says when it is ready; and how long it lives."""

import os
import select
import subprocess
import sys
from contextlib import closing

import pytest

from wireproof_kit.targets.embedded import (
    reference_arguments,
    reference_url,
    start_reference,
)

pytestmark = pytest.mark.process

TCP = {"tcp": "127.0.0.1:1"}
STARTER = """
import sys
from wireproof_kit.targets.embedded import start_reference
print(start_reference(sys.argv[1]).process.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("said", "url"),
    [
        ({"http": "127.0.0.1:2", "data": "/d"}, "nsq://127.0.0.1:1?http=127.0.0.1:2&data=/d"),
        ({"http": None, "data": "/d", "control": None}, "nsq://127.0.0.1:1?data=/d"),
        ({"http": None, "lookupd_http": ["h:1", "h:2"]}, "nsq://127.0.0.1:1?lookupd=h:1,h:2"),
        ({"http": None}, "nsq://127.0.0.1:1"),
    ],
)
def test_what_a_reference_does_not_have_is_not_in_its_url(
    said: dict[str, str | list[str] | None], url: str
) -> None:
    assert reference_url("nsq", {**TCP, **said}) == url


def test_a_reference_may_say_its_url_itself() -> None:
    said = {"http": "127.0.0.1:2", "url": "oms+http://127.0.0.1:2"}
    assert reference_url("oms", said) == "oms+http://127.0.0.1:2"


def test_only_a_reference_that_stores_gets_a_folder() -> None:
    assert "--data" in reference_arguments("iggy", "/d", [])
    assert reference_arguments("oms", "/d", ["--fault", "x"])[-2:] == ["--fault", "x"]
    assert "--data" not in reference_arguments("oms", "/d", [])


@pytest.mark.parametrize("protocol", ["nsq", "iggy", "oms"])
def test_a_reference_ends_with_whoever_started_it_even_when_that_is_killed(protocol: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTER, protocol], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as starter:
        assert starter.stdout is not None
        reference = int(starter.stdout.readline())
        ended = os.pidfd_open(reference)
        starter.kill()
        try:
            assert select.select([ended], [], [])[0], "it goes on"
        finally:
            os.close(ended)


@pytest.mark.parametrize("protocol", ["nsq", "iggy", "oms"])
def test_ctrl_c_at_the_terminal_does_not_reach_a_reference(protocol: str) -> None:
    """A terminal interrupts every process of its session's foreground group."""
    with closing(start_reference(protocol)) as reference:
        assert os.getsid(reference.process.pid) != os.getsid(0)


def test_input_that_cannot_end_later_is_refused() -> None:
    command = (sys.executable, "-m", "wireproof", "serve", "nsq", "--until-input-ends")
    places = ("--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0")
    done = subprocess.run(
        [*command, *places],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert done.stderr == (
        "wireproof serve nsq: --until-input-ends needs a pipe as standard input\n"
    )
