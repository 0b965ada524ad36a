"""The parameters of a request, checked as nsqlookupd checks them."""

from wireproof_reference_impl.nsq.requests.http_request import HttpRefusal, Request
from wireproof_reference_impl.nsq.wire.words import BadWord, integer
from wireproof_spec.nsq import error_codes
from wireproof_spec.nsq.names import is_valid_name

INVALID_TOPIC_NAME = "invalid topic name"


def topic(request: Request) -> str:
    """Return the topic asked for; its name is not checked.

    Raises:
        HttpRefusal: there is none.
    """
    name = request.text("topic")
    if not name:
        raise HttpRefusal(400, error_codes.MISSING_ARG_TOPIC)
    return name


def topic_name(request: Request, invalid: str = error_codes.INVALID_ARG_TOPIC) -> str:
    """Return the topic to be made or changed.

    Raises:
        HttpRefusal: there is none, or its name is not valid.
    """
    name = topic(request)
    if not is_valid_name(name):
        raise HttpRefusal(400, invalid)
    return name


def channel_name(request: Request) -> str:
    """Return the channel to be made or removed.

    Raises:
        HttpRefusal: there is none, or its name is not valid.
    """
    name = request.text("channel")
    if not name:
        raise HttpRefusal(400, "MISSING_ARG_CHANNEL")
    if not is_valid_name(name):
        raise HttpRefusal(400, "INVALID_ARG_CHANNEL")
    return name


def flag(request: Request, name: str) -> bool:
    """Return True if a parameter is exactly `true`."""
    return request.query.get(name) == b"true"


def number(
    request: Request, name: str, within: range, *, missing: str | None, invalid: str | None
) -> int:
    """Return a decimal number; without `missing` it may be left out and is 0.

    Without `invalid` the refusal says what the number parser says.

    Raises:
        HttpRefusal: it is missing, no number, or out of range.
    """
    word = request.query.get(name, b"")
    if not word:
        if missing is None:
            return 0
        raise HttpRefusal(400, missing)
    value = _parse_number(word, invalid)
    if value not in within:
        raise HttpRefusal(400, invalid or f"{name} {value} is out of range")
    return value


def _parse_number(word: bytes, invalid: str | None) -> int:
    try:
        return integer(word)
    except BadWord as bad:
        raise HttpRefusal(400, invalid or str(bad)) from bad
