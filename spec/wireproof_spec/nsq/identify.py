"""The bodies of IDENTIFY and AUTH, each with its size before it."""

from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Int32sb, Record, Rest, field
from wireproof_spec.grammar.lengths import Sized


class IdentifyBody(Struct, frozen=True, gc=False):
    """The body of IDENTIFY: the client's description as JSON (schema nsq/identify-request)."""

    json: bytes


class AuthBody(Struct, frozen=True, gc=False):
    """The body of AUTH: the client's secret."""

    secret: bytes


IDENTIFY_BODY = Schema(
    "IDENTIFY body",
    "ext.client.identify",
    IdentifyBody,
    Sized(Int32sb, Record(IdentifyBody, field("json", Rest))),
)
"""`size`, `json`."""

AUTH_BODY = Schema(
    "AUTH body",
    "smart.connection.auth",
    AuthBody,
    Sized(Int32sb, Record(AuthBody, field("secret", Rest))),
)
"""`size`, `secret`."""
