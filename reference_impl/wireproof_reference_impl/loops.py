"""Event loops for servers."""

import asyncio


def libuv_loop() -> asyncio.AbstractEventLoop:
    """Return a uvloop event loop, which needs less than half of asyncio's time per event.

    Where uvloop is not available (Windows, other interpreters) the result is an asyncio loop.
    uvloop merges consecutive writes, so it cannot be used to send data in pieces.
    """
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
