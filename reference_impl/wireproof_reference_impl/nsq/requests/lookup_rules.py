"""Choices of a lookup server: the published defaults, and those of deployed servers."""

from wireproof_reference_impl.nsq.requests.http_request import Answer, HttpRefusal, Request, error

UPGRADE_PAUSE_NS = 1_000_000_000
"""How long a deployed cluster tells producers of no node after an upgrade; measured: below 3 s."""


def as_it_is(request: Request, data: object) -> object:
    """Return the data of a lookup answer unchanged."""
    return data


def same_refusal(request: Request, refusal: HttpRefusal) -> HttpRefusal:
    """Return ``refusal`` itself: the rule of servers that change no refusal."""
    return refusal


def same_answer(request: Request, answer: Answer) -> Answer:
    """Return ``answer`` itself: the rule of servers that change no answer."""
    return answer


def escaped_error(refusal: HttpRefusal, v1: bool) -> Answer:
    """Return an error answer that is valid JSON for any text."""
    return error(refusal.status, refusal.code, v1=v1)


def unescaped_error(refusal: HttpRefusal, v1: bool) -> Answer:
    """Return an error answer with its text pasted in; quotes in the text make it invalid JSON."""
    answer = error(refusal.status, "@", v1=v1)
    body = answer.body.replace(b"@", refusal.code.encode())
    return Answer(answer.status, body, answer.headers)
