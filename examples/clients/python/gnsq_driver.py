"""A driver of gnsq 1.0.2 for `wireproof client`."""

# The library needs the standard library to be gevent's before anything else is imported.
from gevent import monkey

monkey.patch_all()

import logging  # noqa: E402
import sys  # noqa: E402

import gevent  # noqa: E402
import gnsq  # noqa: E402
from driver import Client, body_of, check_original, serve, tell_error, tell_message  # noqa: E402
from gevent.fileobject import FileObjectThread  # noqa: E402


class Gnsq(Client):
    """A driver of the library gnsq, which is opened once."""

    producer = None
    consumer = None

    def produce(self, request):
        """Publish a message; the library raises the error that the node answers."""
        body = body_of(request)
        if self.producer is None:
            self.producer = gnsq.Producer(self.settings["nsqd"])
            self.producer.start()
        timeout = self.settings["publish_timeout_ms"] / 1000
        self.producer.publish(request["topic"], body, timeout=timeout)

    def consume(self, request):
        """Subscribe with a handler that does what the request says."""
        check_original(request, "msg_timeout_ms")
        self.consumer = gnsq.Consumer(
            request["topic"],
            request["channel"],
            lookupd_http_addresses=self.settings["lookupd"],
            lookupd_poll_interval=self.settings["lookup_interval_ms"] / 1000,
            lookupd_poll_jitter=0.0,
            max_in_flight=request.get("max_in_flight", 20),
            requeue_delay=100,
            message_handler=lambda _, message: handle(request, message),
        )
        self.consumer.on_error.connect(lambda _, error: tell_error(request, error), weak=False)
        self.consumer.start(block=False)

    def close(self, request):
        """Close the connections in the library's own way."""
        for each in (self.consumer, self.producer):
            if each is not None:
                each.close()


def handle(request, message):
    """Handle a message as the request says; the library sends FIN when this returns."""
    tell_message(request, message, message.id, message.timestamp)
    if request["handler"] == "fail":
        raise gnsq.errors.NSQRequeueMessage(backoff=False)
    if request["handler"] == "touch":
        message.touch()
    if request["handler"] == "hold":
        gevent.sleep(request["hold_ms"] / 1000)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    serve("gnsq", "1.0.2", Gnsq(), FileObjectThread(sys.stdin))
