"""One HTTP connection: bytes in, h11 events, one handler for each path and method, bytes out."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import h11

from wireproof_reference_impl.iggy.core.status import IO_ERROR, Refusal
from wireproof_reference_impl.iggy.http.exchange import (
    JSON,
    Answer,
    Exchange,
    Handler,
    HeaderFields,
    Reason,
    Routes,
    Unfit,
    as_they_are,
    in_plain_text,
    no_reason,
    split_path,
    text,
)

S = TypeVar("S")

_MOST_HEAD_BYTES = 1 << 20

Refuse = Callable[[Refusal], Answer]
"""Makes the answer to a refusal of the broker."""


class HttpConnection(Generic[S]):
    """The protocol's side of one HTTP connection; requests are answered one after the other."""

    def __init__(
        self,
        site: S,
        routes: Routes[S],
        refuse: Refuse,
        *,
        most_body_bytes: int,
        fields: Callable[[HeaderFields], HeaderFields] = as_they_are,
        reason: Reason = no_reason,
        unfit: Callable[[Unfit], Answer] = in_plain_text,
    ) -> None:
        self.closed = False
        self._site = site
        self._routes = {tuple(split_path(path.encode())): each for path, each in routes.items()}
        self._refuse = refuse
        self._most_body_bytes = most_body_bytes
        self._fields = fields
        self._reason = reason
        self._unfit = unfit
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_MOST_HEAD_BYTES)
        self._output: list[bytes] = []
        self._request: h11.Request | None = None
        self._body = bytearray()
        self._now_us = 0

    def receive(self, data: bytes, now_us: int) -> None:
        """Take bytes from the client and answer every request that is complete."""
        if self.closed:
            return
        self._now_us = now_us
        self._http.receive_data(data)
        try:
            while not self.closed and self._event(self._http.next_event()):
                pass
        except h11.RemoteProtocolError as fault:
            self._broken(fault)

    def end(self) -> None:
        """Learn that the client sends no more, or is gone; a request cut short is refused."""
        self.receive(b"", self._now_us)
        self.closed = True

    def take_output(self) -> bytes:
        """Return what is to be sent, once."""
        data = b"".join(self._output)
        self._output.clear()
        return data

    def _event(self, event: object) -> bool:
        if isinstance(event, h11.Request):
            self._begin(event)
        elif isinstance(event, h11.Data):
            self._take(event.data)
        elif isinstance(event, h11.EndOfMessage):
            self._finish()
        else:
            self.closed = isinstance(event, h11.ConnectionClosed)
            return False
        return True

    def _begin(self, event: h11.Request) -> None:
        self._request = event
        self._body.clear()
        length = int(dict(event.headers).get(b"content-length", b"0"))
        if length > self._most_body_bytes:
            self._too_long()
        elif self._http.they_are_waiting_for_100_continue:
            self._send(h11.InformationalResponse(status_code=100, headers=[]))

    def _take(self, data: bytes | bytearray) -> None:
        self._body += data
        if len(self._body) > self._most_body_bytes:
            self._too_long()

    def _too_long(self) -> None:
        """Answer before the body is read; the connection cannot go on after that."""
        self._answer(text("length limit exceeded", 413), closing=True)
        self.closed = True

    def _finish(self) -> None:
        if self._request is None:
            return
        try:
            answer = self._handled(self._request)
        except Unfit as unfit:
            answer = self._unfit(unfit)
        except Refusal as refusal:
            answer = self._refuse(refusal)
        except OSError:
            answer = self._refuse(Refusal(IO_ERROR, "IO error"))
        self._answer(answer)

    def _handled(self, request: h11.Request) -> Answer:
        path, _, query = request.target.partition(b"?")
        words = split_path(path)
        methods, opened = self._route(words)
        if methods is None:
            return Answer(404)
        method = request.method.decode("latin-1")
        handler = methods.get("GET" if method == "HEAD" else method)
        if handler is None:
            return Answer(405, headers=(("Allow", _allowed(methods)),))
        kind = dict(request.headers).get(b"content-type", b"").decode("latin-1")
        body = bytes(self._body)
        return handler(Exchange(self._site, opened, query, kind, body, self._now_us))

    def _route(
        self, words: tuple[str, ...]
    ) -> tuple[Mapping[str, Handler[S]] | None, tuple[str, ...]]:
        for pattern, methods in self._routes.items():
            if len(pattern) == len(words) and all(
                form in ("{}", word) for form, word in zip(pattern, words, strict=True)
            ):
                pairs = zip(pattern, words, strict=True)
                return methods, tuple(word for form, word in pairs if form == "{}")
        return None, ()

    def _broken(self, fault: h11.RemoteProtocolError) -> None:
        if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._answer(Answer(fault.error_status_hint), closing=True)
        self.closed = True

    def _answer(self, answer: Answer, *, closing: bool = False) -> None:
        headers = [*answer.headers, ("Content-Length", str(len(answer.body)))]
        if answer.content_type:
            headers.append(("Content-Type", answer.content_type))
        if closing:
            headers.append(("Connection", "close"))
        if answer.status == 204:
            headers = [each for each in headers if each[0] != "Content-Length"]
        fields, reason = [*self._fields(headers)], self._reason(answer.status)
        self._send(h11.Response(status_code=answer.status, headers=fields, reason=reason))
        if answer.body and not self._is_head():
            self._send(h11.Data(data=answer.body))
        self._send(h11.EndOfMessage())
        if self._http.our_state is h11.MUST_CLOSE:
            self.closed = True
        elif self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()

    def _is_head(self) -> bool:
        return self._request is not None and self._request.method == b"HEAD"

    def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            self._output.append(data)


def json_answer(body: bytes, status: int = 200) -> Answer:
    """Return an answer of JSON."""
    return Answer(status, body, JSON)


def _allowed(methods: Mapping[str, object]) -> str:
    names = sorted(methods)
    if "GET" in names:
        names.insert(names.index("GET") + 1, "HEAD")
    return ",".join(names)
