"""The client part of NSQ: the names in a command, the values for them, and how a case starts."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from wireproof_kit.clients import client
from wireproof_kit.clients.client import StartedClient
from wireproof_kit.clients.part import ClientPart, Role, Values
from wireproof_kit.ledger.ledger import Ledger
from wireproof_kit.nsq.clients.decoder import NsqDecoder
from wireproof_kit.nsq.clients.driver_requests import Asking
from wireproof_kit.nsq.clients.mask import make_mask
from wireproof_kit.nsq.clients.peers import NsqPeers
from wireproof_kit.nsq.clients.probes import (
    FIRST,
    FURTHER,
    lookups,
    observe_capability,
    observe_reading,
)
from wireproof_kit.nsq.clients.script import NODE_1, Script
from wireproof_kit.wire.transcript import Transcript

Client: TypeAlias = client.Client[Script]
SETTINGS = (
    "lookupd",
    "topic",
    "channel",
    "nsqd",
    "role",
    "lookup_interval_ms",
    "publish_timeout_ms",
    "msg_timeout_ms",
    "ordered",
    "ext",
    "trace",
    "tag",
)
"""Names of values that the kit puts into a client's command line and environment."""
LOOKUP_INTERVAL_MS = 1000
PUBLISH_TIMEOUT_MS = 1000
MSG_TIMEOUT_MS = 60_000


def start_client(
    command: str, names: Values, role: Role, *, start_s: float, transcript: Transcript
) -> StartedClient[Script]:
    """Return an NSQ client for one case, which `play` starts; ``names`` has topic and channel."""
    return StartedClient(NSQ_CLIENTS, command, names, role, start_s, transcript)


def _name(token: str, number: int) -> Values:
    return {"topic": f"wp_{token}_{number}", "channel": f"wp_{token}_c"}


def _meet(script: Script, names: Values) -> NsqPeers:
    return NsqPeers(script, Asking(script, topic=names["topic"], channel=names["channel"]))


def _fill(script: Script, addresses: Mapping[str, str], names: Values) -> Values:
    return {
        "lookupd": ",".join(addresses.get(name, "") for name in script.configured),
        **names,
        "nsqd": addresses.get(NODE_1, ""),
        "role": script.role,
        "lookup_interval_ms": str(LOOKUP_INTERVAL_MS),
        "publish_timeout_ms": str(PUBLISH_TIMEOUT_MS),
        "msg_timeout_ms": str(MSG_TIMEOUT_MS),
        "ordered": _flag(is_set=script.ordered),
        "ext": _flag(is_set=script.extend),
        "trace": _flag(is_set=False),
        "tag": "",
        **script.settings,
    }


def _flag(*, is_set: bool) -> str:
    return "1" if is_set else ""


def _open_ledger() -> Ledger:
    from wireproof_kit.nsq.clients.rules.case_checks import CaseChecks
    from wireproof_kit.nsq.proxy.part import make_part
    from wireproof_kit.proxy.client_ledger import ClientLedger

    return ClientLedger("nsq", make_part, CaseChecks)


NSQ_CLIENTS = ClientPart(
    settings=SETTINGS,
    addresses=("lookupd", "nsqd"),
    name=_name,
    decode=NsqDecoder,
    meet=_meet,
    fill=_fill,
    first=FIRST,
    further=FURTHER,
    undone={"producer": "published nothing", "consumer": "did not subscribe"},
    # Cases that leave the role open are about what both roles do: lookups above all.
    prefer=lambda story: bool(lookups(story)),
    observe_capability=observe_capability,
    observe_reading=observe_reading,
    open_ledger=_open_ledger,
    make_mask=make_mask,
    forgive=lambda script: replace(script, names_alike=True),
)
