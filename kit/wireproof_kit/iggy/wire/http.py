"""A JSON client for Iggy's HTTP API and the control API, which records every byte."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from wireproof_kit.wire.address import Address
from wireproof_kit.wire.http import (
    TOKEN,
    Headers,
    Query,
    TransferResult,
    path_with_query,
    request_bytes,
    transfer,
)
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.iggy.bodies.partitioning import Partitioning
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.header_kinds import HEADER_KINDS
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.kinds import PARTITIONING_NAMES
from wireproof_spec.strict_json import JsonValue

JSON_TYPE = ("Content-Type", "application/json")
Body: TypeAlias = "Mapping[str, object] | Sequence[object] | bytes | None"
JsonObject: TypeAlias = dict[str, JsonValue]


class HttpClient:
    """Sends HTTP requests to one address, each on a new connection and with a bearer ``token``."""

    def __init__(
        self, address: Address, *, transcript: Transcript, seconds: float, token: str = ""
    ) -> None:
        self.address = address
        self._transcript = transcript
        self._seconds = seconds
        self._token = token

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Query | str = "",
        body: Body = None,
        headers: Headers | None = None,
    ) -> TransferResult:
        """Send one request and return the response.

        A bytes body is sent as it is, any other as JSON. ``headers`` replace the content type.
        """
        data = _encode_body(body)
        given: list[tuple[str | bytes, str | bytes]] = list(headers or ())
        if headers is None and body is not None:
            given.append(JSON_TYPE)
        target = path_with_query(path, query)

        def write_request(token: str) -> bytes:
            shown = [("Authorization", f"Bearer {token}")] if self._token else []
            fields = [*given, *shown]
            return request_bytes(method, target, self.address, headers=fields, body=data)

        wire = write_request(self._token)
        name = self._transcript.connection_label()
        # Who reads a bundle must not get in with it.
        self._transcript.add("request", name, data=write_request(TOKEN), note=f"{method} {target}")
        answer = transfer(
            self.address,
            wire,
            seconds=self._seconds,
            method=method,
            together=self._transcript.together,
        )
        if answer.failure == "silence":
            self._transcript.add_wait(self._seconds)
        note = answer.failure or str(answer.status)
        step = self._transcript.add("response", name, data=answer.received, note=note)
        return replace(answer, step=step.index)

    def get(self, path: str, query: Query | str = "") -> TransferResult:
        """Send a GET request and return the response."""
        return self.request("GET", path, query=query)

    def post(self, path: str, body: Body = None, query: Query | str = "") -> TransferResult:
        """Send a POST request with a JSON body and return the response."""
        return self.request("POST", path, query=query, body=body)

    def put(self, path: str, body: Body) -> TransferResult:
        """Send a PUT request with a JSON body and return the response."""
        return self.request("PUT", path, body=body)


@dataclass(frozen=True, slots=True)
class JsonPolled:
    """The decoded response to a poll over HTTP; ``objects`` are its messages.

    ``shape`` is that of the JSON: ``array``, ``object`` or ``other``.
    """

    answer: TransferResult
    shape: str
    objects: tuple[JsonObject, ...]

    @property
    def step(self) -> int | None:
        """Return the index of the transcript's step that recorded the response."""
        return self.answer.step

    @property
    def is_readable(self) -> bool:
        """Return True if the response was a success in one of the two known JSON shapes."""
        return self.shape != "other"


def is_success(answer: TransferResult) -> bool:
    """Return True if the status of an HTTP response is 2xx."""
    return 200 <= answer.status < 300


def json_polled(answer: TransferResult) -> JsonPolled:
    """Decode the response to a poll over HTTP, whether its JSON is an array or an object."""
    value = answer.json.value if answer.json is not None and is_success(answer) else None
    shape = "array" if isinstance(value, list) else "object" if _holds(value) else "other"
    listed = value["messages"] if shape == "object" and isinstance(value, dict) else value
    messages = listed if isinstance(listed, list) else []
    return JsonPolled(
        answer, shape, tuple(message for message in messages if isinstance(message, dict))
    )


def error_of(answer: TransferResult) -> tuple[int | None, str]:
    """Return the error number and name in a response's JSON; None and empty text if absent."""
    value = answer.json.value if answer.json is not None else None
    if not isinstance(value, dict):
        return None, ""
    number, name = value.get("id"), value.get("code")
    is_number = isinstance(number, int) and not isinstance(number, bool)
    return (number if is_number and isinstance(number, int) else None), (
        name if isinstance(name, str) else ""
    )


def messages_body(
    messages: Sequence[SentMessage | Mapping[str, object]], partitioning: Partitioning
) -> dict[str, object]:
    """Return the JSON body that sends messages; a message may be any JSON object."""
    return {
        "partitioning": {
            "kind": PARTITIONING_NAMES[partitioning.kind],
            "value": base64_text(partitioning.value),
        },
        "messages": [
            message_object(message) if isinstance(message, SentMessage) else message
            for message in messages
        ],
    }


def message_object(message: SentMessage) -> dict[str, object]:
    """Return a message as JSON, as in the published example; the headers only if it has any."""
    fields: dict[str, object] = {"id": message.id, "payload": base64_text(message.payload)}
    if message.headers:
        fields["headers"] = headers_object(message.headers)
    return fields


def headers_object(headers: Sequence[Header]) -> dict[str, dict[str, str]]:
    """Return message headers as JSON."""
    return {
        header.key: {"kind": HEADER_KINDS[header.kind], "value": base64_text(header.value)}
        for header in headers
    }


def base64_text(data: bytes) -> str:
    """Return bytes encoded as base64 with padding."""
    return base64.b64encode(data).decode("ascii")


def _holds(value: JsonValue) -> bool:
    return isinstance(value, dict) and isinstance(value.get("messages"), list)


def _encode_body(body: Body) -> bytes:
    if body is None:
        return b""
    return body if isinstance(body, bytes) else json.dumps(body).encode()
