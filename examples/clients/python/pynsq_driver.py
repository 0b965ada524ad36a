"""A driver of pynsq 0.9.1 for `wireproof client`."""

import asyncio
import logging

import nsq
from driver import Client, body_of, check_original, serve, tell_message

PAUSE_S = 0.02


class Pynsq(Client):
    """A driver of the library pynsq, which is opened once."""

    writer = None
    reader = None

    async def produce(self, request):
        """Publish a message; return or raise what the library passes to the callback."""
        body = body_of(request)
        if self.writer is None:
            self.writer = nsq.Writer([self.settings["nsqd"]], reconnect_interval=1.0)
        await self._connected()
        answer = asyncio.get_running_loop().create_future()
        self.writer.pub(
            request["topic"], body, lambda _, data: answer.done() or answer.set_result(data)
        )
        data = await answer
        if isinstance(data, Exception):
            raise data

    async def _connected(self):
        """Wait for a connection for a while; without one the library refuses to publish."""
        for _ in range(int(self.settings["publish_timeout_ms"] / 1000 / PAUSE_S)):
            if self.writer.conns:
                return
            await asyncio.sleep(PAUSE_S)

    async def consume(self, request):
        """Subscribe with a handler that does what the request says."""
        check_original(request)

        async def handle(message):
            tell_message(request, message, message.id, message.timestamp)
            if request["handler"] == "fail":
                message.requeue(backoff=False, time_ms=100)
                return
            if request["handler"] == "touch":
                message.touch()
            if request["handler"] == "hold":
                await asyncio.sleep(request["hold_ms"] / 1000)
            message.finish()

        self.reader = nsq.Reader(
            request["topic"],
            request["channel"],
            message_handler=handle,
            lookupd_http_addresses=[f"http://{each}" for each in self.settings["lookupd"]],
            lookupd_poll_interval=self.settings["lookup_interval_ms"] // 1000,
            lookupd_poll_jitter=0.0,
            max_in_flight=request.get("max_in_flight", 20),
            msg_timeout=_seconds(request),
        )

    async def close(self, request):
        """Close in the library's own way; for a writer that is to close its connections."""
        if self.reader is not None:
            self.reader.close()
        for connection in [*self.writer.conns.values()] if self.writer else []:
            connection.close()


def _seconds(request):
    """Return the time-out of messages in seconds, as the library takes it, or None."""
    asked = request.get("msg_timeout_ms")
    return None if asked is None else asked / 1000


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    serve("pynsq", "0.9.1", Pynsq())
