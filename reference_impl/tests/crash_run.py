"""Kills a loaded broker again and again on one data directory, and holds it to its promises.

Each round starts the broker on what the last one left, checks everything that is owed, loads it
and ends it with SIGKILL at a random moment: mostly under load, now and then while it starts.
Half of the kills also leave the beginning of a record behind, as a write that was cut off does.
"""

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crash_clients import (
    Link,
    Publishers,
    connected,
    consume,
    drain,
    open_channel,
    subscribe,
    until_gone,
)
from crash_ledger import Broken, ChannelLedger, TopicLedger

SERVE = (
    "from wireproof_reference_impl.nsq.serve import main; import sys; sys.exit(main(sys.argv[1:]))"
)
OPTIONS = ("--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--json")
SMALL_FILES = ("--max-bytes-per-file", "60000")
START_SECONDS = 20.0
LOAD_SECONDS = (0.0, 0.3)
# Long enough for the broker to keep positions, which it does once a second.
LONG_LOAD_SECONDS = (0.8, 1.3)
LONG = 0.15
STARTING = 0.1
TORN = 0.5
PUBLISHERS = 2
CONSUMERS = 2
CUT_RECORD = bytes.fromhex("00000123") + bytes(200)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a whole run came to."""

    kills: int
    acknowledged: int
    unanswered: int
    delivered: int
    files: int


class CrashRun:
    """One data directory in a folder, its broker and the ledger of everything."""

    def __init__(
        self,
        folder: Path,
        *,
        seed: int,
        code: str = SERVE,
        options: Sequence[str] = (),
        long: float = LONG,
    ) -> None:
        self._long = long
        data = self._data = folder / "data"
        self._complaints = folder / "complaints"
        self._chance = random.Random(seed)
        self._command = [sys.executable, "-c", code, *OPTIONS, *SMALL_FILES, *options]
        self._command += ["--data", str(data)]
        self._topics = (TopicLedger("plain", extend=False), TopicLedger("ext", extend=True))
        self._publishers = Publishers(self._topics, self._chance)
        self._channels = [ChannelLedger(topic, "ch") for topic in self._topics]
        self._made: list[ChannelLedger] = []
        self._links: list[Link] = []
        self._delivered = 0

    def kill(self, times: int) -> Outcome:
        """Kill the broker so many times.

        Raises:
            Broken: a promise was not kept; says in which round.
        """
        for number in range(1, times + 1):
            try:
                asyncio.run(self._round(number))
                self._read_complaints()
            except Broken as broken:
                raise Broken(f"after kill {number - 1}: {broken}") from broken
        return Outcome(
            kills=times,
            acknowledged=sum(len(topic.acknowledged) for topic in self._topics),
            unanswered=sum(len(each.sent) - len(each.acknowledged) for each in self._topics),
            delivered=self._delivered,
            files=len([*self._data.glob("*/*.diskqueue.[0-9]*.dat")]),
        )

    async def _round(self, number: int) -> None:
        if self._chance.random() < STARTING:
            await self._kill_while_starting()
        process = await self._start()
        try:
            address = await _address(process)
            if number == 1:
                await self._create(address)
            try:
                await self._check(address)
            except OSError as error:
                raise Broken(f"a right client was not served: {error!r}") from error
            await self._load(process, address, number)
        finally:
            await _kill(process)
            for link in self._links:
                link.close()
            self._links.clear()
        self._tear()

    async def _start(self) -> asyncio.subprocess.Process:
        with self._complaints.open("ab") as complaints:
            return await asyncio.create_subprocess_exec(
                *self._command, stdout=subprocess.PIPE, stderr=complaints
            )

    def _read_complaints(self) -> None:
        complaints = self._complaints.read_text()
        if complaints:
            raise Broken(f"the broker complained: {complaints[-500:]}")

    async def _kill_while_starting(self) -> None:
        process = await self._start()
        try:
            await asyncio.wait_for(process.wait(), self._chance.uniform(0.1, 0.5))
        except TimeoutError:
            await _kill(process)

    async def _connected(self, address: tuple[str, int], *, extend: bool = False) -> Link:
        link = await connected(address, extend=extend)
        self._links.append(link)
        return link

    async def _create(self, address: tuple[str, int]) -> None:
        link = await self._connected(address)
        for topic in self._topics:
            words = f"INTERNAL_CREATE_TOPIC {topic.name} 0 {str(topic.extend).lower()}\n"
            await link.ask(words.encode())
        for channel in self._channels:
            await open_channel(
                await self._connected(address, extend=channel.topic.extend), channel
            )
            self._links.pop().close()

    async def _check(self, address: tuple[str, int]) -> None:
        """Find everything that is owed on every channel that is not yet checked."""
        publisher = await self._connected(address)
        for channel in (*self._channels, *self._made):
            owed = channel.owed()
            link = await self._connected(address, extend=channel.topic.extend)
            await subscribe(link, channel)
            last = await self._publishers.publish_one(publisher, channel.topic)
            seen = await drain(link, channel, last)
            self._links.pop().close()
            self._delivered += len(seen)
            if owed - seen:
                first = sorted(owed - seen, key=lambda body: int(body.partition(b":")[0]))[0]
                raise Broken(
                    f"{channel.topic.name}/{channel.name}: {len(owed - seen)} of {len(owed)} "
                    f"acknowledged messages are lost, the first is {first[:24]!r}"
                )
        self._made.clear()
        for topic in self._topics:
            topic.check_order()

    async def _load(
        self, process: asyncio.subprocess.Process, address: tuple[str, int], number: int
    ) -> None:
        tasks = [
            until_gone(self._publishers.publish(await self._connected(address)))
            for _ in range(PUBLISHERS)
        ]
        for channel in self._channels * CONSUMERS:
            link = await self._connected(address, extend=channel.topic.extend)
            tasks.append(until_gone(consume(link, channel, self._chance)))
        tasks.append(until_gone(self._make_channels(address, number)))
        tasks.append(self._kill_soon(process))
        await asyncio.gather(*tasks)

    async def _make_channels(self, address: tuple[str, int], number: int) -> None:
        """Make a new channel of each topic under load; it is checked after the kill."""
        for topic in self._topics:
            channel = ChannelLedger(topic, f"made-{number}")
            link = await self._connected(address, extend=topic.extend)
            await open_channel(link, channel)
            self._made.append(channel)

    async def _kill_soon(self, process: asyncio.subprocess.Process) -> None:
        long = self._chance.random() < self._long
        await asyncio.sleep(self._chance.uniform(*(LONG_LOAD_SECONDS if long else LOAD_SECONDS)))
        await _kill(process)

    def _tear(self) -> None:
        """Leave the beginning of a record behind, in half of the rounds."""
        for topic in self._topics:
            files = sorted(self._data.glob(f"{topic.name}/*.diskqueue.[0-9]*[0-9].dat"))
            if files and self._chance.random() < TORN:
                with files[-1].open("ab") as file:
                    file.write(CUT_RECORD[: self._chance.randrange(1, len(CUT_RECORD))])


async def _address(process: asyncio.subprocess.Process) -> tuple[str, int]:
    assert process.stdout is not None
    line = await asyncio.wait_for(process.stdout.readline(), START_SECONDS)
    if not line:
        raise Broken(f"the broker does not start again (exit code {await process.wait()})")
    host, _, port = str(json.loads(line)["tcp"]).rpartition(":")
    return host, int(port)


async def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()
