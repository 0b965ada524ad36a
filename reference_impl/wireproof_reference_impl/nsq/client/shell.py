"""The shell: does the core's effects with asyncio, and tells the core what comes of them.

It moves bytes, sets one timer, and calls back who uses the client; it knows no protocol.
"""

import asyncio
import sys
from collections.abc import Callable
from random import Random
from typing import cast

from wireproof_reference_impl.nsq.client.core.client import Client
from wireproof_reference_impl.nsq.client.core.commands import Publish
from wireproof_reference_impl.nsq.client.core.consumer import Outcome
from wireproof_reference_impl.nsq.client.core.effects import (
    Closed,
    Connect,
    Disconnect,
    Effect,
    Failure,
    Fetch,
    Hand,
    Log,
    Receipt,
    Report,
    Settle,
    Write,
)
from wireproof_reference_impl.nsq.client.core.settings import Settings, Subscribing
from wireproof_reference_impl.nsq.client.http_get import get

Handler = Callable[["Delivery"], None]
"""Is given a delivery, and must `finish` or `fail` it, now or later."""
OnError = Callable[[Failure], None]


class Delivery:
    """A message that a handler was given, with the ways to settle it."""

    def __init__(self, shell: "Shell", handed: Hand) -> None:
        self.message = handed.message
        self._shell = shell
        self._handed = handed

    def finish(self) -> None:
        """Report that the message is processed."""
        self._shell.settle(self._handed, Outcome.FINISHED)

    def fail(self) -> None:
        """Report that the message could not be processed, so that it is delivered again."""
        self._shell.settle(self._handed, Outcome.FAILED)

    def touch(self) -> None:
        """Ask the node for more time for the message."""
        self._shell.touch(self._handed)


class Shell:
    """The example NSQ client in an event loop: does the I/O that its core asks for."""

    def __init__(self, settings: Settings, random: Random) -> None:
        self._loop = asyncio.get_running_loop()
        self._core = Client(settings, random)
        self._transports: dict[int, asyncio.Transport] = {}
        self._unwanted: set[int] = set()
        self._receipts: dict[int, asyncio.Future[Receipt | Failure]] = {}
        self._handlers: dict[int, tuple[Handler, OnError]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = asyncio.Event()
        self._alarm: asyncio.TimerHandle | None = None
        self._doing = False

    async def publish(self, topic: str, message: Publish) -> Receipt | Failure:
        """Publish a message and return the outcome."""
        receipt: asyncio.Future[Receipt | Failure] = self._loop.create_future()
        ticket = self._core.publish(topic, message, self._loop.time())
        self._receipts[ticket] = receipt
        self._work()
        return await receipt

    def consume(self, wants: Subscribing, handler: Handler, on_error: OnError) -> None:
        """Begin to consume a topic; the handler is called for each message."""
        number = self._core.consume(wants, self._loop.time())
        self._handlers[number] = (handler, on_error)
        self._work()

    async def close(self) -> None:
        """End the client, and return when every connection is closed."""
        self._core.close(self._loop.time())
        self._work()
        await self._closed.wait()

    def settle(self, handed: Hand, outcome: Outcome) -> None:
        """Pass to the core what a handler reports on its message."""
        self._core.settle(handed.consumer, handed.ticket, outcome, self._loop.time())
        self._work()

    def touch(self, handed: Hand) -> None:
        """Pass to the core that a handler asks for more time."""
        self._core.touch(handed.consumer, handed.ticket, self._loop.time())
        self._work()

    def open(self, number: int, transport: asyncio.Transport) -> bool:
        """Note that connection `number` is open; return False if it is not wanted any more."""
        if number in self._unwanted:
            self._unwanted.discard(number)
            return False
        self._transports[number] = transport
        self._core.connected(number, transport.get_extra_info("sockname")[0], self._loop.time())
        self._work()
        return True

    def receive(self, number: int, data: bytes) -> None:
        """Pass bytes received on a connection to the core."""
        self._core.received(number, data, self._loop.time())
        self._work()

    def lose(self, number: int, reason: str) -> None:
        """Note that a connection is lost."""
        self._transports.pop(number, None)
        self._core.lost(number, reason, self._loop.time())
        self._work()

    def _work(self) -> None:
        """Do all effects, in order, and set the timer.

        A handler that settles its message at once comes here again: the loop below goes on.
        """
        if self._doing:
            return
        self._doing = True
        try:
            while effects := self._core.take_effects():
                for effect in effects:
                    self._do(effect)
        finally:
            self._doing = False
        self._set_alarm()

    def _do(self, effect: Effect) -> None:
        if isinstance(effect, Connect | Fetch):
            doing = self._connect(effect) if isinstance(effect, Connect) else self._fetch(effect)
            task = self._loop.create_task(doing)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif isinstance(effect, Write):
            if (transport := self._transports.get(effect.connection)) is not None:
                transport.write(effect.data)
        elif isinstance(effect, Disconnect):
            self._disconnect(effect.connection)
        else:
            self._tell(effect)

    def _tell(self, effect: Settle | Hand | Report | Log | Closed) -> None:
        if isinstance(effect, Settle):
            # The core may settle a publish before publish() has returned its ticket.
            self._loop.call_soon(self._settle_receipt, effect)
        elif isinstance(effect, Hand):
            handler, _ = self._handlers[effect.consumer]
            handler(Delivery(self, effect))
        elif isinstance(effect, Report):
            self._handlers[effect.consumer][1](effect.failure)
        elif isinstance(effect, Log):
            print(effect.text, file=sys.stderr, flush=True)
        else:
            self._closed.set()

    def _settle_receipt(self, effect: Settle) -> None:
        receipt = self._receipts.pop(effect.ticket, None)
        if receipt is not None and not receipt.done():
            receipt.set_result(effect.outcome)

    async def _connect(self, effect: Connect) -> None:
        host, port = effect.address
        try:
            async with asyncio.timeout(effect.within_s):
                await self._loop.create_connection(
                    lambda: _Socket(self, effect.connection), host, port
                )
        except (OSError, TimeoutError, ValueError) as error:
            self._unwanted.discard(effect.connection)
            self.lose(effect.connection, str(error) or "it cannot be reached in time")

    async def _fetch(self, effect: Fetch) -> None:
        answer = await get(effect)
        self._core.fetched(effect.request, answer, self._loop.time())
        self._work()

    def _disconnect(self, number: int) -> None:
        transport = self._transports.pop(number, None)
        if transport is None:
            self._unwanted.add(number)  # it is still being opened
        else:
            transport.close()

    def _set_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        due = self._core.next_due()
        self._alarm = None if due is None else self._loop.call_at(due, self._ring)

    def _ring(self) -> None:
        self._core.tick(self._loop.time())
        self._work()


class _Socket(asyncio.Protocol):
    """The bytes of one connection."""

    def __init__(self, shell: Shell, number: int) -> None:
        self._shell = shell
        self._number = number

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Tell the core, or close what it no longer wants."""
        if not self._shell.open(self._number, cast(asyncio.Transport, transport)):
            cast(asyncio.Transport, transport).abort()

    def data_received(self, data: bytes) -> None:
        """Pass bytes on."""
        self._shell.receive(self._number, data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass on that the connection is lost; the core knows of those that it closed itself."""
        self._shell.lose(self._number, str(exc or "the node closed it"))
