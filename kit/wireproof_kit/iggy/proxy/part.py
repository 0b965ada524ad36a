"""Iggy for the proxy: services and watchers. Nothing is changed on the way."""

from collections.abc import Iterable, Iterator, Sequence

from wireproof_kit.clients.events import Event
from wireproof_kit.iggy.clients.course import tell_event
from wireproof_kit.iggy.clients.decoder import HTTP, TCP
from wireproof_kit.iggy.clients.events import Responded
from wireproof_kit.iggy.clients.mask import make_mask
from wireproof_kit.iggy.proxy.client_checks import ClientChecks
from wireproof_kit.iggy.proxy.decoder import PassingDecoder
from wireproof_kit.iggy.proxy.server_checks import ServerChecks
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.proxy.checks import Checks
from wireproof_kit.proxy.events import Undecoded, tell_own
from wireproof_kit.proxy.fronts import OpenGate
from wireproof_kit.proxy.part import ProxyPart, Service
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.address import split_address

CLAUSES = (
    "iggy.client.well-formed",
    "iggy.client.send-layout",
    "iggy.frame.response",
    "iggy.frame.pipelined",
    "iggy.poll.count",
    "iggy.poll.as-many",
    "iggy.poll.strategy-offset",
    "iggy.poll.strategy-timestamp",
    "iggy.message.layout",
    "iggy.message.offset-sequence",
    "iggy.message.timestamp-kept",
    "iggy.state.codes",
    "iggy.checksum.polynomial",
    "iggy.json.fields",
    "iggy.json.payload",
    "iggy.state.names",
    "iggy.checksum.json",
)
"""All that passing traffic may show; nothing else is judged."""


def make_part() -> ProxyPart:
    """Return what one proxy needs."""
    return ProxyPart(
        list_services=list_services,
        make_gate=lambda front, host, front_for: OpenGate(),
        watch=IggyWatcher,
        tell=lambda event: tell_own(event) or tell_event(event),
        clauses=CLAUSES,
        make_mask=make_mask,
    )


def list_services(target: Target) -> Sequence[Service]:
    """Return the server's TCP port, and its HTTP port if the URL names it."""
    found: list[Service] = [(TCP, (target.host, target.port))]
    found += [(HTTP, split_address(each)) for key, each in target.addresses() if key == HTTP]
    return found


class IggyWatcher:
    """Decodes and judges one connection."""

    opening: tuple[str, ...] = ()

    def __init__(self, conn: str) -> None:
        self._decoder = PassingDecoder(conn)
        self._checks: tuple[Checks, ...] = (ClientChecks(), ServerChecks())

    def decode(self, at: float, data: bytes, *, by_client: bool) -> Iterable[Event]:
        """Return the events that end in these bytes."""
        return self._decoder.decode(at, data, by_client=by_client)

    def decode_end(self, at: float) -> Iterable[Event]:
        """Return the events of the client's end of the stream: malformed inside a request."""
        return self._decoder.decode_end(at)

    def see(self, event: Event) -> Iterator[Finding]:
        """Return what an event shows; nothing once the connection cannot be decoded."""
        for checks in self._checks:
            yield from checks.see(event)
        if isinstance(event, Undecoded):
            self._checks = ()

    def frame_bytes(self, event: Event) -> bytes:
        """Return the bytes of an answer; empty for anything else."""
        return event.data if isinstance(event, Responded) else b""
