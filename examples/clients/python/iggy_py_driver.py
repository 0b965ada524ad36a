"""A driver of iggy-py for `wireproof client`."""

import base64
import os
from importlib.metadata import version

from driver import Client, Unsupported, serve
from iggy_py import IggyClient, PollingStrategy, SendMessage

USER = PASSWORD = "iggy"
STATES = {
    "Available": "available",
    "Unavailable": "unavailable",
    "Poisoned": "poisoned",
    "MarkedForDeletion": "marked_for_deletion",
}


class IggyPy(Client):
    """A driver of the library iggy-py; each process serves one `open` request."""

    client = None

    def open(self, request):
        """Store the settings of the request; the library knows TCP alone."""
        if request["settings"]["transport"] != "tcp":
            raise Unsupported("transport")
        super().open(request)

    async def poll(self, request):
        """Poll messages with the library and return them."""
        strategy, value = request["strategy"], int(request.get("value", "0"))
        make = getattr(PollingStrategy, strategy.capitalize())
        messages = await self._call(
            "poll_messages",
            partition_id=self.settings["partition"],
            polling_strategy=make(value) if strategy in ("offset", "timestamp") else make(),
            count=request["count"],
            auto_commit=request.get("auto_commit", False),
        )
        return {"messages": [told(message) for message in messages]}

    async def send(self, request):
        """Send messages with the library."""
        partition, given = self.settings["partition"], request.get("partitioning")
        if given:
            if given["kind"] != "partition_id":
                raise Unsupported("partitioning")
            partition = int.from_bytes(base64.b64decode(given["value"]), "little")
        messages = [to_send(each) for each in request["messages"]]
        await self._call("send_messages", partitioning=partition, messages=messages)

    async def _call(self, name, **arguments):
        """Call the library; after an error the next call connects anew."""
        client, self.client = self.client, None
        if client is None:
            client = IggyClient(self.settings["tcp"])
            await client.connect()
            await client.login_user(USER, PASSWORD)
        where = {"stream": self.settings["stream"], "topic": self.settings["topic"]}
        answer = await getattr(client, name)(**where, **arguments)
        self.client = client
        return answer


def told(message):
    """Return what the library tells its user of a message; it does not tell headers."""
    state = str(message.state()).rpartition(".")[2]
    return {
        "offset": str(message.offset()),
        "state": STATES.get(state, state),
        "timestamp": str(message.timestamp()),
        "id": str(message.id()),
        "checksum": message.checksum(),
        "payload": base64.b64encode(bytes(message.payload())).decode(),
    }


def to_send(message):
    """Return a message to send; the library takes text only, and neither an id nor headers."""
    for name in ("id", "headers"):
        if name in message:
            raise Unsupported(name)
    try:
        return SendMessage(base64.b64decode(message["payload"]).decode())
    except UnicodeDecodeError:
        raise Unsupported("payload") from None


if __name__ == "__main__":
    serve("iggy-py", version("iggy-py"), IggyPy(), claims=["tcp"])
    # Threads of the library abort one ending of the interpreter in four; nothing is left to do.
    os._exit(0)
