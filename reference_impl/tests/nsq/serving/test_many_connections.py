"""Very many connections: memory is bounded and used again, a heartbeat costs one of them.

A process that gave memory back to its allocator may still hold it; what shows that nothing is
kept of connections that have gone is that as many new ones need no more.
"""

import gc
import os
import weakref
from collections import Counter
from contextlib import ExitStack, closing

import pytest
from crowd import Crowd, allow_files, cpu_seconds, resident_bytes
from nsq_bench import Bench, identified, pub
from test_serve import answer, running

WANTED = int(os.environ.get("WIREPROOF_CONNECTIONS", "500"))
CHANNELS = 10
MESSAGES = 200
BYTES_EACH = 24_000
SPARE_BYTES = 4 << 20
"""What a process may gain however few connections there are."""
WAVES = 3


@pytest.mark.process
def test_memory_is_bounded_and_used_again() -> None:
    count = allow_files(WANTED)
    assert count == WANTED, f"the hard limit of open files allows {count} connections"
    with running() as broker, ExitStack() as stack:
        pid = broker.process.pid
        publisher = broker.connect()
        assert answer(publisher, identified('{"heartbeat_interval":-1}')) == b"OK"
        assert answer(publisher, b"INTERNAL_CREATE_TOPIC t 0\n") == b"OK"
        crowd = stack.enter_context(closing(Crowd(broker.address, "t")))
        crowd.join(50, channels=CHANNELS)
        crowd.leave()
        start = resident_bytes(pid)
        peaks: list[int] = []
        for wave in range(WAVES):
            crowd.join(count, channels=CHANNELS)
            peaks.append(resident_bytes(pid))
            bodies = [b"%d-%d" % (wave, number) for number in range(MESSAGES)]
            for body in bodies:
                assert answer(publisher, pub("t", body)) == b"OK"
            crowd.take_until(lambda: received(crowd) >= MESSAGES * CHANNELS)
            assert all(
                times == CHANNELS
                for times in Counter(b for each in crowd.members for b in each.bodies).values()
            )
            crowd.leave()
    each = (peaks[0] - start) / count
    print(f"{count} connections: {each:.0f} bytes each; {start} → {peaks} bytes")
    assert each < BYTES_EACH + SPARE_BYTES / count
    assert max(peaks) < peaks[0] + SPARE_BYTES


def received(crowd: Crowd) -> int:
    return sum(len(member.bodies) for member in crowd.members)


@pytest.mark.process
def test_every_connection_gets_its_heartbeats() -> None:
    count = allow_files(WANTED)
    with running() as broker, ExitStack() as stack:
        assert answer(broker.connect(), b"INTERNAL_CREATE_TOPIC t 0\n") == b"OK"
        crowd = stack.enter_context(closing(Crowd(broker.address, "t")))
        crowd.join(count, channels=CHANNELS, heartbeat_ms=2000)
        before = cpu_seconds(broker.process.pid)
        crowd.take_until(lambda: all(member.heartbeats for member in crowd.members))
        spent = cpu_seconds(broker.process.pid) - before
        print(f"{count} heartbeats: {spent:.2f} s of CPU, {spent / count * 1e6:.0f} µs each")


def test_a_heartbeat_wakes_its_own_connection_only() -> None:
    bench = Bench()
    clients = [bench.connect() for _ in range(300)]
    for number, client in enumerate(clients):
        assert client.ask(identified(f'{{"heartbeat_interval":{2000 + number}}}')) == "OK"
    bench.node.changed.clear()
    woken: list[int] = []
    until_ns = bench.now_ns + 2_300_000_000

    while bench.step(until_ns):
        woken.append(len(bench.node.changed))
        bench.node.changed.clear()

    assert sum(woken) >= len(clients)
    assert max(woken) == 1


def test_nothing_is_left_of_a_connection_that_has_gone() -> None:
    bench = Bench()
    bench.topic("t", extend=False)
    client = bench.consumer("t", identify="{}")
    assert bench.connect().ask(pub("t", b"x")) == "OK"
    assert client.message(extend=False).body == b"x"
    link = weakref.ref(client.link)
    gc.disable()
    try:
        client.close()
        bench.node.changed.clear()
        del client
        left = link()
    finally:
        gc.enable()

    assert left is None


def test_a_connection_that_has_gone_leaves_no_timer() -> None:
    bench = Bench()
    before = pending(bench)
    for _ in range(3000):
        client = bench.connect()
        assert client.ask(identified("{}")) == "OK"
        client.close()

    assert pending(bench) < before + 2500


def pending(bench: Bench) -> int:
    return len(bench.node.timers)
