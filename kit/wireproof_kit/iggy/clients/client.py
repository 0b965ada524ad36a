"""The client part of Iggy: the names in a command, the values for them, and how a case starts."""

from collections.abc import Mapping
from functools import partial
from typing import TypeAlias

from wireproof_kit.clients import client
from wireproof_kit.clients.client import StartedClient
from wireproof_kit.clients.part import ClientPart, Role, Values
from wireproof_kit.iggy.apache import APACHE
from wireproof_kit.iggy.clients.apache.log import PARTITION as APACHE_PARTITION
from wireproof_kit.iggy.clients.decoder import HTTP, TCP, IggyDecoder
from wireproof_kit.iggy.clients.mask import make_mask
from wireproof_kit.iggy.clients.peers import IggyPeers
from wireproof_kit.iggy.clients.probes import (
    describe_client,
    first_runs,
    observe_capability,
    observe_reading,
)
from wireproof_kit.iggy.clients.script import PARTITION, STREAM, TOPIC, Script
from wireproof_kit.ledger.ledger import Ledger
from wireproof_kit.wire.transcript import Transcript

Client: TypeAlias = client.Client[Script]
SETTINGS = ("tcp", "http", "transport", "stream", "topic", "partition", "role")
"""Names of values that the kit puts into a client's command line and environment."""


def start_client(
    command: str, role: Role, *, start_s: float, transcript: Transcript
) -> StartedClient[Script]:
    """Return an Iggy client for one case, which `play` starts."""
    return StartedClient(IGGY_CLIENTS, command, {}, role, start_s, transcript)


def _name(token: str, number: int) -> Values:
    """Return nothing: each case has a server of its own."""
    return {}


def _meet(script: Script, names: Values) -> IggyPeers:
    return IggyPeers(script)


def _fill(script: Script, addresses: Mapping[str, str], names: Values) -> Values:
    return {
        "tcp": addresses[TCP],
        "http": addresses[HTTP],
        "transport": script.transport,
        "stream": str(STREAM),
        "topic": str(TOPIC),
        "partition": str(APACHE_PARTITION if script.generation == APACHE else PARTITION),
        "role": script.role,
        **script.settings,
    }


def _open_ledger() -> Ledger:
    from wireproof_kit.iggy.proxy.part import make_part
    from wireproof_kit.proxy.client_ledger import ClientLedger

    return ClientLedger("iggy", make_part)


def clients_of(generation: str | None) -> ClientPart[Script]:
    """Return how clients of a generation are judged; None: of the one that each client speaks."""
    return ClientPart(
        settings=SETTINGS,
        addresses=("tcp", "http"),
        name=_name,
        decode=IggyDecoder,
        meet=_meet,
        fill=_fill,
        first=first_runs(generation),
        further={},
        undone={"producer": "sent no messages", "consumer": "polled no messages"},
        prefer=lambda _: True,
        observe_capability=partial(observe_capability, generation),
        observe_reading=observe_reading,
        open_ledger=_open_ledger,
        make_mask=make_mask,
        describe=describe_client,
    )


IGGY_CLIENTS = clients_of(None)
