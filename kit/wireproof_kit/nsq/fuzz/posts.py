"""The messages that an HTTP request must store if accepted, and whether it must be accepted."""

import re
from collections.abc import Mapping
from typing import Final

from wireproof_kit.fuzz.oracle.http_posts import NO_PROMISE, Post, Promise, first_post
from wireproof_kit.nsq.fuzz.answers import any_header, fingerprint_stored
from wireproof_kit.nsq.fuzz.publishes import batch
from wireproof_kit.nsq.fuzz.request_tracker import TargetState
from wireproof_spec.nsq import names
from wireproof_spec.nsq.names import V1_ACCEPT

_MAY_TELL: Final = {
    "/pub": (),
    "/pub_ext": ("ext",),
    "/pubtrace": ("trace_id",),
    "/mpub": ("binary",),
}
"""By path, the query parameters that a valid publish may have beside topic and partition."""
FLAGS: Final = ("binary",)
"""The query parameters with which a path is another endpoint."""
_USUAL: Final = ((b"accept", V1_ACCEPT.encode()),)
_TRACE_ID: Final = re.compile("0|[1-9][0-9]{0,18}")


def read_promise(target_state: TargetState, data: bytes) -> Promise:
    """Return the messages that a request stores if accepted, and whether it must be accepted.

    The result is empty if the request goes elsewhere, or if brokers may differ about its
    destination or messages. Without a partition it may go to any one, and there may be more than
    the campaign created: cases create some. For `/pub_ext` only the body is known, since the
    broker writes the header anew.
    """
    post = first_post(data)
    if post is None or post.path not in _MAY_TELL or not post.body:
        return NO_PROMISE
    query = dict(post.query)
    topic = query.get("topic", "").encode()
    may_tell = {"topic", "partition", *_MAY_TELL[post.path]}
    is_clear = len(query) == len(post.query) and query.keys() <= may_tell
    is_one = (query.get("partition", "0"), query.get("binary", "true")) == ("0", "true")
    if not is_clear or not is_one or topic not in target_state.topics:
        return NO_PROMISE
    messages = _messages(post, query)
    is_known = post.path != "/pubtrace" or names.PUB_TRACE not in target_state.unknown
    is_told_right = is_known and _is_told_right(post.path, query)
    is_right = bool(messages) and post.is_usual(_USUAL) and is_told_right
    is_read = topic == target_state.watched and "partition" in query
    return Promise(messages if is_read else (), is_right)


def _messages(post: Post, query: Mapping[str, str]) -> tuple[bytes, ...]:
    if post.path == "/pub_ext":
        return (any_header(post.body),)
    if post.path != "/mpub":
        return (fingerprint_stored(b"", post.body),)
    many = batch(post.body) or [] if "binary" in query else _lines(post.body)
    return tuple(fingerprint_stored(b"", each) for each in many)


def _lines(body: bytes) -> list[bytes]:
    return [line for line in body.split(b"\n") if line] if b"\r" not in body else []


def _is_told_right(path: str, query: Mapping[str, str]) -> bool:
    """Return True if the query has only valid parameters; only `/pub_ext` knows headers."""
    if path == "/pubtrace":
        return _TRACE_ID.fullmatch(query.get("trace_id", "")) is not None
    return path != "/pub_ext"
