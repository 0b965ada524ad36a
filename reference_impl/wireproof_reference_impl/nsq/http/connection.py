"""One HTTP connection, sans I/O: requests in, one handler for each path, bytes out."""

from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from wireproof_reference_impl.http_stream import (
    CONTINUE,
    BadRequest,
    Head,
    RequestServer,
    answer_head,
)
from wireproof_reference_impl.nsq.behaviour import Behaviour
from wireproof_reference_impl.nsq.delivery.timers import Timers
from wireproof_reference_impl.nsq.requests.http_request import (
    Answer,
    HttpRefusal,
    Request,
    error,
    is_escaped,
    read_query,
)
from wireproof_reference_impl.nsq.wire.limits import Limits
from wireproof_spec.nsq import error_codes

MESSAGE = "message"
BATCH = "batch"


class Site(Protocol):
    """The interface of what has an HTTP address: a node, a lookup server or the control API."""

    halted: bool

    @property
    def behaviour(self) -> Behaviour:
        """Return the behaviour table of the broker."""
        ...

    @property
    def limits(self) -> Limits:
        """Return the size limits."""
        ...

    @property
    def timers(self) -> Timers:
        """Return the timers."""
        ...

    @property
    def changed(self) -> dict[object, None]:
        """Return the connections that may have something to send, as keys of a dict."""
        ...


S = TypeVar("S", bound=Site)


class Route(Struct, Generic[S], frozen=True):
    """How requests for an HTTP path are served: handler, methods, body limit, and style."""

    handler: Callable[[S, Request], Answer]
    methods: tuple[str, ...] = ("POST", "PUT")
    always_v1: bool = False
    body: str = ""


class HttpConnection(RequestServer, Generic[S]):
    """The server's side of one HTTP connection, without I/O; requests are answered in order."""

    def __init__(self, site: S, routes: Mapping[str, Route[S]]) -> None:
        super().__init__()
        self.site = site
        self._routes = routes
        self._owes = False
        self._is_late = False
        self._lasts = True
        self._request: Request | None = None
        self._route: Route[S] | None = None
        self._now_ns = 0

    def receive(self, data: bytes, now_ns: int) -> None:
        """Read bytes from the client and answer every complete request."""
        if self.closed:
            return
        self._now_ns = now_ns
        self._requests.feed(data)
        self.go_on()

    def end_of_stream(self, now_ns: int) -> None:
        """Handle the end of the client's stream."""
        if not self.closed:
            self._now_ns = now_ns
            self._requests.end()
            self.go_on()
        self.closed = True
        self.site.changed[self] = None

    def handle_loss(self, now_ns: int) -> None:
        """Handle the loss of the connection."""
        self.closed = True

    def leave(self, now_ns: int) -> None:
        """Do nothing: an HTTP client has no messages in flight."""

    def go_on(self) -> None:
        """Process received bytes, and mark the connection as changed."""
        self._read()
        self.site.changed[self] = None

    def _read(self) -> None:
        """Handle received requests; later ones wait until a delayed answer has been sent."""
        try:
            while not (self.closed or self._is_late):
                event = self._requests.next()
                if event is None:
                    return
                self._follow(event)
        except BadRequest as fault:
            self._refuse_broken(fault)

    def _begin(self, head: Head) -> None:
        path, _, query = head.target.partition(b"?")
        self._request = Request(
            method=head.method,
            path=path.decode("latin-1"),
            query=read_query(query),
            headers=head.headers,
            now_ns=self._now_ns,
            escaped=is_escaped(query),
        )
        self._owes, self._lasts = True, head.lasts
        self._body.clear()
        self._route = self._routes.get(self._request.path)
        refusal = self._refusal(self._request, self._route, head.length)
        if refusal is not None:
            self._refuse(refusal)
        elif head.expects:
            self._output.append(CONTINUE)

    def _refusal(
        self, request: Request, route: Route[S] | None, length: int
    ) -> HttpRefusal | None:
        if route is None or request.path in self.site.behaviour.http.unknown_paths:
            self._route = None
            return HttpRefusal(404, error_codes.NOT_FOUND)
        if request.method not in route.methods:
            self._route = None
            allow = ", ".join(route.methods)
            return HttpRefusal(405, error_codes.METHOD_NOT_ALLOWED, allow=allow)
        return self._too_big(route) if length > self._limit(route) else None

    def _take(self, data: bytes) -> None:
        self._body += data
        if self._route is not None and len(self._body) > self._limit(self._route):
            self._refuse(self._too_big(self._route))

    def _finish(self) -> None:
        request, route = self._request, self._route
        if request is None or route is None:
            return
        body = self.site.behaviour.http.body(request, self._body)
        request = replace(request, body=body) if body else request
        try:
            if route.body and not request.body:
                raise HttpRefusal(406, error_codes.MSG_EMPTY)
            answer = self._handle(route, request)
        except HttpRefusal as refusal:
            answer = error(refusal.status, refusal.code, v1=request.v1 or route.always_v1)
        except OSError as failure:
            text = f"the change could not be kept: {failure.strerror or failure}"
            answer = error(500, text, v1=request.v1 or route.always_v1)
        self._is_late = answer.delay_ns != 0
        if answer.delay_ns == 0:
            self._answer(answer)
        elif answer.delay_ns is not None:
            due_ns = self._now_ns + answer.delay_ns
            self.site.timers.at(due_ns, lambda now_ns: self._answer_late(answer, now_ns))

    def _handle(self, route: Route[S], request: Request) -> Answer:
        if request.method == "OPTIONS":
            return Answer(200, b"", (("Allow", ", ".join(route.methods)),))
        return route.handler(self.site, request)

    def _answer_late(self, answer: Answer, now_ns: int) -> None:
        if not self.closed:
            self._now_ns, self._is_late = now_ns, False
            self._answer(answer)
            self._read()
            self.site.changed[self] = None

    def _limit(self, route: Route[S]) -> int:
        limits = self.site.limits
        return limits.body if route.body == BATCH else limits.message

    def _too_big(self, route: Route[S]) -> HttpRefusal:
        code = error_codes.BODY_TOO_BIG if route.body == BATCH else error_codes.MSG_TOO_BIG
        return HttpRefusal(413, code)

    def _refuse(self, refusal: HttpRefusal) -> None:
        """Refuse a request before its body is read, and close the connection."""
        v1 = self._route is None or self._route.always_v1
        v1 = v1 or (self._request is not None and self._request.v1)
        answer = error(refusal.status, refusal.code, v1=v1)
        allow = (("Allow", refusal.allow),) if refusal.allow else ()
        self._lasts = False
        self._answer(replace(answer, headers=answer.headers + allow))

    def _refuse_broken(self, fault: BadRequest) -> None:
        if self._owes and self.site.behaviour.http.short_body_taken:
            self._finish()
        else:
            self._lasts = False
            self._answer(error(fault.status, "BAD_REQUEST", v1=True))
        self.closed = True

    def _answer(self, answer: Answer) -> None:
        headers = (*answer.headers, ("Content-Length", str(len(answer.body))))
        self._output.append(answer_head(answer.status, headers, closes=not self._lasts))
        if self._request is None or self._request.method != "HEAD":
            self._output.append(answer.body)
        self._owes = False
        self.closed = not (self._lasts and self.site.behaviour.http.keeps_open)
