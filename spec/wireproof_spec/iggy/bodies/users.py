"""Login: only in tagged servers, which by default answer nothing else before it."""

from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Int32ul, Record, field
from wireproof_spec.iggy.bodies.text_fields import long_text, short_text


class LoginUser(Struct, frozen=True, gc=False):
    """The payload of a login; `version` and `context` describe the client, or are empty."""

    username: str
    password: str
    version: str
    context: str


class Identity(Struct, frozen=True, gc=False):
    """The response to a login: the id of the user."""

    user_id: int


LOGIN_USER = Schema(
    "login_user",
    "iggy.frame.login",
    LoginUser,
    Record(
        LoginUser,
        *short_text("username"),
        *short_text("password"),
        *long_text("version"),
        *long_text("context"),
    ),
)
"""`username` and `password` behind 1-byte lengths, `version` and `context` behind 4-byte ones."""

IDENTITY = Schema(
    "identity", "iggy.frame.login", Identity, Record(Identity, field("user_id", Int32ul))
)
"""4-byte `user_id`."""
