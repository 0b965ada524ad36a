"""Requests over HTTP: who may send them, what they name, and how they are refused."""

from collections.abc import Callable, Mapping

from wireproof_reference_impl.iggy.apache.login import PASSWORD, USER_ID, USER_NAME
from wireproof_reference_impl.iggy.apache.node import Node
from wireproof_reference_impl.iggy.apache.refusals import Denied, Rejected
from wireproof_reference_impl.iggy.http.connection import json_answer
from wireproof_reference_impl.iggy.http.reading import json_object, whole_number
from wireproof_reference_impl.iggy.wire.exchange import Answer, Exchange
from wireproof_reference_impl.iggy.wire.status import Refusal, Status
from wireproof_spec.iggy.apache import statuses
from wireproof_spec.iggy.bodies.identifier import Identifier, make_named, numeric

Asked = Exchange[Node]
Handler = Callable[[Asked], Answer]

_BAD, _NO_TOKEN, _ABSENT = 400, 401, 404
_BEARER = "Bearer "
_LIFE_S = 3600
_MICROSECONDS = 1_000_000
_ABSENT_THINGS = frozenset(
    {
        statuses.STREAM_ID_NOT_FOUND,
        statuses.TOPIC_ID_NOT_FOUND,
        statuses.CONSUMER_OFFSET_NOT_FOUND,
        statuses.RESOURCE_NOT_FOUND,
    }
)


def refusal(code: int, http: int = _BAD, reason: str = "") -> Refusal:
    """Return the refusal of an HTTP request with a status code."""
    name = statuses.STATUSES[code]
    return Refusal(Status(code, name, http), reason or name.replace("_", " ").capitalize())


def absent() -> Refusal:
    """Return the refusal of a request for a stream, topic or offset that does not exist."""
    return Refusal(Status(_ABSENT, "not_found", _ABSENT), "Resource not found")


def error_object(found: Refusal) -> Mapping[str, object]:
    """Return a refusal as the JSON object of an error response."""
    code, name, _ = found.status
    return {"id": code, "code": name, "reason": found.reason, "field": None}


def translated(handler: Handler) -> Handler:
    """Return a handler whose refusals of the node are those of HTTP."""

    def handle(exchange: Asked) -> Answer:
        try:
            return handler(exchange)
        except Denied as denied:
            if denied.status in _ABSENT_THINGS:
                raise absent() from None
            missing = denied.status == statuses.PARTITION_NOT_FOUND
            raise refusal(denied.status, _ABSENT if missing else _BAD) from None
        except Rejected as rejected:
            raise refusal(rejected.result) from None

    return handle


def protected(handler: Handler) -> Handler:
    """Return a handler that refuses a request without the token of a login."""

    def handle(exchange: Asked) -> Answer:
        if exchange.authorization.removeprefix(_BEARER) not in exchange.site.tokens:
            raise refusal(statuses.ACCESS_TOKEN_MISSING, _NO_TOKEN, "Access token is missing")
        return translated(handler)(exchange)

    return handle


def login(exchange: Asked) -> Answer:
    """Handle a login: answer with a token."""
    fields = json_object(exchange)
    if (fields.text("username"), fields.text("password")) != (USER_NAME, PASSWORD):
        raise refusal(statuses.INVALID_CREDENTIALS)
    token = f"{exchange.site.around.new_id():032x}"
    exchange.site.tokens.add(token)
    expiry = exchange.now_us // _MICROSECONDS + _LIFE_S
    access = {"token": token, "expiry": expiry}
    return answer_json(exchange, {"user_id": USER_ID, "access_token": access})


def answer_json(exchange: Asked, value: object, status: int = 200) -> Answer:
    """Return an HTTP answer with a value as JSON."""
    return json_answer(exchange.site.behaviour.json.encode(value), status)


def identifier(word: str) -> Identifier:
    """Return the identifier that a segment of a path or a parameter of a query spells."""
    number = whole_number(word)
    if number is not None:
        return numeric(number)
    if not 1 <= len(word.encode()) <= 255:
        raise absent()
    return make_named(word)


def place(exchange: Asked) -> tuple[Identifier, Identifier]:
    """Return the stream and the topic that the path of a request names."""
    stream, topic = exchange.words[:2]
    return identifier(stream), identifier(topic)
