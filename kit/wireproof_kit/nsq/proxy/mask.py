"""The secrets of NSQ on their way through the proxy: the body of AUTH, and HTTP credentials."""

from wireproof_kit.nsq.clients.decoder import NSQD
from wireproof_kit.nsq.proxy.decoder import BODIES_PASSING
from wireproof_kit.proxy.mask import Mask, Parser, Take, TwoWayMask, http_mask, no_secrets
from wireproof_spec.nsq import names

_SIZE = 4


def make_mask(conn: str) -> Mask:
    """Return the mask of a connection to a node or lookup server."""
    return TwoWayMask(_commands(), no_secrets()) if conn.startswith(NSQD) else http_mask()


def _commands() -> Parser:
    yield Take(len(names.MAGIC))
    while True:
        name = (yield Take()).strip().partition(b" ")[0]
        if name in BODIES_PASSING:
            size = int.from_bytes((yield Take(_SIZE)), "big")
            # What follows a size that no node accepts may still be a secret.
            yield Take(size, is_secret=name == names.AUTH)
