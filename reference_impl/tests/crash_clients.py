"""The clients of a broker that will be killed: publishers and consumers that keep a ledger."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from struct import unpack

from crash_ledger import Broken, ChannelLedger, Record, Sent, TopicLedger
from nsq_bench import identified, sized

from wireproof_spec.nsq.frame import (
    FRAME_TYPE_ERROR,
    FRAME_TYPE_MESSAGE,
    FrameReader,
    ServerFrame,
)
from wireproof_spec.nsq.names import HEARTBEAT, MAGIC, OK

SECONDS = 20.0
CHUNK = 1 << 16
MOST_FRAME = 6 << 20
READY = 500
PIPELINE = 12
PARTITION = b"0"


class Link:
    """One connection: frames in, bytes out; a dead broker raises ConnectionError."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._frames = FrameReader(limit=MOST_FRAME)

    async def frame(self) -> ServerFrame:
        """Return the next frame that is no heartbeat."""
        while True:
            frame = self._frames.next_frame()
            if isinstance(frame, ServerFrame):
                if frame.data != HEARTBEAT:
                    return frame
                continue
            data = await asyncio.wait_for(self._reader.read(CHUNK), SECONDS)
            if not data:
                raise ConnectionError("the broker has gone")
            self._frames.feed(data)

    async def send(self, data: bytes) -> None:
        """Send bytes."""
        self._writer.write(data)
        await self._writer.drain()

    async def ask(self, data: bytes) -> bytes:
        """Send, and return the response."""
        await self.send(data)
        return answered(await self.frame())

    def close(self) -> None:
        """End the connection at once."""
        self._writer.transport.abort()


def answered(frame: ServerFrame) -> bytes:
    """Return what a response says.

    Raises:
        Broken: the broker refused something right.
    """
    if frame.frame_type == FRAME_TYPE_ERROR:
        raise Broken(f"the broker answered {frame.data!r}")
    return frame.data


async def connected(address: tuple[str, int], *, extend: bool = False) -> Link:
    """Return a connection that has said what it is."""
    reader, writer = await asyncio.open_connection(*address, limit=CHUNK)
    link = Link(reader, writer)
    await link.send(MAGIC)
    if extend:
        await link.ask(identified('{"extend_support":true}'))
    return link


class Publishers:
    """Makes messages of all kinds and remembers what was acknowledged."""

    def __init__(self, topics: tuple[TopicLedger, ...], chance: random.Random) -> None:
        self._topics = topics
        self._chance = chance
        self._number = 0

    async def publish(self, link: Link) -> None:
        """Publish one after the other until the broker goes."""
        while True:
            answers = [self._next() for _ in range(self._chance.randrange(1, PIPELINE))]
            await link.send(b"".join(frame for frame, _ in answers))
            for _, take in answers:
                take(answered(await link.frame()))

    async def publish_one(self, link: Link, topic: TopicLedger) -> bytes:
        """Publish one message and return its body."""
        frame, take = self._single(topic)
        take(await link.ask(frame))
        return next(reversed(topic.acknowledged))

    def _next(self) -> tuple[bytes, Callable[[bytes], None]]:
        topic = self._chance.choice(self._topics)
        kinds = [self._single, self._many, self._traced, self._headed if topic.extend else None]
        return (self._chance.choice(kinds) or self._single)(topic)

    def _single(self, topic: TopicLedger) -> tuple[bytes, Callable[[bytes], None]]:
        body = self._body(topic, Sent())
        return _command(b"PUB", topic, body), _plain(topic, [body])

    def _many(self, topic: TopicLedger) -> tuple[bytes, Callable[[bytes], None]]:
        bodies = [self._body(topic, Sent()) for _ in range(self._chance.randrange(1, 15))]
        data = len(bodies).to_bytes(4) + b"".join(map(sized, bodies))
        return _command(b"MPUB", topic, data), _plain(topic, bodies)

    def _traced(self, topic: TopicLedger) -> tuple[bytes, Callable[[bytes], None]]:
        trace_id = self._chance.randrange(1, 1 << 64)
        body = self._body(topic, Sent(None, trace_id))
        frame = _command(b"PUB_TRACE", topic, trace_id.to_bytes(8) + body)
        return frame, _traced(topic, body)

    def _headed(self, topic: TopicLedger) -> tuple[bytes, Callable[[bytes], None]]:
        trace_id = self._chance.choice((0, self._chance.randrange(1, 1 << 63)))
        named = b',"##trace_id":"%d"' % trace_id if trace_id else b""
        header = b'{"n":"%d"%s}' % (self._number, named)
        body = self._body(topic, Sent(header, trace_id))
        data = len(header).to_bytes(2) + header + body
        take = _traced(topic, body) if trace_id else _plain(topic, [body])
        return _command(b"PUB_EXT", topic, data), take

    def _body(self, topic: TopicLedger, sent: Sent) -> bytes:
        self._number += 1
        size = self._chance.choice((0, 10, 200, 200, 5000))
        body = b"%d:" % self._number + self._chance.randbytes(size)
        topic.sent[body] = sent
        return body


async def consume(link: Link, channel: ChannelLedger, chance: random.Random) -> None:
    """Finish some messages, put some back and keep some, until the broker goes."""
    await subscribe(link, channel)
    while True:
        message_id, body = _delivery(await link.frame(), channel)
        share = chance.random()
        if share < 0.6:
            channel.not_owed.add(body)
            await link.send(b"FIN " + message_id + b"\n")
        elif share < 0.85:
            await link.send(b"REQ " + message_id + b" 0\n")


async def open_channel(link: Link, channel: ChannelLedger) -> None:
    """Make a channel; it owes what is sent from its answer on."""
    await _join(link, channel)
    channel.not_owed = set(channel.topic.sent)


async def drain(link: Link, channel: ChannelLedger, last: bytes) -> set[bytes]:
    """Finish all messages up to the last one and return their bodies."""
    seen: set[bytes] = set()
    while last not in seen:
        message_id, body = _delivery(await link.frame(), channel)
        seen.add(body)
        channel.not_owed.add(body)
        await link.send(b"FIN " + message_id + b"\n")
    return seen


async def subscribe(link: Link, channel: ChannelLedger) -> None:
    """Subscribe with offsets and say RDY."""
    await _join(link, channel)
    await link.send(b"RDY %d\n" % READY)


async def until_gone(work: Awaitable[None]) -> None:
    """Do something until the broker goes, which is no failure."""
    try:
        await work
    except OSError:
        return


async def _join(link: Link, channel: ChannelLedger) -> None:
    words = f"SUB_ADVANCED {channel.topic.name} {channel.name} ".encode()
    answer = await link.ask(words + PARTITION + b"\n")
    if answer != OK:
        raise Broken(f"SUB_ADVANCED was answered {answer!r}")


def _delivery(frame: ServerFrame, channel: ChannelLedger) -> tuple[bytes, bytes]:
    if frame.frame_type != FRAME_TYPE_MESSAGE:
        raise Broken(f"a message was due, frame type {frame.frame_type} came: {frame.data!r}")
    return channel.topic.delivered(frame.data)


def _command(word: bytes, topic: TopicLedger, data: bytes) -> bytes:
    return b"%s %s %s\n" % (word, topic.name.encode(), PARTITION) + sized(data)


def _plain(topic: TopicLedger, bodies: list[bytes]) -> Callable[[bytes], None]:
    def take(answer: bytes) -> None:
        if answer != OK:
            raise Broken(f"a publish was answered {answer!r}")
        topic.acknowledged.update(dict.fromkeys(bodies))

    return take


def _traced(topic: TopicLedger, body: bytes) -> Callable[[bytes], None]:
    def take(answer: bytes) -> None:
        ok, internal_id, trace_id, offset, size = unpack(">2sQQQI", answer)
        if (ok, trace_id) != (OK, topic.sent[body].trace_id):
            raise Broken(f"a traced publish was answered {answer!r}")
        topic.acknowledged[body] = None
        topic.stands_at(body, Record(internal_id, offset, size))

    return take
