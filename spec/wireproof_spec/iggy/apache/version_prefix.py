"""What stands in front of every login, whatever the protocol number: who speaks which version."""

from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Record
from wireproof_spec.iggy.apache.login_fields import version_fields


class VersionPrefix(Struct, frozen=True, gc=False):
    """The protocol version of a client, and the name and the version of its SDK."""

    protocol_version: int
    sdk_name: str
    sdk_version: str


VERSION_PREFIX = Schema(
    "apache version prefix",
    "iggy.apache.login.malformed",
    VersionPrefix,
    Record(VersionPrefix, *version_fields()),
)
"""4-byte `protocol_version`, `sdk_name` and `sdk_version` behind 1-byte lengths of 1 to 255."""
