"""The parameters of a request, with the checks of nsqlookupd."""

from wireproof_reference_impl.nsq.requests.http_request import HttpRefusal, Request
from wireproof_reference_impl.nsq.wire.words import BadWord, integer
from wireproof_spec.nsq import error_codes
from wireproof_spec.nsq.names import is_valid_name

INVALID_TOPIC_NAME = "invalid topic name"


def topic(request: Request) -> str:
    """Return the parameter `topic` of a request; the name is not checked.

    Raises:
        HttpRefusal: the parameter is missing.
    """
    name = request.text("topic")
    if not name:
        raise HttpRefusal(400, error_codes.MISSING_ARG_TOPIC)
    return name


def topic_name(request: Request, invalid: str = error_codes.INVALID_ARG_TOPIC) -> str:
    """Return the parameter `topic` of a request that creates or changes a topic.

    Raises:
        HttpRefusal: the topic is missing, or its name is invalid.
    """
    name = topic(request)
    if not is_valid_name(name):
        raise HttpRefusal(400, invalid)
    return name


def channel_name(request: Request) -> str:
    """Return the parameter `channel` of a request that creates or removes a channel.

    Raises:
        HttpRefusal: the channel is missing, or its name is invalid.
    """
    name = request.text("channel")
    if not name:
        raise HttpRefusal(400, "MISSING_ARG_CHANNEL")
    if not is_valid_name(name):
        raise HttpRefusal(400, "INVALID_ARG_CHANNEL")
    return name


def flag(request: Request, name: str) -> bool:
    """Return True if a parameter of a request is exactly `true`."""
    return request.query.get(name) == b"true"


def number(
    request: Request, name: str, within: range, *, missing: str | None, invalid: str | None
) -> int:
    """Return a decimal parameter of a request; 0 if missing, unless `missing` gives an error.

    Without `invalid`, the refusal has the text of the number parser.

    Raises:
        HttpRefusal: the parameter is missing, no number, or out of range.
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
