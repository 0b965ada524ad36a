"""What moves from one protocol number to the next, as data."""

from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from wireproof_spec.decoding import Schema

_BITS = 10
_MOST = (1 << _BITS) - 1


def pack_version(major: int, minor: int, patch: int) -> int:
    """Return a protocol version as one number: 10 bits for each part."""
    return major << 2 * _BITS | minor << _BITS | patch


def unpack_version(version: int) -> tuple[int, int, int]:
    """Return major, minor and patch number of a packed protocol version."""
    return version >> 2 * _BITS, version >> _BITS & _MOST, version & _MOST


class LoginBody(Struct, frozen=True, gc=False):
    """The body of a login with name and password; `bind_secret` is None in protocol 0.11."""

    protocol_version: int
    sdk_name: str
    sdk_version: str
    username: str
    password: str
    context: str = ""
    bind_secret: bytes | None = None


class TokenLoginBody(Struct, frozen=True, gc=False):
    """The body of a login with a personal access token."""

    protocol_version: int
    sdk_name: str
    sdk_version: str
    token: str
    context: str = ""
    bind_secret: bytes | None = None


class LoggedIn(Struct, frozen=True, gc=False):
    """The payload of the reply to a login, behind the result section."""

    user_id: int
    session: int
    server_protocol_version: int
    server_version: str


class PollHead(Struct, frozen=True, gc=False):
    """What stands before the batches of a poll reply; `context` is None in protocol 0.11."""

    partition_id: int
    current_offset: int
    count: int
    context: bytes | None = None


@dataclass(frozen=True, slots=True)
class Meaning:
    """A range of reserved bytes of a header that has a meaning from some protocol number on."""

    name: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Envelope:
    """The shapes of one protocol number that differ from those of other numbers."""

    number: str
    """Major and minor number."""
    version: int
    """The packed version with patch 0, the lowest that a server of this number accepts."""
    verified: bool
    """Whether recorded bytes confirm the shapes; else they come from descriptions only."""
    login: Schema[LoginBody]
    token_login: Schema[TokenLoginBody]
    login_reply: Schema[LoggedIn]
    poll_head: Schema[PollHead]
    poll_head_size: int
    secret_size: int = 0
    """The bytes of `bind_secret` in a login; 0 where a login has none."""
    request_meanings: tuple[Meaning, ...] = ()
    reply_meanings: tuple[Meaning, ...] = ()
    batch_meanings: tuple[Meaning, ...] = ()

    def accepts(self, version: int) -> bool:
        """Return True if a server of this number accepts a client's protocol version.

        Clause: iggy.apache.login.gate
        """
        return self.version <= version and unpack_version(version)[:2] <= self.parts

    @property
    def parts(self) -> tuple[int, int]:
        """Major and minor number."""
        return unpack_version(self.version)[:2]

    def schemas(self) -> tuple[Schema[Any], ...]:
        """Return the shapes of this number."""
        return (self.login, self.token_login, self.login_reply, self.poll_head)
