"""Event loops for servers."""

import asyncio


def libuv_loop() -> asyncio.AbstractEventLoop:
    """Return a uvloop event loop, which takes less than half of asyncio's time for an event.

    Where there is none (Windows, other interpreters) it is asyncio's. Of a row of writes it makes
    one: not for what is to be sent in pieces.
    """
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
