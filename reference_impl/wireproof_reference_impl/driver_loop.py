"""The driver protocol around an example client: requests on stdin, answers on stdout."""

import asyncio
import contextlib
import json
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

from wireproof_spec.driver.lines import MAX_LINE_BYTES, NAME, VERSION, Fields, LineFault

Say = Callable[[Fields], None]
"""Writes one line."""
Request = Mapping[str, Any]
"""A request whose members have the types of the driver protocol."""
_OF_ALL = frozenset({"id", "op", "version", "settings"})
"""The members of requests to any driver."""


class Unsupported(Exception):
    """Raised for an operation, or a member of a request, that an example client does not know."""


class Program(Protocol):
    """The interface of an example client that carries out the kit's requests."""

    name: str
    operations: tuple[str, ...]
    claims: tuple[str, ...]
    members: frozenset[str]

    async def carry_out(self, id: int, request: Request) -> Fields:
        """Carry out a request of the kit and return the answer, without the request's id.

        Raises:
            Unsupported: the client does not know the operation, or a member of the request.
        """
        ...


class _Requests:
    """The requests of one run; several may be under way."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, line: bytes) -> None:
        """Begin to carry out a request."""
        task = asyncio.get_running_loop().create_task(self._answer(line))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, line: bytes) -> None:
        request: Request = json.loads(line)
        id: int = request["id"]
        try:
            for name in request.keys() - self._program.members - _OF_ALL:
                raise Unsupported(name)
            answer = await self._program.carry_out(id, request)
        except Unsupported as error:
            say({"id": id, "unsupported": str(error)})
        except (LineFault, KeyError, ValueError) as error:
            say({"id": id, "error": {"message": f"a bad request: {error}"}})
        else:
            say({"id": id, **answer})


def say(fields: Fields) -> None:
    """Write a JSON object as a line to standard output."""
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def present(**members: object) -> Fields:
    """Return the named members as a JSON object, without those that are None."""
    return cast(Fields, {name: value for name, value in members.items() if value is not None})


def main(make: Callable[[Say], Program]) -> int:
    """Drive a client that takes no options; one is an error, of which a sentence is written."""
    if found := sys.argv[1:]:
        own = "it takes its settings on standard input (docs/driver-protocol.md)"
        faults = "python -m …drive has faults and variants"
        print(f"no option is known here, found {found[0]!r}: {own}; {faults}", file=sys.stderr)
        return 2
    asyncio.run(drive(make))
    return 0


async def drive(make: Callable[[Say], Program]) -> None:
    """Write the greeting of a driver, then carry out requests until standard input ends."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    program = make(say)
    requests = _Requests(program)
    say(
        {
            "hello": NAME,
            "versions": [VERSION],
            "name": program.name,
            "operations": list(program.operations),
            "claims": list(program.claims),
        }
    )

    def read() -> None:
        """Read in a thread: asyncio cannot wait for a file or /dev/null."""
        with contextlib.suppress(RuntimeError):  # the loop ended first
            while line := sys.stdin.buffer.readline(MAX_LINE_BYTES):
                loop.call_soon_threadsafe(requests.take, line)
            loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=read, daemon=True, name="requests").start()
    await ended.wait()
