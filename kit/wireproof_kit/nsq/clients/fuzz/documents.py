"""The answers of nsqlookupd as frames with field maps: head and JSON document."""

import itertools
from collections.abc import Iterator, Mapping

from hypothesis import strategies as st

from wireproof_kit.fuzz.case import Frame
from wireproof_kit.fuzz.clients.http_answers import keep_document, response_frame
from wireproof_kit.fuzz.json_fields import open_documents
from wireproof_kit.nsq.clients.events import Requested
from wireproof_kit.nsq.clients.lookup_server import LISTLOOKUP, LOOKUP, answer
from wireproof_kit.nsq.clients.script import LOOKUP_1, NODE_1, Respond, Script, Shape

PORTS: Mapping[str, bytes] = {LOOKUP_1: b"65511", NODE_1: b"65522"}
"""Placeholders in cases for the ports of servers; both have five digits, as ephemeral ports."""
_ADDRESSES = {name: f"127.0.0.1:{port.decode()}" for name, port in PORTS.items()}
_SHAPES: tuple[Shape, ...] = ("redesigned", "original")


def kinds() -> Mapping[str, st.SearchStrategy[Frame]]:
    """Return a strategy for each kind of lookup response, in both shapes and both envelopes.

    In a kind ``document of …`` only values of the body are mutated; a whole response has as many
    fields in its head.
    """
    found: dict[str, st.SearchStrategy[Frame]] = {}
    for path in (LOOKUP, LISTLOOKUP):
        answers = tuple(_answers(path))
        found[f"answer to GET {path}"] = st.sampled_from(answers)
        documents = [
            keep_document(each, f"document of GET {path}")
            for each in answers
            if b" 200 " in each.data
        ]
        found[f"document of GET {path}"] = st.sampled_from(documents)
    return found


def place_ports(data: bytes, ports: Mapping[str, bytes]) -> bytes:
    """Replace the placeholders in the bytes of a case by the ports at which servers listen."""
    for name, port in PORTS.items():
        if port in data:
            data = data.replace(port, ports[name])
    return data


def _answers(path: str) -> Iterator[Frame]:
    request = Requested(0.0, "", "GET", path, {}, {})
    for shape, v1, status in itertools.product(_SHAPES, (False, True), (200, 404)):
        if path == LISTLOOKUP and shape == "original":
            continue
        script = Script("consumer", shape=shape, listed=(LOOKUP_1,))
        told = answer(
            request,
            Respond(status, v1=v1),
            script=script,
            leaders={0: NODE_1},
            addresses=_ADDRESSES,
        )
        yield open_documents(response_frame(f"answer to GET {path}", told))
