"""Clauses that bind lookup servers, as far as passing traffic alone shows them."""

import json
from collections import deque
from collections.abc import Iterator
from typing import cast

from wireproof_kit.clients.events import Event
from wireproof_kit.nsq.clients.events import Requested
from wireproof_kit.nsq.proxy.decoder import Answered
from wireproof_kit.proxy.checks import Shown
from wireproof_spec import json_schema
from wireproof_spec.strict_json import JsonValue

PENDING = 1000
OK = 200


class LookupChecks:
    """Checks the responses of one connection's lookup server, while traffic passes the proxy."""

    def __init__(self) -> None:
        self._asked: deque[Requested] = deque(maxlen=PENDING)

    def see(self, event: Event) -> Iterator[Shown]:
        """Yield which clauses an event shows to be kept or broken."""
        if isinstance(event, Requested):
            self._asked.append(event)
        elif isinstance(event, Answered) and self._asked:
            asked = self._asked.popleft()
            is_lookup = asked.method == "GET" and event.path == "/lookup"
            if is_lookup and event.status == OK and event.is_whole:
                yield from _lookup(asked, event.body)


def _lookup(asked: Requested, body: bytes) -> Iterator[Shown]:
    try:
        value: object = json.loads(body)
    except RecursionError:
        return
    except ValueError:
        yield Shown("smart.lookup.answer", "the answer is no JSON")
        return
    answer = cast(dict[str, JsonValue], value) if isinstance(value, dict) else {}
    if answer.get("status_code", OK) != OK:
        return  # refused, in the envelope
    inner = answer.get("data")
    data = inner if isinstance(inner, dict) else answer
    if not {"partitions", "meta"} & data.keys():
        return  # of the original nsqlookupd, which these clauses do not bind
    missing = [name for name in ("channels", "partitions", "producers") if name not in data]
    yield Shown("smart.lookup.answer", f"no {' and no '.join(missing)}" if missing else "")
    partitions = data.get("partitions")
    for number, record in partitions.items() if isinstance(partitions, dict) else ():
        fault = next(iter(json_schema.check("nsq/lookup-node", record)), None)
        what = f"partition {number}{fault.pointer}: {fault.text}" if fault else ""
        yield Shown("smart.lookup.node-record", what)
    if asked.value("metainfo") == "true":
        yield Shown("smart.lookup.metainfo", _fault_of_meta(data.get("meta")))


def _fault_of_meta(meta: JsonValue) -> str:
    if not isinstance(meta, dict):
        return "no meta"
    wrong = [name for name in ("partition_num", "replica") if not isinstance(meta.get(name), int)]
    return f"meta: no {wrong[0]}" if wrong else ""
