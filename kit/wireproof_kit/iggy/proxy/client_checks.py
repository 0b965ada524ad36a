"""Clauses that bind clients, as far as passing traffic alone shows them."""

from collections.abc import Iterator

from wireproof_kit.clients.events import Event, Malformed
from wireproof_kit.iggy.clients.events import Asked
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.proxy.checks import shown

WELL_FORMED = "iggy.client.well-formed"
SEND_LAYOUT = "iggy.client.send-layout"


class ClientChecks:
    """What the client of one connection asks for."""

    def see(self, event: Event) -> Iterator[Finding]:
        """Return what an event shows."""
        if isinstance(event, Malformed):
            yield shown(WELL_FORMED, str(event.error))
        elif isinstance(event, Asked) and event.payload is not None:
            yield shown(WELL_FORMED)
            if event.sending is not None:
                yield shown(SEND_LAYOUT)
