"""Plays the servers of one client, and sends it what a fuzz campaign found.

    python3 THIS_FILE ['COMMAND']

COMMAND starts the client; without it the recorded one does. Only Python and the client are needed.
Exit code: 0 if the client behaves as recorded, 1 if not, 2 if it cannot be tried.
"""

import asyncio
import contextlib
import os
import re
import shlex
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any

CASE: dict[str, Any] = {}
PATIENCE_S, REST_S, LOOK_S, BUSY, MOST_MEMORY = 10.0, 1.0, 0.05, 0.6, 1 << 29
Drive = Callable[[asyncio.subprocess.Process], Coroutine[Any, Any, None]]


class Servers:
    """The servers of one client; ``wrong`` says what it made up."""

    def __init__(self) -> None:
        self.cases = list(CASE["cases"])
        self.wrong = ""
        self.done = asyncio.Event()
        self.tasks: set[asyncio.Task[None]] = set()

    def start(self, doing: Any) -> None:
        """Run something beside."""
        task = asyncio.ensure_future(doing)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def is_held_back(self) -> bool:
        """Return True if the client lives and asks for nothing for a while, as it may."""
        return False


def processor_s(pid: int) -> float:
    """Return the processor time of a process, in seconds."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def see_hoarding(pid: int) -> None:
    """Return when a process takes more memory than it can need."""
    with contextlib.suppress(OSError):
        while True:
            with open(f"/proc/{pid}/statm") as file:
                if int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") > MOST_MEMORY:
                    return
            await asyncio.sleep(LOOK_S)
    await asyncio.Event().wait()


async def watch(servers: Servers, process: asyncio.subprocess.Process) -> str:
    """Return what the client did: the rule that it violated, or nothing."""
    doing = (process.wait(), servers.done.wait(), see_hoarding(process.pid))
    waiting = [asyncio.ensure_future(each) for each in doing]
    await asyncio.wait(waiting, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
    if CASE["violated"] == "spins" and process.returncode is None:
        before = processor_s(process.pid)
        await asyncio.sleep(REST_S)
        return "spins" if processor_s(process.pid) - before > BUSY * REST_S else ""
    hoards = waiting[2].done()
    if not hoards:
        await asyncio.wait(waiting[:1], timeout=REST_S)  # some die a moment later
    for each in waiting:
        each.cancel()
    if process.returncode is not None:
        print(f"the client ended with exit code {process.returncode}")
        return "ended"
    is_silent = not (servers.wrong or servers.done.is_set() or hoards)
    if is_silent and await servers.is_held_back():
        print("the client answers heartbeats and asks for no messages now: it is not stuck")
        return ""
    works = "works" if servers.done.is_set() else "takes too much memory" if hoards else "is stuck"
    print(servers.wrong or f"the client {works}")
    if servers.wrong:
        return "not-given"
    return "" if servers.done.is_set() else "hoards" if hoards else "stuck"


async def try_client(servers: Servers, values: dict[str, str], drive: Drive) -> int:
    """Start the client with these values, and return the exit code."""
    command = sys.argv[1] if len(sys.argv) > 1 else CASE["command"]
    words = [
        re.sub(r"\{([a-z_]+)\}", lambda found: values.get(found[1], found[0]), word)
        for word in shlex.split(command)
    ]
    given = {f"WIREPROOF_{name.upper()}": value for name, value in values.items()}
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, **given},
            start_new_session=True,
        )
    except OSError as error:
        print(f"{command}: cannot be started ({error.strerror})", file=sys.stderr)
        return 2
    servers.start(drive(process))
    try:
        found = await watch(servers, process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return 0 if found == CASE["violated"] else 1
