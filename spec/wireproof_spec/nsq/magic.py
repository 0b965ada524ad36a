"""The first bytes of every connection."""

from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Literal, Record, field
from wireproof_spec.nsq import names


class Magic(Struct, frozen=True, gc=False):
    """The first bytes of a client's connection: it uses version 2 of the protocol."""


MAGIC = Schema(
    "magic", "smart.connection.magic", Magic, Record(Magic, field("magic", Literal(names.MAGIC)))
)
"""`"  V2"`, two spaces first."""
