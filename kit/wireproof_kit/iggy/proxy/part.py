"""Iggy for the proxy: services and watchers. Nothing is changed on the way."""

from collections.abc import Iterable, Iterator, Sequence

from wireproof_kit.clients.events import Event, Malformed
from wireproof_kit.iggy.clients.course import tell_event
from wireproof_kit.iggy.clients.decoder import HTTP, TCP, begins_as_apache
from wireproof_kit.iggy.clients.events import Asked, Responded
from wireproof_kit.iggy.clients.mask import make_mask
from wireproof_kit.iggy.proxy.apache import OF_CLIENTS, OF_SERVERS, ApacheWatcher
from wireproof_kit.iggy.proxy.decoder import PassingDecoder
from wireproof_kit.iggy.proxy.server_checks import ServerChecks
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.proxy.checks import Checks, Watcher, shown
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
    *OF_CLIENTS,
    *OF_SERVERS,
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
    services: list[Service] = [(TCP, (target.host, target.port))]
    services += [(HTTP, split_address(each)) for key, each in target.addresses() if key == HTTP]
    return services


class IggyWatcher:
    """Decodes and judges one connection, of the generation that its client shows."""

    opening: tuple[str, ...] = ()

    def __init__(self, conn: str) -> None:
        self._conn = conn
        self._kept = b""
        self._inner: Watcher | None = FramedWatcher(conn) if conn.startswith(HTTP) else None

    def decode(self, at: float, data: bytes, *, by_client: bool) -> Iterable[Event]:
        """Return the events that end in these bytes."""
        if self._inner is not None:
            return self._inner.decode(at, data, by_client=by_client)
        self._kept += data if by_client else b""
        is_apache = begins_as_apache(self._kept) if by_client else False
        if is_apache is None:
            return ()
        began = self._begin(at, is_apache=is_apache)
        return began if by_client else (*began, *self.decode(at, data, by_client=False))

    def decode_end(self, at: float) -> Iterable[Event]:
        """Return the events of the client's end of the stream."""
        began = self._begin(at, is_apache=False) if self._inner is None and self._kept else ()
        return (*began, *(self._inner.decode_end(at) if self._inner is not None else ()))

    def _begin(self, at: float, *, is_apache: bool) -> Iterable[Event]:
        """Return the events in what the client has sent so far."""
        self._inner = (ApacheWatcher if is_apache else FramedWatcher)(self._conn)
        return tuple(self._inner.decode(at, self._kept, by_client=True))

    def see(self, event: Event) -> Iterable[Finding]:
        """Return what an event shows."""
        return self._inner.see(event) if self._inner is not None else ()

    def frame_bytes(self, event: Event) -> bytes:
        """Return the bytes of an answer; empty for anything else."""
        return self._inner.frame_bytes(event) if self._inner is not None else b""


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


class FramedWatcher:
    """Decodes and judges one connection of the generations published and tagged."""

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
