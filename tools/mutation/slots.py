"""A few tasks at once, each in a forked child of this warm process with its own fork server."""

import contextlib
import faulthandler
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from forked_broker import ForkServer

SWIFT = "/dev/shm"
"""Where brokers keep their data while they are tried, if it is there: nothing has to last."""

T = TypeVar("T")


@dataclass
class _Slot(Generic[T]):
    server: ForkServer
    task: T
    pid: int
    pipe: int
    until: float
    folder: str
    said: bytes = b""


Work = Callable[[ForkServer, T], object]


def spread(
    tasks: Iterable[T], work: "Work[T]", *, tree: Path, slots: int, within_s: float
) -> Iterator[tuple[T, dict[str, object]]]:
    """Do each task in a child; yield what it returned, or ``{"lost": why}``.

    A child that takes longer than ``within_s`` seconds is ended, its broker with it.
    """
    free = [ForkServer.begin(tree) for _ in range(slots)]
    busy: list[_Slot[T]] = []
    waiting = iter(tasks)
    ended = False
    try:
        while busy or not ended:
            while free and not ended:
                try:
                    task = next(waiting)
                except StopIteration:
                    ended = True
                else:
                    busy.append(_begun(free.pop(), task, work, within_s))
            for slot in _finished(busy):
                busy.remove(slot)
                free.append(_freed(slot, tree))
                yield slot.task, _answer(slot)
    finally:
        for slot in busy:
            os.kill(slot.pid, signal.SIGKILL)
            with contextlib.suppress(RuntimeError, OSError):  # its server has ended already
                slot.server.ask(do="stop-all")
            slot.server.end()
            shutil.rmtree(slot.folder, ignore_errors=True)
        for server in free:
            server.end()


def _begun(server: ForkServer, task: T, work: "Work[T]", within_s: float) -> "_Slot[T]":
    reader, writer = os.pipe()
    folder = tempfile.mkdtemp(
        prefix="wireproof-trial-", dir=SWIFT if os.path.isdir(SWIFT) else None
    )
    pid = os.fork()
    if not pid:
        os.close(reader)
        tempfile.tempdir = folder
        _work(server, task, work, writer)
    os.close(writer)
    return _Slot(server, task, pid, reader, time.monotonic() + within_s, folder)


def _work(server: ForkServer, task: T, work: "Work[T]", writer: int) -> None:
    faulthandler.register(signal.SIGUSR2)
    try:
        said = json.dumps(work(server, task))
    except BaseException as error:
        traceback.print_exc(file=sys.stderr)
        said = json.dumps({"lost": f"{type(error).__name__}: {error}"})
    try:
        os.write(writer, said.encode()[:60000])
    finally:
        os._exit(0)


def _finished(busy: "list[_Slot[T]]") -> "list[_Slot[T]]":
    now = time.monotonic()
    left = min((slot.until for slot in busy), default=now) - now
    ready, _, _ = select.select([slot.pipe for slot in busy], [], [], max(left, 0))
    done: list[_Slot[T]] = []
    for slot in busy:
        if slot.pipe in ready:
            data = os.read(slot.pipe, 65536)
            slot.said += data
            if not data:
                done.append(slot)
        elif slot.until <= time.monotonic():
            done.append(slot)
    return done


def _freed(slot: "_Slot[T]", tree: Path) -> ForkServer:
    """End the child and its broker, and remove what they left."""
    os.close(slot.pipe)
    os.kill(slot.pid, signal.SIGKILL)
    os.waitpid(slot.pid, 0)
    server = slot.server
    if server.process.poll() is None:
        server.ask(do="stop-all")
    else:
        server = ForkServer.begin(tree)
    shutil.rmtree(slot.folder, ignore_errors=True)
    return server


def _answer(slot: "_Slot[T]") -> dict[str, object]:
    if not slot.said:
        return {"lost": "it took too long"}
    said: dict[str, object] = json.loads(slot.said)
    return said
