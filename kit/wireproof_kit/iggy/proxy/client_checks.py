"""Clauses that bind clients, as far as passing traffic alone shows them."""

from collections.abc import Iterator

from wireproof_kit.clients.events import Event, Malformed
from wireproof_kit.iggy.clients.events import Asked
from wireproof_kit.proxy.checks import Shown

WELL_FORMED = "iggy.client.well-formed"
SEND_LAYOUT = "iggy.client.send-layout"


class ClientChecks:
    """What the client of one connection asks for."""

    def see(self, event: Event) -> Iterator[Shown]:
        """Return what an event shows."""
        if isinstance(event, Malformed):
            yield Shown(WELL_FORMED, str(event.error))
        elif isinstance(event, Asked) and event.payload is not None:
            yield Shown(WELL_FORMED)
            if event.sending is not None:
                yield Shown(SEND_LAYOUT)
