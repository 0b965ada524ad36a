"""The driver protocol around the example client: requests on stdin, answers and events on stdout.

`wireproof client --exec 'python -m wireproof_reference_impl.nsq.client'` judges the client so.
"""

import asyncio
import contextlib
import json
import sys
import threading
from collections.abc import Callable, Mapping
from random import Random
from typing import cast

from wireproof_reference_impl.nsq.client.core.commands import Publish
from wireproof_reference_impl.nsq.client.core.effects import Failure, Receipt
from wireproof_reference_impl.nsq.client.core.message import Message
from wireproof_reference_impl.nsq.client.core.settings import Settings, Subscribing
from wireproof_reference_impl.nsq.client.shell import Delivery, Shell
from wireproof_spec.driver.lines import (
    CLOSE,
    MAX_LINE_BYTES,
    NAME,
    OPEN,
    VERSION,
    Fields,
    LineFault,
    from_base64,
    in_base64,
)

PRODUCE, CONSUME = "produce", "consume"
Say = Callable[[Fields], None]


class Unsupported(Exception):
    """An operation or a member of a request that is unknown here."""


class Driver:
    """The client that the kit talks to."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._shell: Shell | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def greet(self) -> None:
        """Write the first line."""
        self._say(
            {
                "hello": NAME,
                "versions": [VERSION],
                "name": "wireproof example client",
                "operations": [PRODUCE, CONSUME],
                "claims": ["partition", "key", "order", "ext", "trace"],
            }
        )

    def take(self, line: bytes) -> None:
        """Begin to carry out a request; others may be under way."""
        task = asyncio.get_running_loop().create_task(self._answer(line))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, line: bytes) -> None:
        request = cast(dict[str, object], json.loads(line))
        id = cast(int, request["id"])
        try:
            answer = await self._carry_out(id, request)
        except Unsupported as error:
            self._say({"id": id, "unsupported": str(error)})
        except (LineFault, KeyError, ValueError) as error:
            self._say({"id": id, "error": {"message": f"a bad request: {error}"}})
        else:
            self._say({"id": id, **answer})

    async def _carry_out(self, id: int, request: Mapping[str, object]) -> Fields:
        op = cast(str, request["op"])
        if op == OPEN:
            settings = _settings(cast(dict[str, object], request["settings"]))
            self._shell = Shell(settings, Random())
            return {"ok": {}}
        if self._shell is None or op not in (PRODUCE, CONSUME, CLOSE):
            raise Unsupported(op)
        if op == PRODUCE:
            return _outcome(
                await self._shell.publish(cast(str, request["topic"]), _publish(request))
            )
        if op == CONSUME:
            self._consume(self._shell, id, request)
        else:
            await self._shell.close()
        return {"ok": {}}

    def _consume(self, shell: Shell, id: int, request: Mapping[str, object]) -> None:
        loop = asyncio.get_running_loop()
        how = cast(str, request["handler"])
        hold_s = cast(int, request.get("hold_ms", 0)) / 1000

        def handle(delivery: Delivery) -> None:
            self._say({"event": "message", "of": id, **_told(delivery.message)})
            if how == "hold":
                loop.call_later(hold_s, delivery.finish)
                return
            if how == "touch":
                delivery.touch()
            delivery.fail() if how == "fail" else delivery.finish()

        def tell(failure: Failure) -> None:
            self._say({"event": "error", "of": id, "message": failure.text, "code": failure.code})

        shell.consume(_subscribing(request), handle, tell)


def _settings(told: Mapping[str, object]) -> Settings:
    defaults = Settings(())
    return Settings(
        lookupd=tuple(cast(list[str], told["lookupd"])),
        lookup_interval_s=_seconds(told, "lookup_interval_ms", defaults.lookup_interval_s),
        publish_timeout_s=_seconds(told, "publish_timeout_ms", defaults.publish_timeout_s),
        heartbeat_interval_ms=cast(
            int, told.get("heartbeat_interval_ms", defaults.heartbeat_interval_ms)
        ),
    )


def _seconds(told: Mapping[str, object], name: str, default: float) -> float:
    value = told.get(name)
    return cast(int, value) / 1000 if value is not None else default


def _publish(request: Mapping[str, object]) -> Publish:
    key, trace_id = request.get("key"), request.get("trace_id")
    return Publish(
        body=from_base64(cast(str, request["body"])),
        key=None if key is None else cast(str, key).encode(),
        trace_id=None if trace_id is None else int(cast(str, trace_id)),
        header=cast(dict[str, str] | None, request.get("ext")),
        tag=cast(str, request.get("tag", "")),
    )


def _outcome(outcome: Receipt | Failure) -> Fields:
    if isinstance(outcome, Failure):
        return {"error": {"message": outcome.text, "code": outcome.code}}
    told = _present(
        partition=outcome.partition,
        internal_id=_wide(outcome.internal_id),
        trace_id=_wide(outcome.trace_id),
        offset=_wide(outcome.disk_queue_offset),
        size=outcome.disk_queue_data_size,
    )
    return {"ok": dict(told)}


def _subscribing(request: Mapping[str, object]) -> Subscribing:
    defaults = Subscribing("", "")
    return Subscribing(
        topic=cast(str, request["topic"]),
        channel=cast(str, request["channel"]),
        ordered=request.get("ordered") is True,
        trace=request.get("trace") is True,
        tag=cast(str, request.get("tag", "")),
        max_in_flight=cast(int, request.get("max_in_flight", defaults.max_in_flight)),
        msg_timeout_ms=cast(int, request.get("msg_timeout_ms", defaults.msg_timeout_ms)),
    )


def _told(message: Message) -> Fields:
    return _present(
        id=message.id.hex(),
        body=in_base64(message.body),
        internal_id=_wide(message.internal_id),
        trace_id=_wide(message.trace_id),
        attempts=message.attempts,
        timestamp=_wide(message.timestamp_ns),
        offset=_wide(message.disk_queue_offset),
        size=message.disk_queue_data_size,
        ext=message.header,
        tag=message.tag or None,
    )


def _present(**members: object) -> Fields:
    """Return the members that have a value."""
    return cast(Fields, {name: value for name, value in members.items() if value is not None})


def _wide(number: int | None) -> str | None:
    """Return an integer as the driver protocol has those that may exceed 2^53."""
    return None if number is None else str(number)


def say(fields: Fields) -> None:
    """Write a line to standard output."""
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


async def drive() -> None:
    """Greet, and carry out requests until standard input ends."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    driver = Driver(say)
    driver.greet()

    def read() -> None:
        """Read in a thread: asyncio cannot wait for a file or /dev/null."""
        with contextlib.suppress(RuntimeError):  # the loop ended first
            while line := sys.stdin.buffer.readline(MAX_LINE_BYTES):
                loop.call_soon_threadsafe(driver.take, line)
            loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=read, daemon=True, name="requests").start()
    await ended.wait()
