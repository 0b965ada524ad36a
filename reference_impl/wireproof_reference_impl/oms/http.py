"""One HTTP connection: each POST carries a request of the adapter protocol, in order."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

from wireproof_reference_impl.http_stream import (
    CONTINUE,
    BadRequest,
    Head,
    RequestServer,
    answer_head,
)
from wireproof_reference_impl.oms.adapter.adapter import Adapter
from wireproof_reference_impl.oms.adapter.exact_json import exact_json
from wireproof_reference_impl.oms.adapter.requests import Malformed
from wireproof_spec.driver.lines import MAX_LINE_BYTES
from wireproof_spec.strict_json import JsonValue

_JSON: Final = "application/json"
_TEXT: Final = "text/plain; charset=utf-8"
_METHOD: Final = "POST"


class HttpConnection(RequestServer):
    """One HTTP connection to the adapter; a request waits until the one before is answered."""

    def __init__(self, adapter: Adapter, client: str, changed: Callable[[], None]) -> None:
        super().__init__()
        self.client = client
        self._adapter = adapter
        self._changed = changed
        self._head: Head | None = None
        self._now_ns = 0
        self._is_answered = True
        self._is_reading = False

    def receive(self, data: bytes, now_ns: int) -> None:
        """Process bytes from the client."""
        if not self.closed:
            self._requests.feed(data)
            self._read(now_ns)

    def end(self, now_ns: int) -> None:
        """Handle the end of the client's stream."""
        if not self.closed:
            self._requests.end()
            self._read(now_ns)

    def lose(self) -> None:
        """Handle the loss of the connection."""
        self.closed = True
        self._adapter.forget(self)

    def answer(self, answer: Mapping[str, JsonValue], now_ns: int) -> None:
        """Write the answer to the present request, and process those behind it."""
        self._is_answered = True
        body = exact_json(dict(answer))
        self._write(HTTPStatus.OK, body, _JSON, closes=not (self._head and self._head.lasts))
        self._changed()
        self._read(now_ns)

    def _read(self, now_ns: int) -> None:
        """Follow the events of the stream as far as answers do not have to be awaited."""
        if self._is_reading:  # an answer came at once: the loop that asked for it goes on
            return
        self._now_ns, self._is_reading = now_ns, True
        try:
            while self._is_answered and not self.closed:
                event = self._requests.next()
                if event is None:
                    return
                self._follow(event)
        except BadRequest as bad:
            self._refuse(HTTPStatus(bad.status), "")
        finally:
            self._is_reading = False

    def _begin(self, head: Head) -> None:
        self._head = head
        self._body.clear()
        self._check_length(head.length)
        if head.expects and not self.closed:
            self._output.append(CONTINUE)

    def _take(self, data: bytes) -> None:
        self._body += data
        self._check_length(len(self._body))

    def _check_length(self, length: int) -> None:
        if length > MAX_LINE_BYTES:
            text = f"expected a body of at most {MAX_LINE_BYTES} bytes"
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)

    def _finish(self) -> None:
        if self._head is None or self._head.method != _METHOD:
            text = "expected POST with a request of the adapter protocol as the body"
            self._refuse(HTTPStatus.METHOD_NOT_ALLOWED, text)
            return
        self._is_answered = False
        try:
            self._adapter.ask(bytes(self._body), self, self._now_ns)
        except Malformed as malformed:
            self._is_answered = True
            self._refuse(HTTPStatus.BAD_REQUEST, str(malformed))

    def _refuse(self, status: HTTPStatus, text: str) -> None:
        self._write(status, text.encode(), _TEXT, closes=True)

    def _write(self, status: HTTPStatus, body: bytes, kind: str, *, closes: bool) -> None:
        headers = [("Content-Type", kind), ("Content-Length", str(len(body)))]
        self._output.append(
            answer_head(status, headers, reason=status.phrase, closes=closes) + body
        )
        self.closed = closes
