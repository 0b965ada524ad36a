"""What a proxy must know of a protocol."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from wireproof_kit.clients.events import Event
from wireproof_kit.proxy.checks import Watcher
from wireproof_kit.proxy.fronts import MakeGate
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.address import Address
from wireproof_kit.wire.mask import MakeMask, Mask, http_mask

Service: TypeAlias = tuple[str, Address]
"""The kind of a service, which names the proxy's listener for it, and its address."""


def _mask_http(_conn: str) -> Mask:
    return http_mask()


@dataclass(frozen=True, slots=True)
class ProxyPart:
    """What the proxy needs of a protocol to relay, decode, judge and print its traffic.

    ``list_services`` returns the services that a target's URL names; the first one is the main
    one. ``make_gate`` makes what changes a connection's bytes on their way, ``watch`` the watcher
    that decodes and judges the connection, given its name. ``tell`` returns an event as text, or
    None if it is not worth a line. ``clauses`` are the ids of the clauses that passing traffic can
    show to be kept or broken, ``opening`` those of the cases for clients that are observed on the
    beginning of connections. ``know_ordered`` takes the name of a topic of which the user says
    that it was made ordered; None if the protocol has no such topics. ``make_mask`` makes what
    masks the secrets of a connection.
    """

    list_services: Callable[[Target], Sequence[Service]]
    make_gate: MakeGate
    watch: Callable[[str], Watcher]
    tell: Callable[[Event], str | None]
    clauses: tuple[str, ...]
    opening: tuple[str, ...] = ()
    know_ordered: Callable[[str], None] | None = None
    make_mask: MakeMask = _mask_http
