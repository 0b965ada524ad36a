"""A consumer with pynsq for `wireproof client` and `wireproof fuzz`: see docs/clients.md."""

import os

import nsq


def handle(message: nsq.Message) -> bool:
    """Return True for any message, so that the reader sends FIN."""
    return True


nsq.Reader(
    topic=os.environ["WIREPROOF_TOPIC"],
    channel=os.environ["WIREPROOF_CHANNEL"],
    lookupd_http_addresses=[
        f"http://{each}" for each in os.environ["WIREPROOF_LOOKUPD"].split(",")
    ],
    lookupd_poll_interval=1,
    max_in_flight=20,
    message_handler=handle,
)
nsq.run()
