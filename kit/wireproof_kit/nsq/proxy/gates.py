"""What a proxy changes in NSQ: IDENTIFY as far as needed, and addresses in lookup answers.

Everything else passes unchanged, and so does IDENTIFY unless it asks for what nobody could read on
the way. Only the body of a first IDENTIFY is held, and heads of requests to lookup servers with
their answers.
"""

import json
import re

import h11

from wireproof_kit.nsq.clients.decoder import LOOKUPD, NSQD
from wireproof_kit.nsq.proxy.addresses import LISTING, rewrite_addresses
from wireproof_kit.nsq.proxy.node_state import json_members
from wireproof_kit.proxy.fronts import Front, FrontFor, Gate, OpenGate
from wireproof_kit.proxy.http_stream import HttpExchange, HttpResponse, path_of
from wireproof_spec.nsq import names

BEGINNING = names.MAGIC + names.IDENTIFY + b"\n"
DECLINED = ("tls_v1", "deflate", "snappy")
MOST_IDENTIFY = 1 << 16
MOST_ANSWER = 8 << 20
_SIZE = 4
_ACCEPT_ENCODING = re.compile(rb"^accept-encoding[ \t]*:[^\r\n]*", re.IGNORECASE | re.MULTILINE)
_IDENTITY = b"Accept-Encoding: identity"


def make_gate(front: Front, host: str, front_for: FrontFor) -> Gate:
    """Return the gate, which may change bytes on their way, for a connection to an NSQ service."""
    if front.kind == LOOKUPD:
        return LookupGate(host, front_for)
    return NodeGate() if front.kind == NSQD else OpenGate()


class NodeGate(OpenGate):
    """Removes the request for TLS and compression from the first IDENTIFY sent to a node."""

    def __init__(self) -> None:
        super().__init__()
        self._begun = bytearray()
        self._is_past = False

    def from_client(self, data: bytes) -> bytes:
        """Return the bytes for the node; an IDENTIFY is held back until its body is complete."""
        if self._is_past:
            return data
        passed = b""
        if len(self._begun) < len(BEGINNING):
            missing = len(BEGINNING) - len(self._begun)
            passed, data = data[:missing], data[missing:]
            self._begun += passed
            if not BEGINNING.startswith(self._begun):
                self._is_past = True
                return passed + data
        self.held[True] += data
        return passed + self._identify()

    def _identify(self) -> bytes:
        held = bytes(self.held[True])
        if len(held) < _SIZE:
            return b""
        size = int.from_bytes(held[:_SIZE], "big")
        if size <= MOST_IDENTIFY and len(held) < _SIZE + size:
            return b""
        self._is_past = True
        rest = self.release(by_client=True)
        if size > MOST_IDENTIFY:
            return rest
        body = self._decline(rest[_SIZE : _SIZE + size])
        return len(body).to_bytes(_SIZE, "big") + body + rest[_SIZE + size :]

    def _decline(self, body: bytes) -> bytes:
        """Return the body of IDENTIFY without what the proxy declines."""
        told = json_members(body)
        asked = [name for name in DECLINED if told.get(name)]
        if not asked:
            return body
        what = ", ".join(asked)
        self.notes.append(f"IDENTIFY asks for {what}: declined by the proxy, which reads along")
        return json.dumps({**told, **dict.fromkeys(asked, False)}).encode()


class LookupGate(OpenGate):
    """Replaces addresses in responses of a lookup server, so that clients connect to the proxy.

    The server is asked not to compress its response. One that does so nevertheless is read if
    the compression is known.
    """

    def __init__(self, host: str, front_for: FrontFor) -> None:
        super().__init__()
        self._host = host
        self._front_for = front_for
        self._exchange = HttpExchange(MOST_ANSWER)
        self._is_broken = False
        self._is_ended = False

    def from_client(self, data: bytes) -> bytes:
        """Return the bytes of requests; a head is held back until it is complete."""
        self.held[True] += data
        passed = b""
        try:
            for found in () if self._is_broken else self._exchange.feed_client(data):
                passed += self._ask_plainly(self._take(found.left, by_client=True), found.request)
        except h11.ProtocolError:
            self._is_broken = True
        if self._is_broken or not self._exchange.is_in_head:
            passed += super().release(by_client=True)
        return passed

    def from_server(self, data: bytes) -> bytes:
        """Return the responses completed by these bytes, with their addresses replaced."""
        self.held[False] += data
        passed = b""
        try:
            for response in () if self._is_broken else self._exchange.feed_server(data):
                passed += self._rewrite(response, self._take(response.left, by_client=False))
        except h11.ProtocolError:
            self._is_broken = True
        is_held = self._exchange.is_whole(LISTING) and len(self.held[False]) <= MOST_ANSWER
        if self._is_broken or not is_held:
            passed += super().release(by_client=False)
        return passed

    def release(self, *, by_client: bool) -> bytes:
        """Return the bytes held back; a response may be completed by the end of the connection."""
        if by_client or not self.held[False] or self._is_ended:
            return super().release(by_client=by_client)
        self._is_ended = True
        return self.from_server(b"") + super().release(by_client=False)

    def _take(self, left: int, *, by_client: bool) -> bytes:
        """Return and forget the bytes held back but for the last ``left`` ones."""
        held = self.held[by_client]
        raw = bytes(held[: len(held) - left])
        del held[: len(raw)]
        return raw

    def _ask_plainly(self, raw: bytes, request: h11.Request) -> bytes:
        """Return a request that does not ask for compression, if the response is to be read."""
        begins = raw.startswith(request.method + b" " + request.target + b" ")
        if not begins or path_of(request) not in LISTING:
            return raw  # the end of another request's body precedes it: the response is read
        asked = _ACCEPT_ENCODING.sub(_IDENTITY, raw)
        if asked != raw:
            self.notes.append("the lookup server is asked not to compress its answer")
        return asked

    def _rewrite(self, response: HttpResponse, raw: bytes) -> bytes:
        if response.path not in LISTING:
            return raw
        if not response.is_kept:
            self.notes.append("the answer is too long or compressed: it leads past the proxy")
            return raw
        changed = rewrite_addresses(response.body, self._host, self._front_for)
        if changed is None:
            return raw
        self.notes += changed.notes
        return response.with_body(changed.body)
