"""One HTTP connection: requests in, one handler for each path and method, bytes out."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from wireproof_reference_impl.http_stream import (
    CONTINUE,
    BadRequest,
    Head,
    RequestServer,
    answer_head,
)
from wireproof_reference_impl.iggy.behaviour import HttpBehaviour
from wireproof_reference_impl.iggy.wire import exchange
from wireproof_reference_impl.iggy.wire.exchange import (
    JSON,
    Answer,
    Exchange,
    Framing,
    Handler,
    HeaderFields,
    Reason,
    Routes,
    Unfit,
    as_they_are,
    count_body,
    no_reason,
    split_path,
    text,
)
from wireproof_reference_impl.iggy.wire.status import IO_ERROR, Refusal

S = TypeVar("S")

_NO_CONTENT = 204

Refuse = Callable[[Refusal], Answer]
"""Makes the answer to a refusal of the broker."""


class HttpConnection(RequestServer, Generic[S]):
    """The server's side of one HTTP connection, without I/O; requests are answered in order."""

    def __init__(
        self,
        site: S,
        routes: Routes[S],
        refuse: Refuse,
        *,
        most_body_bytes: int,
        fields: Callable[[HeaderFields], HeaderFields] = as_they_are,
        framing: Framing = count_body,
        keeps_open: bool = True,
        reason: Reason = no_reason,
    ) -> None:
        super().__init__()
        self._site = site
        self._routes = {tuple(split_path(path.encode())): each for path, each in routes.items()}
        self._refuse = refuse
        self._most_body_bytes = most_body_bytes
        self._fields = fields
        self._framing = framing
        self._keeps_open = keeps_open
        self._reason = reason
        self._head: Head | None = None
        self._now_us = 0

    def receive(self, data: bytes, now_us: int) -> None:
        """Process bytes from the client: answer every complete request."""
        if self.closed:
            return
        self._now_us = now_us
        self._requests.feed(data)
        self._read()

    def end(self) -> None:
        """Handle the end of the client's stream; an incomplete request is refused."""
        if not self.closed:
            self._requests.end()
            self._read()
        self.closed = True

    def _read(self) -> None:
        try:
            while not self.closed and (event := self._requests.next()) is not None:
                self._follow(event)
        except BadRequest as fault:
            self._answer(Answer(fault.status), closing=True)

    def _begin(self, head: Head) -> None:
        self._head = head
        self._body.clear()
        if head.length > self._most_body_bytes:
            self._too_long()
        elif head.expects:
            self._output.append(CONTINUE)

    def _take(self, data: bytes) -> None:
        self._body += data
        if len(self._body) > self._most_body_bytes:
            self._too_long()

    def _too_long(self) -> None:
        """Refuse a body that is too long before it is read; the connection must end then."""
        self._answer(text("length limit exceeded", 413), closing=True)

    def _finish(self) -> None:
        if self._head is None:
            return
        try:
            answer = self._handle(self._head)
        except Unfit as unfit:
            answer = exchange.in_plain_text(unfit)
        except Refusal as refusal:
            answer = self._refuse(refusal)
        except OSError:
            answer = self._refuse(Refusal(IO_ERROR, "IO error"))
        self._answer(answer, closing=not self._head.lasts)

    def _handle(self, head: Head) -> Answer:
        path, _, query = head.target.partition(b"?")
        words = split_path(path)
        methods, opened = self._route(words)
        if methods is None:
            return Answer(404)
        handler = methods.get("GET" if head.method == "HEAD" else head.method)
        if handler is None:
            return Answer(405, headers=(("Allow", _list_allowed(methods)),))
        kind = head.field(b"content-type").decode("latin-1")
        body = bytes(self._body)
        access = head.field(b"authorization").decode("latin-1")
        return handler(Exchange(self._site, opened, query, kind, body, self._now_us, access))

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

    def _answer(self, answer: Answer, *, closing: bool = False) -> None:
        closing = closing or not self._keeps_open
        framing = (
            self._framing if self._head is not None and self._head.takes_chunks else count_body
        )
        framed, body = (_without if answer.status == _NO_CONTENT else framing)(answer.body)
        headers = [*answer.headers, *framed]
        if answer.content_type:
            headers.append(("Content-Type", answer.content_type))
        if closing:
            headers.append(("Connection", "close"))
        fields, reason = self._fields(headers), self._reason(answer.status)
        self._output.append(answer_head(answer.status, fields, reason=reason))
        if self._head is None or self._head.method != "HEAD":
            self._output.append(body)
        self.closed = closing


def serve_site(
    site: S, routes: Routes[S], refuse: Refuse, http: HttpBehaviour
) -> HttpConnection[S]:
    """Return the protocol of an accepted HTTP connection to a server, as its behaviour says."""
    return HttpConnection(
        site,
        routes,
        refuse,
        most_body_bytes=http.most_body_bytes,
        fields=http.fields,
        framing=http.framing,
        keeps_open=http.keeps_open,
        reason=http.reason,
    )


def _without(body: bytes) -> tuple[HeaderFields, bytes]:
    """Return no header fields and no body."""
    return (), b""


def json_answer(body: bytes, status: int = 200) -> Answer:
    """Return an HTTP answer with a JSON body."""
    return Answer(status, body, JSON)


def _list_allowed(methods: Mapping[str, object]) -> str:
    names = sorted(methods)
    if "GET" in names:
        names.insert(names.index("GET") + 1, "HEAD")
    return ",".join(names)
