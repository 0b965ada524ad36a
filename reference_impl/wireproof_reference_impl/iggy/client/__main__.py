"""``python -m wireproof_reference_impl.iggy.client``: the example client as a driver."""

import asyncio

from wireproof_reference_impl.driver_loop import drive
from wireproof_reference_impl.iggy.client.driver import Driver

if __name__ == "__main__":
    asyncio.run(drive(Driver))
