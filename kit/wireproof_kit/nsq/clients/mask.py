"""The secrets that clients of NSQ send: the body of AUTH, and HTTP credentials."""

from wireproof_kit.nsq.clients.decoder import NSQD
from wireproof_kit.wire.mask import Mask, Parser, Take, TwoWayMask, http_mask, no_secrets
from wireproof_spec.nsq import names
from wireproof_spec.nsq.command_reader import BODIES

DPUB = b"DPUB"
"""A delayed publish of the original NSQ, with a body like that of PUB; no text has it."""
BODIES_PASSING = {**BODIES, DPUB: BODIES[names.PUB]}
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
