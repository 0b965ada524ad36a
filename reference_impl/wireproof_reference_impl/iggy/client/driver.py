"""The example client as a program that the kit can talk to.

`wireproof client --protocol iggy --exec 'python -m wireproof_reference_impl.iggy.client'` judges
the client so.
"""

import secrets
import time

from wireproof_reference_impl.driver_loop import Request, Say, Unsupported, present
from wireproof_reference_impl.iggy.client.core import operations
from wireproof_reference_impl.iggy.client.core.apache.messages import Received
from wireproof_reference_impl.iggy.client.core.calls import (
    CallFailed,
    Evicted,
    Poll,
    Refused,
    Send,
)
from wireproof_reference_impl.iggy.client.core.settings import Settings
from wireproof_reference_impl.iggy.client.shell import Shell
from wireproof_spec.driver.lines import CLOSE, OPEN, Fields, from_base64, in_base64
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.partitioning import Partitioning, partition_id
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.generation import ServedGeneration
from wireproof_spec.iggy.header_kinds import HEADER_KINDS, kind_code
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.kinds import PARTITIONING_NAMES, STRATEGIES
from wireproof_spec.iggy.message import Message
from wireproof_spec.iggy.states import state_name

POLL, SEND, CREATE = "poll", "send", "create_stream"
_ID_BITS = 128
_STRATEGIES = {name: code for code, name in STRATEGIES.items()}
_PARTITIONINGS = {name: code for code, name in PARTITIONING_NAMES.items()}


class Driver:
    """The example Iggy client as a driver: carries out the kit's requests."""

    name = "wireproof example client"
    operations: tuple[str, ...] = (POLL, SEND, CREATE)
    claims: tuple[str, ...] = ("tcp", "http", "headers")
    members = frozenset(
        {"strategy", "value", "count", "auto_commit", "messages", "partitioning", "name"}
    )

    def __init__(self, say: Say) -> None:
        self._shell: Shell | None = None
        self._partition = 1

    async def carry_out(self, id: int, request: Request) -> Fields:
        """Carry out a request of the kit, such as a poll, and return the answer."""
        op = request["op"]
        if op == OPEN:
            self._open(request["settings"])
            return {"ok": {}}
        if self._shell is None or op not in (POLL, SEND, CREATE, CLOSE):
            raise Unsupported(op)
        try:
            return {"ok": dict(await self._do(self._shell, op, request))}
        except CallFailed as error:
            code = {"code": str(error.code)} if isinstance(error, Refused | Evicted) else {}
            return {"error": {"message": str(error), **code}}

    def _open(self, told: Request) -> None:
        self._partition = told["partition"]
        self._shell = Shell(read_settings(told))

    async def _do(self, shell: Shell, op: str, request: Request) -> Fields:
        if op == POLL:
            found = await shell.run(operations.poll(_poll(request)))
            return {"messages": [dict(tell(each)) for each in found]}
        if op == SEND:
            messages = request["messages"]
            wanted = Send(tuple(map(_sent, messages)), self._partitioning(request))
            await shell.run(operations.send(wanted))
        elif op == CREATE:
            if generation() != "apache":
                raise Unsupported(op)
            created = await shell.run(operations.create_stream(request["name"]))
            return {"id": created.id, "name": created.name}
        else:
            shell.close()
        return {}

    def _partitioning(self, request: Request) -> Partitioning:
        given = request.get("partitioning")
        if given is None:
            return partition_id(self._partition)
        return Partitioning(_PARTITIONINGS[given["kind"]], from_base64(given["value"]))


def generation() -> ServedGeneration:
    """Return the generation of servers that the client speaks to."""
    return "published"


def read_settings(told: Request) -> Settings:
    """Return the client's settings from the kit's request to open."""
    over_http = told["transport"] == "http"
    host, _, port = told["http" if over_http else "tcp"].rpartition(":")
    return Settings(
        address=(host, int(port)),
        over_http=over_http,
        stream=numeric(told["stream"]),
        topic=numeric(told["topic"]),
        partition=told["partition"],
        generation=told.get("generation", generation()),
        new_id=lambda: secrets.randbits(_ID_BITS) | 1,
        now_us=lambda: time.time_ns() // 1000,
    )


def tell(message: Message) -> Fields:
    """Return a message as the JSON object that the client tells its user."""
    fields = present(
        offset=str(message.offset),
        state=None if message.state is None else state_name(message.state),
        timestamp=str(message.timestamp),
        id=str(message.id),
        checksum=message.checksum,
        headers={header.key: _told_header(header) for header in message.headers},
        payload=in_base64(message.payload),
    )
    if not isinstance(message, Received):
        return fields
    origin = str(message.origin_timestamp)
    own = present(origin_timestamp=origin, warning=message.warning or None)
    return {**fields, "checksum": str(message.checksum), **own}


def _told_header(header: Header) -> dict[str, str]:
    kind = HEADER_KINDS.get(header.kind, f"kind {header.kind}")
    return {"kind": kind, "value": in_base64(header.value)}


def _poll(request: Request) -> Poll:
    return Poll(
        strategy=_STRATEGIES[request["strategy"]],
        value=int(request.get("value", "0")),
        count=request["count"],
        auto_commit=request.get("auto_commit") is True,
    )


def _sent(fields: Request) -> SentMessage:
    headers = fields.get("headers", {})
    return SentMessage(
        id=int(fields.get("id", "0")),
        headers=tuple(
            Header(key, kind_code(each["kind"]) or 0, from_base64(each["value"]))
            for key, each in headers.items()
        ),
        payload=from_base64(fields["payload"]),
    )
