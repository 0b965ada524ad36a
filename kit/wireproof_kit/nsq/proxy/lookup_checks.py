"""Clauses that bind lookups and their answers, as far as passing traffic alone shows them."""

import json
from collections import deque
from collections.abc import Iterator

from wireproof_kit.clients.events import Event
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.nsq.clients.events import Requested
from wireproof_kit.nsq.proxy.decoder import Answered
from wireproof_kit.proxy.checks import shown
from wireproof_spec import json_schema
from wireproof_spec.strict_json import JsonValue, fields_of

PENDING = 1000
OK = 200
GET, LOOKUP = "GET", "/lookup"


class LookupChecks:
    """Checks the lookups of one connection and their answers, while traffic passes the proxy."""

    def __init__(self) -> None:
        self._asked: deque[Requested] = deque(maxlen=PENDING)

    def see(self, event: Event) -> Iterator[Finding]:
        """Yield which clauses an event shows to be kept or broken."""
        if isinstance(event, Requested):
            self._asked.append(event)
            if event.path == LOOKUP:
                yield from _request(event)
        elif isinstance(event, Answered) and self._asked:
            asked = self._asked.popleft()
            is_lookup = asked.method == GET and event.path == LOOKUP
            if is_lookup and event.status == OK and event.is_whole:
                yield from _lookup(asked, event.body)


def _request(asked: Requested) -> Iterator[Finding]:
    """Return what a request shows; the original NSQ has no parameter access, nor is it bound."""
    named = asked.method == GET and bool(asked.value("topic"))
    what = "no topic" if asked.method == GET else f"{asked.method} instead of GET"
    yield shown("smart.client-lookup.topic", "" if named else what)
    access = asked.value("access")
    if access is not None:
        yield shown("smart.client.lookup-access", _fault_of_access(access, asked))


def _fault_of_access(access: str, asked: Requested) -> str:
    if access not in ("r", "w"):
        return f"access is {access!r}, neither r nor w"
    # Only a lookup that represents a producer needs metainfo.
    needs_meta = access == "w" and asked.value("metainfo") != "true"
    return "access=w without metainfo=true" if needs_meta else ""


def _lookup(asked: Requested, body: bytes) -> Iterator[Finding]:
    try:
        value: JsonValue = json.loads(body)
    except RecursionError:
        return
    except ValueError:
        yield shown("smart.lookup.answer", "the answer is no JSON")
        return
    answer = fields_of(value)
    if answer.get("status_code", OK) != OK:
        return  # refused, in the envelope
    inner = answer.get("data")
    data = inner if isinstance(inner, dict) else answer
    if not {"partitions", "meta"} & data.keys():
        return  # of the original nsqlookupd, which these clauses do not bind
    missing = [name for name in ("channels", "partitions", "producers") if name not in data]
    yield shown("smart.lookup.answer", f"no {' and no '.join(missing)}" if missing else "")
    partitions = data.get("partitions")
    for number, record in partitions.items() if isinstance(partitions, dict) else ():
        fault = next(iter(json_schema.check("nsq/lookup-node", record)), None)
        what = f"partition {number}{fault.pointer}: {fault.text}" if fault else ""
        yield shown("smart.lookup.node-record", what)
    if asked.value("metainfo") == "true":
        yield shown("smart.lookup.metainfo", _fault_of_meta(data.get("meta")))


def _fault_of_meta(meta: JsonValue) -> str:
    if not isinstance(meta, dict):
        return "no meta"
    wrong = [name for name in ("partition_num", "replica") if not isinstance(meta.get(name), int)]
    return f"meta: no {wrong[0]}" if wrong else ""
