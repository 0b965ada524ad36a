"""A driver of apache-iggy, the SDK of Apache Iggy for Python, for `wireproof client`."""

import base64
import os
import struct
from datetime import timedelta
from importlib.metadata import version

from apache_iggy import (
    AutoLogin,
    Consumer,
    HeaderKey,
    HeaderValue,
    HttpConfig,
    IggyClient,
    Partitioning,
    PollingStrategy,
    SendMessage,
    TcpConfig,
    TcpReconnectionConfig,
)
from driver import Client, Unsupported, serve

USER = PASSWORD = "iggy"
CONSUMER = 1
SOON = timedelta(milliseconds=100)
NUMBERS = {
    name: struct.Struct(form)
    for name, form in {
        "bool": "<?",
        "int8": "<b",
        "int16": "<h",
        "int32": "<i",
        "int64": "<q",
        "uint8": "<B",
        "uint16": "<H",
        "uint32": "<I",
        "uint64": "<Q",
        "float32": "<f",
        "float64": "<d",
    }.items()
}
WIDE = {"int128": True, "uint128": False}
"""Numbers that `struct` does not know, and whether they are signed."""

NAMES = {
    name: name.replace("uint", "unsigned_int").title().replace("_", "")
    for name in ("raw", "string", *NUMBERS, *WIDE)
}
"""The library's name of each kind of header."""


class ApacheIggy(Client):
    """A driver of the library apache-iggy; each process serves one `open` request."""

    client = None

    async def create_stream(self, request):
        """Create a stream with the library."""
        client = await self._connect()
        await client.create_stream(request["name"])
        return {"name": request["name"]}

    async def poll(self, request):
        """Poll messages with the library and return them."""
        strategy, value = request["strategy"], int(request.get("value", "0"))
        kind = getattr(PollingStrategy, strategy.capitalize())
        messages = await self._call(
            "poll_messages",
            partition_id=self.settings["partition"],
            consumer=Consumer.Single(CONSUMER),
            polling_strategy=kind(value) if strategy in ("offset", "timestamp") else kind(),
            count=request["count"],
            auto_commit=request.get("auto_commit", False),
        )
        return {"messages": [told(message) for message in messages]}

    async def send(self, request):
        """Send messages with the library, and return where it says that they are."""
        partitioning = Partitioning.partition_id(self.settings["partition"])
        if "partitioning" in request:
            partitioning = to_partitioning(request["partitioning"])
        messages = [to_send(each) for each in request["messages"]]
        response = await self._call("send_messages", partitioning=partitioning, messages=messages)
        return {
            "confirmations": [confirmed(confirmation) for confirmation in response.confirmations]
        }

    async def _call(self, name, **arguments):
        """Call the library for messages; it connects and logs in again by itself."""
        client = await self._connect()
        where = {"stream": self.settings["stream"], "topic": self.settings["topic"]}
        return await getattr(client, name)(**where, **arguments)

    async def _connect(self):
        """Return the client of the library, logged in."""
        if self.client is None:
            self.client = await self._make_client()
        return self.client

    async def _make_client(self):
        transport = self.settings["transport"]
        address = self.settings[transport]
        if transport == "http":
            client = IggyClient(HttpConfig(api_url=f"http://{address}"))
            await client.connect()
            await client.login_user(USER, PASSWORD)
            return client
        # By default a call waits for a server that is gone without end, and 5 s before it
        # connects again: a case lasts 6 s.
        again = TcpReconnectionConfig(max_retries=1, interval=SOON, reestablish_after=SOON)
        login = AutoLogin.username_password(USER, PASSWORD)
        config = TcpConfig(server_address=address, auto_login=login, reconnection=again)
        client = IggyClient(config)
        await client.connect()
        return client


def to_partitioning(given):
    """Return a partitioning of the library."""
    value = base64.b64decode(given["value"])
    if given["kind"] == "balanced":
        return Partitioning.balanced()
    if given["kind"] == "partition_id":
        return Partitioning.partition_id(int.from_bytes(value, "little"))
    return Partitioning.messages_key(value)


def to_send(message):
    """Return a message to send."""
    headers = {
        to_typed(HeaderKey, key): to_typed(HeaderValue, value)
        for key, value in pairs(message.get("headers", {}))
    }
    number = int(message["id"]) if "id" in message else None
    return SendMessage(base64.b64decode(message["payload"]), headers or None, number)


def pairs(headers):
    """Return headers as pairs of typed keys and values; keys of an object are text."""
    if isinstance(headers, list):
        return [(header["key"], header["value"]) for header in headers]
    return [
        ({"kind": "string", "value": base64.b64encode(key.encode())}, value)
        for key, value in headers.items()
    ]


def to_typed(role, given):
    """Return a key or value of the library: each kind is a class of its own in `role`."""
    kind, data = given["kind"], base64.b64decode(given["value"])
    if kind not in NAMES:
        raise Unsupported("headers")
    value = data
    if kind == "string":
        value = data.decode()
    elif kind in NUMBERS:
        (value,) = NUMBERS[kind].unpack(data)
    elif kind in WIDE:
        value = int.from_bytes(data, "little", signed=WIDE[kind])
    return getattr(role, NAMES[kind])(value)


def from_typed(given):
    """Return a key or value of the library as its kind and bytes."""
    kinds = {name: kind for kind, name in NAMES.items()}
    kind, value = kinds[type(given).__name__.rpartition("_")[2]], given.value
    if kind == "string":
        value = value.encode()
    elif kind in NUMBERS:
        value = NUMBERS[kind].pack(value)
    elif kind in WIDE:
        value = value.to_bytes(16, "little", signed=WIDE[kind])
    return {"kind": kind, "value": base64.b64encode(value).decode()}


def told(message):
    """Return what the library tells its user of a message."""
    fields = {
        "offset": str(message.offset()),
        "timestamp": str(message.timestamp()),
        "origin_timestamp": str(message.origin_timestamp()),
        "id": str(message.id()),
        "checksum": str(message.checksum()),
        "payload": base64.b64encode(message.payload()).decode(),
    }
    try:
        headers = message.user_headers() or {}
    except ValueError as error:
        return {**fields, "warning": str(error)}
    typed = [{"key": from_typed(key), "value": from_typed(headers[key])} for key in headers]
    return {**fields, "headers": named(typed)}


def named(typed):
    """Return headers as an object by key if all keys are text, otherwise as an array."""
    if any(each["key"]["kind"] != "string" for each in typed):
        return typed
    return {base64.b64decode(each["key"]["value"]).decode(): each["value"] for each in typed}


def confirmed(given):
    """Return where the library says that messages are."""
    return {
        "stream": given.stream_id,
        "topic": given.topic_id,
        "partition": given.partition_id,
        "base_offset": str(given.base_offset),
    }


if __name__ == "__main__":
    serve("apache-iggy", version("apache-iggy"), ApacheIggy(), claims=["tcp", "http", "headers"])
    # Threads of the library may still run; nothing is left to do.
    os._exit(0)
