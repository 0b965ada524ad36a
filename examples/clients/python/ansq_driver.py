"""A driver of ansq 0.3.0 for `wireproof client`. With --nsqd it is told a node only."""

import asyncio
import logging
import sys

import ansq
from ansq.tcp.types import ConnectionFeatures, ConnectionOptions
from driver import Client, body_of, check_original, serve, tell_error, tell_message


class Ansq(Client):
    """A driver of the library ansq; each process serves one `open` request."""

    writer = None
    reader = None
    work = None

    async def produce(self, request):
        """Publish a message; the library returns an error as a value that is false."""
        body = body_of(request)
        if self.writer is None:
            self.writer = await ansq.create_writer(nsqd_tcp_addresses=[self.settings["nsqd"]])
        answer = await self.writer.pub(request["topic"], body)
        if not answer:
            raise ConnectionError(answer.text if hasattr(answer, "text") else repr(answer))

    async def consume(self, request):
        """Subscribe, and read messages as the library's guide shows."""
        check_original(request, "max_in_flight")  # it is RDY 1 for each connection
        features = ConnectionFeatures(msg_timeout=request.get("msg_timeout_ms", 60_000))
        knows_node = "--nsqd" in sys.argv
        self.reader = await ansq.create_reader(
            topic=request["topic"],
            channel=request["channel"],
            nsqd_tcp_addresses=[self.settings["nsqd"]] if knows_node else None,
            lookupd_http_addresses=None if knows_node else self.settings["lookupd"],
            lookupd_poll_interval=self.settings["lookup_interval_ms"],
            lookupd_poll_jitter=0.0,
            connection_options=ConnectionOptions(
                features=features, on_exception=lambda error: tell_error(request, error)
            ),
        )
        self.work = asyncio.create_task(self._take(request))

    async def _take(self, request):
        async for message in self.reader.messages():
            tell_message(request, message, message.id.encode(), message.timestamp)
            if request["handler"] == "fail":
                await message.req(100)
                continue
            if request["handler"] == "touch":
                await message.touch()
            if request["handler"] == "hold":
                await asyncio.sleep(request["hold_ms"] / 1000)
            if message.can_be_processed:
                await message.fin()

    async def close(self, request):
        """Close the connections in the library's own way."""
        for each in (self.reader, self.writer):
            if each is not None:
                await each.close()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    serve("ansq", "0.3.0", Ansq())
