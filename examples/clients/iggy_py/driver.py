"""A driver of iggy-py for `wireproof client`: see docs/driver-protocol.md."""

import asyncio
import base64
import json
import os
import sys
from importlib.metadata import version

from iggy_py import IggyClient, PollingStrategy, ReceiveMessage, SendMessage

Object = dict[str, object]
USER = PASSWORD = "iggy"
STATES = {
    "Available": "available",
    "Unavailable": "unavailable",
    "Poisoned": "poisoned",
    "MarkedForDeletion": "marked_for_deletion",
}


class Unsupported(Exception):
    """Raised for what the library cannot do."""


def say(**line: object) -> None:
    """Write a JSON object as a line to standard output."""
    print(json.dumps(line), flush=True)


def told(message: ReceiveMessage) -> Object:
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


def to_send(message: Object) -> SendMessage:
    """Return a message to send; the library takes text only, and neither an id nor headers."""
    for name in ("id", "headers"):
        if name in message:
            raise Unsupported(name)
    try:
        return SendMessage(base64.b64decode(str(message["payload"])).decode())
    except UnicodeDecodeError:
        raise Unsupported("payload") from None


class Driver:
    """A driver of the library's client, with the settings of a case."""

    def __init__(self) -> None:
        self.settings: Object = {}
        self.client: IggyClient | None = None

    async def connected(self) -> IggyClient:
        """Return the client, connected and logged in; after an error it is a new one."""
        if self.client is None:
            client = IggyClient(self.settings["tcp"])
            await client.connect()
            await client.login_user(USER, PASSWORD)
            self.client = client
        return self.client

    async def poll(self, request: Object) -> Object:
        """Poll messages with the library and return them."""
        strategy, value = str(request["strategy"]), int(str(request.get("value", "0")))
        make = getattr(PollingStrategy, strategy.capitalize())
        messages = await (await self.connected()).poll_messages(
            stream=self.settings["stream"],
            topic=self.settings["topic"],
            partition_id=self.settings["partition"],
            polling_strategy=make(value) if strategy in ("offset", "timestamp") else make(),
            count=request["count"],
            auto_commit=request.get("auto_commit", False),
        )
        return {"messages": [told(each) for each in messages]}

    async def send(self, request: Object) -> Object:
        """Send messages with the library."""
        partition = self.settings["partition"]
        given = request.get("partitioning")
        if isinstance(given, dict):
            if given["kind"] != "partition_id":
                raise Unsupported("partitioning")
            partition = int.from_bytes(base64.b64decode(given["value"]), "little")
        messages = request["messages"]
        assert isinstance(messages, list)
        await (await self.connected()).send_messages(
            stream=self.settings["stream"],
            topic=self.settings["topic"],
            partitioning=partition,
            messages=[to_send(each) for each in messages],
        )
        return {}

    async def open(self, request: Object) -> Object:
        """Store the settings of a case."""
        settings = request["settings"]
        assert isinstance(settings, dict)
        if settings["transport"] != "tcp":
            raise Unsupported("transport")
        self.settings = settings
        return {}

    async def close(self, request: Object) -> Object:
        """Do nothing: the client ends with the program."""
        return {}


async def main() -> None:
    """Answer the kit's requests until standard input ends."""
    say(
        hello="wireproof-driver",
        versions=[1],
        name="iggy-py",
        version=version("iggy-py"),
        operations=["poll", "send"],
        claims=["tcp"],
    )
    driver = Driver()
    operations = {name: getattr(driver, name) for name in ("open", "poll", "send", "close")}
    while line := await asyncio.to_thread(sys.stdin.readline):
        request = json.loads(line)
        number, op = request["id"], request["op"]
        try:
            if op not in operations:
                raise Unsupported(op)
            say(id=number, ok=await operations[op](request))
        except Unsupported as what:
            say(id=number, unsupported=str(what))
        except Exception as error:  # a panic of the library is a RustPanic
            driver.client = None
            say(id=number, error={"message": str(error)})


asyncio.run(main())
# Threads of the library abort one ending of the interpreter in four; nothing is left to do.
os._exit(0)
