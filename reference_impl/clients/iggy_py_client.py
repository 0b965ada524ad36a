"""iggy-py, unchanged, as a program: it says as lines of JSON what the library told it.

    iggy_py_client.py --tcp HOST:PORT session
    iggy_py_client.py --tcp HOST:PORT poll

`session` makes streams and topics, sends to them and polls in every way. `poll` reads partition 1
of topic 1 of stream 1 from the start.
"""

import argparse
import asyncio
import json
import os

from iggy_py import IggyClient, PollingStrategy, ReceiveMessage, SendMessage

USER = PASSWORD = "iggy"
BODIES = ("orders_data_2", "orders_data_3", "ä", "x" * 5000)


def say(event: str, **fields: object) -> None:
    """Write one line, at once."""
    print(json.dumps({"event": event, **fields}), flush=True)


def describe_message(message: ReceiveMessage) -> dict[str, object]:
    """Return the properties of a message that the library offers; large numbers are strings."""
    return {
        "offset": str(message.offset()),
        "state": str(message.state()).rpartition(".")[2],
        "timestamp": str(message.timestamp()),
        "id": str(message.id()),
        "checksum": message.checksum(),
        "length": message.length(),
        "payload": bytes(message.payload()).hex(),
    }


async def poll(
    client: IggyClient, of: str, strategy: PollingStrategy, *, count: int, commit: bool = False
) -> None:
    """Print the messages of a poll, or its error."""
    try:
        found = await client.poll_messages(
            stream=1,
            topic=1,
            partition_id=1,
            polling_strategy=strategy,
            count=count,
            auto_commit=commit,
        )
    except RuntimeError as error:
        say("failed", of=of, error=str(error))
    else:
        say("polled", of=of, messages=[describe_message(each) for each in found])


async def session(client: IggyClient) -> None:
    """Go through everything that the library offers."""
    await client.ping()
    say("missing", stream=await client.get_stream(1), topic=await client.get_topic(1, 1))
    await client.create_stream(name="Orders Stream", stream_id=1)
    await client.create_stream(name="second")
    for name, number in (("orders", 1), ("others", None)):
        await client.create_topic(stream=1, name=name, partitions_count=1, topic_id=number)
    messages = [SendMessage(body) for body in BODIES]
    await client.send_messages(stream=1, topic="orders", partitioning=1, messages=messages)
    await poll(client, "first", PollingStrategy.First(), count=10)
    await poll(client, "last", PollingStrategy.Last(), count=1)
    await poll(client, "offset 1", PollingStrategy.Offset(1), count=2)
    await poll(client, "offset 99", PollingStrategy.Offset(99), count=2)
    await poll(client, "next", PollingStrategy.Next(), count=3, commit=True)
    await poll(client, "next again", PollingStrategy.Next(), count=3, commit=True)
    await poll(client, "next at the end", PollingStrategy.Next(), count=3, commit=True)
    for who in (1, "Orders Stream", "second"):
        stream = await client.get_stream(who)
        say("stream", id=stream.id, name=stream.name, messages=stream.messages_count)
    for topic in (await client.get_topic("Orders Stream", 1), await client.get_topic(1, "others")):
        say("topic", id=topic.id, name=topic.name, messages=topic.messages_count)
    try:
        await client.create_stream(name="second")
    except RuntimeError as error:
        say("failed", of="taken name", error=str(error))
    await client.ping()


async def main(given: argparse.Namespace) -> None:
    """Log in and run the requested command."""
    client = IggyClient(given.tcp)
    await client.connect()
    await client.login_user(USER, PASSWORD)
    if given.verb == "session":
        await session(client)
    else:
        await poll(client, "all", PollingStrategy.Offset(0), count=100)
    say("done")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--tcp", required=True, metavar="HOST:PORT")
    parser.add_argument("verb", choices=["session", "poll"])
    asyncio.run(main(parser.parse_args()))
    # Threads of the library abort one ending of the interpreter in four; nothing is left to do.
    os._exit(0)
