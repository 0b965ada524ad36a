"""One proxy from its start to Ctrl-C: the relay in an event loop, the observer in a thread."""

import asyncio
import signal
import threading
from collections.abc import Sequence

from wireproof_kit.errors import UsageFault
from wireproof_kit.proxy.observer import Observer
from wireproof_kit.proxy.part import ProxyPart, Service
from wireproof_kit.proxy.relay import Relay
from wireproof_kit.proxy.tap import Tap
from wireproof_kit.wire.address import Address

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_proxy(
    part: ProxyPart,
    services: Sequence[Service],
    listen: Sequence[Address],
    tap: Tap,
    observer: Observer,
) -> None:
    """Relay and observe traffic until Ctrl-C or SIGTERM.

    The addresses to listen at are given in the order of the services; for the others, any free
    port of the first address's host is used.

    Raises:
        UsageFault: an address cannot be listened on.
    """
    watching = threading.Thread(target=observer.run, name="proxy-observer")
    watching.start()
    try:
        asyncio.run(_relay(part, services, listen, tap))
    finally:
        tap.end()
        watching.join()


async def _relay(
    part: ProxyPart, services: Sequence[Service], listen: Sequence[Address], tap: Tap
) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for number in _SIGNALS:
        loop.add_signal_handler(number, ended.set)
    try:
        await relay_until(ended, part, services, listen, tap)
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


async def relay_until(
    ended: asyncio.Event,
    part: ProxyPart,
    services: Sequence[Service],
    listen: Sequence[Address],
    tap: Tap,
) -> None:
    """Relay traffic to the services until ``ended`` is set; pass all steps to ``tap``.

    Raises:
        UsageFault: an address cannot be listened on.
    """
    relay = Relay(listen[0][0], part.make_gate, tap)
    try:
        for place, (kind, upstream) in enumerate(services):
            relay.stand_before(kind, upstream, listen[place] if place < len(listen) else None)
        relay.look_for_services()
        await ended.wait()
    finally:
        await relay.close()


def check_listen(listen: Sequence[Address], services: Sequence[Service]) -> None:
    """Check that there are at most as many addresses to listen at as services.

    Raises:
        UsageFault: there are more addresses.
    """
    if len(listen) > len(services):
        named = ", ".join(kind for kind, _ in services)
        raise UsageFault(
            f"--listen is given {len(listen)} times, but --to names only {named}; "
            "leave the others out"
        )
