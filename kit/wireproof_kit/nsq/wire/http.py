"""HTTP requests to a broker or lookup server, with decoded and recorded answers."""

import re
from dataclasses import dataclass

from wireproof_kit.wire.address import Address as Address
from wireproof_kit.wire.http import TOKEN, ConnectionPool, TransferResult, request_bytes, transfer
from wireproof_kit.wire.http import Headers as Headers
from wireproof_kit.wire.http import Query as Query
from wireproof_kit.wire.http import path_with_query as path_with_query
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.nsq.names import V1_ACCEPT
from wireproof_spec.strict_json import JsonValue, StrictJson

TRACE_FIELDS = frozenset({"status", "id", "trace_id", "queue_offset", "rawsize"})


@dataclass(frozen=True, slots=True)
class HttpAnswer(TransferResult):
    """An HTTP response of a broker or lookup server, or in ``failure`` why there is none."""

    @property
    def code(self) -> str:
        """Return the error code in the body, inside an envelope or not; empty without one."""
        value = self.json.value if self.json else None
        if not isinstance(value, dict):
            return ""
        if "message" in value:
            return str(value["message"])
        return str(value["status_txt"]) if "status_txt" in value else ""

    @property
    def data(self) -> JsonValue:
        """Return the body's JSON value without its envelope; None when there is none."""
        value = self.json.value if self.json else None
        return value["data"] if self.is_wrapped and isinstance(value, dict) else value

    @property
    def is_wrapped(self) -> bool:
        """Return True if the JSON is wrapped in status_code, status_txt and data."""
        value = self.json.value if self.json else None
        return isinstance(value, dict) and {"status_code", "data"} <= value.keys()

    @property
    def is_ok(self) -> bool:
        """Return True if the status is 200 and the body is OK, a trace response or empty."""
        return self.status == 200 and self.word in ("ok", "trace", "empty")

    @property
    def word(self) -> str:
        """Return the body's token: ``ok``, ``trace``, ``empty``, ``json``, a code or ``other``."""
        text = self.body.strip()
        if text in (b"OK", b'"OK"'):
            return "ok"
        if not text:
            return "empty"
        data = self.data
        if self.status == 200 and isinstance(data, dict) and data.keys() >= TRACE_FIELDS:
            return "trace"
        if self.status == 200 and isinstance(self.json, StrictJson):
            return "json"
        first = self.code.partition(" ")[0]
        return first if re.fullmatch(r"[A-Za-z0-9_]+", first) else "other"


class HttpClient:
    """Sends requests to one address, each on a new connection unless it keeps one open."""

    def __init__(
        self,
        address: Address,
        *,
        transcript: Transcript,
        seconds: float,
        line: ConnectionPool | None = None,
        token: str = "",
    ) -> None:
        self.address = address
        self._line = line
        self._token = token
        self._transcript = transcript
        self._seconds = seconds

    def at(self, address: Address | None) -> "HttpClient":
        """Return a client for another address."""
        if address is None or address == self.address:
            return self
        return HttpClient(address, transcript=self._transcript, seconds=self._seconds)

    def record_to(self, transcript: Transcript) -> "HttpClient":
        """Return a client that records in another transcript and keeps no connection open."""
        return HttpClient(
            self.address, transcript=transcript, seconds=self._seconds, token=self._token
        )

    def close(self) -> None:
        """Close the connection that is kept open, if any."""
        if self._line is not None:
            self._line.close()

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Query | str = "",
        headers: Headers = (),
        body: bytes = b"",
        v1: bool = False,
    ) -> HttpAnswer:
        """Send one request and return the response.

        A ``query`` given as text is sent unchanged; ``v1`` asks for responses without an envelope.
        """
        target = path_with_query(path, query)
        asked = [("Accept", V1_ACCEPT)] if v1 and not _names(headers, "accept") else []
        held = [("Connection", "keep-alive")] if self._line is not None else []
        shown = [("Authorization", f"Bearer {TOKEN}")] if self._token else []
        wire = request_bytes(
            method, target, self.address, headers=[*held, *asked, *shown, *headers], body=body
        )
        return self.send(wire, what=f"{method} {target}")

    def send(self, data: bytes, *, what: str = "raw request", method: str = "POST") -> HttpAnswer:
        """Send any bytes as a request and return the response.

        The client's token, if it has one, is sent in the place of the word ``TOKEN``. The
        transcript keeps the word, since who reads a bundle must not get in with the token.
        """
        name = self._transcript.connection_label()
        self._transcript.add("request", name, data=data, note=what)
        if self._token:
            data = data.replace(TOKEN.encode(), self._token.encode(), 1)
        together = self._transcript.together
        if self._line is None:
            came = transfer(
                self.address, data, seconds=self._seconds, method=method, together=together
            )
        else:
            came = self._line.transfer(
                data, seconds=self._seconds, method=method, together=together
            )
        if came.failure == "silence":
            self._transcript.add_wait(self._seconds)
        note = came.failure or str(came.status)
        step = self._transcript.add("response", name, data=came.received, note=note)
        return _convert_answer(came, step.index)


def _names(headers: Headers, name: str) -> bool:
    return any(key.lower() in (name, name.encode()) for key, _ in headers)


def make_failed(how: str) -> HttpAnswer:
    """Return the HttpAnswer of a request without a response; ``how`` is its ``failure``."""
    return HttpAnswer(0, (), b"", failure=how)


def _convert_answer(came: TransferResult, step: int) -> HttpAnswer:
    return HttpAnswer(came.status, came.headers, came.body, came.json, came.failure, step=step)
