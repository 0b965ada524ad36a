"""What moves from one protocol number to the next, as data."""

from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from wireproof_spec.decoding import Schema, encode

_BITS = 10
_LEAST_LOGIN = 14
"""The bytes of a login in protocol 0.11 with names of the SDK of one letter, and nothing else."""
_MOST = (1 << _BITS) - 1


def pack_version(major: int, minor: int, patch: int) -> int:
    """Return a protocol version as one number: 10 bits for each part."""
    return major << 2 * _BITS | minor << _BITS | patch


def unpack_version(version: int) -> tuple[int, int, int]:
    """Return major, minor and patch number of a packed protocol version."""
    return version >> 2 * _BITS, version >> _BITS & _MOST, version & _MOST


class LoginBody(Struct, frozen=True, gc=False):
    """The body of a login with name and password.

    A protocol number with more fields has a type of its own that extends this one. Each further
    field has a default, which is what the kit sends and the reference answers.
    """

    protocol_version: int
    sdk_name: str
    sdk_version: str
    username: str
    password: str
    context: str = ""


class TokenLoginBody(Struct, frozen=True, gc=False):
    """The body of a login with a personal access token; extended as `LoginBody` is."""

    protocol_version: int
    sdk_name: str
    sdk_version: str
    token: str
    context: str = ""


class LoggedIn(Struct, frozen=True, gc=False):
    """The payload of the reply to a login, behind the result section."""

    user_id: int
    session: int
    server_protocol_version: int
    server_version: str


class PollHead(Struct, frozen=True, gc=False):
    """What stands before the batches of a poll reply; extended as `LoginBody` is."""

    partition_id: int
    current_offset: int
    count: int


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
    request_meanings: tuple[Meaning, ...] = ()
    reply_meanings: tuple[Meaning, ...] = ()
    batch_meanings: tuple[Meaning, ...] = ()
    poll_head_size: int = field(init=False)
    """The bytes of the head of a poll reply."""

    def __post_init__(self) -> None:
        size = len(encode(self.poll_head, self.make_poll_head(0, 0, 0)))
        object.__setattr__(self, "poll_head_size", size)

    def make_login(
        self,
        *,
        protocol_version: int,
        sdk_name: str,
        sdk_version: str,
        username: str,
        password: str,
        context: str = "",
    ) -> LoginBody:
        """Return the body of a login; the further fields of this number have their defaults."""
        return self.login.value_type(
            protocol_version, sdk_name, sdk_version, username, password, context
        )

    @property
    def further_login_size(self) -> int:
        """The bytes of a login's further fields, which stand in front of the credentials."""
        name = "x"
        login = self.make_login(
            protocol_version=0, sdk_name=name, sdk_version=name, username="", password=""
        )
        return len(encode(self.login, login)) - _LEAST_LOGIN

    def make_poll_head(self, partition_id: int, current_offset: int, count: int) -> PollHead:
        """Return the head of a poll reply; the further fields have their defaults."""
        return self.poll_head.value_type(partition_id, current_offset, count)

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
