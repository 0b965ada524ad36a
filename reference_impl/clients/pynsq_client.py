"""pynsq, unchanged, as a program: it says as lines of JSON what the library told it.

    pynsq_client.py produce --nsqd HOST:PORT --topic T --way pub --count 100
    pynsq_client.py consume --lookupd HOST:PORT --topic T --channel C

A producer ends when everything is answered, a consumer when its standard input is closed.
"""

import argparse
import asyncio
import json
import logging
import sys
from collections.abc import Callable

import nsq

BATCH = 10
PAUSE_S = 0.02


def say(**fields: object) -> None:
    """Write one line, at once."""
    print(json.dumps(fields), flush=True)


async def produce(given: argparse.Namespace) -> None:
    """Publish and wait for each answer; an error is said and not tried again."""
    writer = nsq.Writer(given.nsqd, heartbeat_interval=1)
    while not writer.conns:
        await asyncio.sleep(PAUSE_S)
    step = BATCH if given.way == "mpub" else 1
    for first in range(0, given.count, step):
        bodies = [f"body-{first + number:06d}" for number in range(step)]
        answer = await publish_all(writer, given, bodies)
        for body in bodies:
            if answer == b"OK":
                say(event="sent", body=body)
            else:
                say(event="refused", body=body, error=str(answer))
        await asyncio.sleep(given.every)
    say(event="done")


def publish_all(
    writer: nsq.Writer, given: argparse.Namespace, bodies: list[str]
) -> asyncio.Future[object]:
    """Publish, and return what will hold the answer or the error that came instead."""
    answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()

    def note_answer(connection: object, data: object) -> None:
        if not answer.done():
            answer.set_result(data)

    encoded = [body.encode() for body in bodies]
    if given.way == "mpub":
        writer.mpub(given.topic, encoded, note_answer)
    elif given.way == "dpub":
        writer.dpub(given.topic, 100, encoded[0], note_answer)
    else:
        writer.pub(given.topic, encoded[0], note_answer)
    return answer


async def consume(given: argparse.Namespace) -> None:
    """Print every delivery and acknowledge it as requested; end with the library's own close."""
    reader = CountingReader(
        given.topic,
        given.channel,
        message_handler=handler(given),
        nsqd_tcp_addresses=given.nsqd,
        lookupd_http_addresses=[f"http://{each}" for each in given.lookupd],
        lookupd_poll_interval=1,
        lookupd_poll_jitter=0.0,
        max_in_flight=20,
        heartbeat_interval=1,
        msg_timeout=given.msg_timeout,
    )
    await asyncio.to_thread(sys.stdin.read)
    reader.close()
    say(event="stopped", heartbeats=reader.heartbeats)


class CountingReader(nsq.Reader):  # type: ignore[misc]  # pynsq has no types
    """A reader that counts heartbeats, by the hook that is there for that."""

    heartbeats = 0

    def heartbeat(self, conn: object) -> None:
        """Count one."""
        self.heartbeats += 1


def handler(given: argparse.Namespace) -> Callable[[nsq.Message], object]:
    """Return the function that handles each message."""
    seen: set[bytes] = set()

    async def handle(message: nsq.Message) -> None:
        number, again = len(seen), message.id in seen
        seen.add(message.id)
        requeued = not again and number < given.requeue
        say_received(message, "requeue" if requeued else "finish")
        if requeued:
            message.requeue(backoff=False, time_ms=100)
            return
        if not again:
            await hold(message, given)
        message.finish()

    return handle


async def hold(message: nsq.Message, given: argparse.Namespace) -> None:
    """Hold a message, with TOUCH in between if requested."""
    left = given.hold
    while left > 0:
        await asyncio.sleep(min(left, 0.25))
        left -= 0.25
        if given.touch and left > 0:
            message.touch()


def say_received(message: nsq.Message, answer: str) -> None:
    """Say a delivery; integers that may need 64 bits are strings."""
    say(
        event="received",
        body=message.body.decode(),
        id=str(int.from_bytes(message.id[:8], "big")),
        trace=str(int.from_bytes(message.id[8:], "big")),
        attempts=message.attempts,
        timestamp=str(message.timestamp),
        answer=answer,
    )


def options(words: list[str]) -> argparse.Namespace:
    """Read the words of the command."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("verb", choices=["produce", "consume"])
    parser.add_argument("--nsqd", action="append", default=[])
    parser.add_argument("--lookupd", action="append", default=[])
    parser.add_argument("--topic", required=True)
    parser.add_argument("--channel")
    parser.add_argument("--way", choices=["pub", "mpub", "dpub"], default="pub")
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--every", type=float, default=0.0)
    parser.add_argument("--requeue", type=int, default=0)
    parser.add_argument("--hold", type=float, default=0.0)
    parser.add_argument("--touch", action="store_true")
    parser.add_argument("--msg-timeout", type=float)
    parser.add_argument("--deadline", type=float, default=60.0)
    return parser.parse_args(words)


async def main() -> None:
    """Produce or consume until that is over, or the deadline."""
    given = options(sys.argv[1:])
    logging.basicConfig(stream=sys.stderr, level=logging.INFO)
    verb = produce if given.verb == "produce" else consume
    await asyncio.wait_for(verb(given), given.deadline)


if __name__ == "__main__":
    asyncio.run(main())
