"""Which messages a request to the HTTP API stores under the watched name, if it is taken."""

from typing import Final

from wireproof_kit.fuzz.http_posts import first_post
from wireproof_kit.nsq.fuzz.answers import any_header, stored
from wireproof_kit.nsq.fuzz.publishes import batch

_MAY_TELL: Final = {
    "/pub": (),
    "/pub_ext": ("ext",),
    "/pubtrace": ("trace_id",),
    "/mpub": ("binary",),
}
"""What a query may tell beside topic and partition."""


def posted(watched: bytes, data: bytes) -> tuple[bytes, ...]:
    """Return what is to be delivered of a request that is answered as taken.

    Empty when it goes elsewhere, or brokers may differ about where, or about its messages. Of
    `/pub_ext` the broker writes the header anew: only the body is known.
    """
    if watched not in data:
        return ()
    post = first_post(data)
    if post is None or post.path not in _MAY_TELL:
        return ()
    query = dict(post.query)
    may_tell = {"topic", "partition", *_MAY_TELL[post.path]}
    is_ours = query.get("topic") == watched.decode() and query.get("partition", "0") == "0"
    if not is_ours or not post.body or len(query) < len(post.query) or query.keys() - may_tell:
        return ()
    if post.path == "/pub_ext":
        return (any_header(post.body),)
    if post.path != "/mpub":
        return (stored(b"", post.body),)
    return tuple(stored(b"", each) for each in _many(post.body, is_binary="binary" in query))


def _many(body: bytes, *, is_binary: bool) -> list[bytes]:
    if is_binary:
        return batch(body) or []
    if b"\r" in body:
        return []
    return [line for line in body.split(b"\n") if line]
